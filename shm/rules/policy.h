/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_POLICY_H
#define BP_SHM_RULES_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/policy.h"
#include "shm/rules/policy_rate.h"
#include "shm/rules/ruleset.h"

/* The chains of the index that a rule is in: shm/rules/policy_index.h. */
enum bp_policy_order { BP_POLICY_BY_END, BP_POLICY_BY_KEY, BP_POLICY_BY_ACTION, BP_POLICY_ORDERS };

/* A rule of the policy in the image of the rules. Offsets are from the start of that image. */
struct bp_policy_rule {
	uint64_t uid; /* hash of the whole definition: an unchanged rule keeps its statistics */
	/* Of its statistics, from 1 to below bp_policy_stat_slots(). Not checked by
	 * bp_ruleset_valid(). */
	uint32_t slot;
	uint8_t packet, action, version, identity, port, qos,
		retain; /* struct bp_policy_rule_spec */
	uint8_t name_len;
	uint32_t larger_than;        /* with `has_size` */
	uint32_t packet_larger_than; /* with `has_packet_size` */
	/* with `has_keep_alive`: of a CONNECT, from the first to the second */
	uint32_t keep_alive_min, keep_alive_max;
	uint8_t has_address, has_size, has_packet_size, has_keep_alive;
	uint8_t rate_per;                         /* enum bp_policy_rate_per */
	uint64_t rate_period_ns, rate_depth_ns;   /* of bp_policy_rate_exceeded(); 0: no rate */
	uint16_t topic_len, client_len, user_len; /* 0: any */
	uint16_t client_star, user_star;          /* position of the *; UINT16_MAX: none */
	uint32_t topic, client, user;             /* offsets of the texts */
	uint16_t from, to;                        /* with `days`: struct bp_policy_rule_spec */
	uint8_t days;                             /* 0: any time */
	uint32_t connections;                     /* of a CONNECT: more than these; 0: any number */
	uint32_t value; /* offset of a struct bp_policy_value; 0: any payload */
	struct bp_prefix address;
	uint32_t next[BP_POLICY_ORDERS]; /* rules; BP_RULE_NONE: there are none */
	char name[BP_RULE_NAME_MAX + 1];
} __attribute__((aligned(64)));

static inline const struct bp_policy_rule *bp_policy_rule(const struct bp_ruleset *rs, uint32_t i)
{
	return (const struct bp_policy_rule *)(const void *)((const uint8_t *)rs + rs->policy) + i;
}

/* What happens to packets of a client without a decision. `port`: where its segments arrive, the
 * ingress port + 1; 0: unknown. */
static inline bool bp_policy_fails_closed(const struct bp_ruleset *rs, unsigned port)
{
	if (port - 1 < BP_MAX_PORTS)
		return rs->policy_closed_ports >> (port - 1) & 1;
	return rs->policy_fail == BP_POLICY_FAIL_CLOSED;
}

/* A keep-alive of 0 is above each other one: the client may be silent forever. */
#define BP_POLICY_KEEP_ALIVE_NONE 65536u
#define BP_POLICY_KEEP_ALIVE_UNKNOWN UINT32_MAX

/* Whom and what the decision is about. Texts that are not known, or that it has not, are NULL. */
struct bp_policy_packet_view {
	uint8_t packet;  /* enum bp_policy_packet, but ANY */
	uint8_t version; /* of MQTT */
	uint8_t port;    /* ingress port + 1; 0: unknown */
	uint8_t qos;
	bool retain;
	bool ip6;
	bool known; /* the CONNECT of the client was read */
	/* The packet was forwarded earlier, and not all of it is known: a rule of which this leaves
	 * open whether it matches decides nothing if the later ones lead to the same end. */
	bool earlier;
	const uint8_t *address; /* of the client: 4 or 16 bytes */
	const uint8_t *client, *user, *topic;
	uint16_t client_len, user_len;
	uint32_t topic_len;     /* of SUBSCRIBE: a topic filter */
	uint32_t size;          /* bytes of payload */
	const uint8_t *payload; /* NULL: not known, or with payload_later not yet */
	bool payload_later;
	/* Bytes after the fixed header; 0: unknown, or it is a will, which is no packet. */
	uint32_t packet_size;
	uint32_t keep_alive;  /* of a CONNECT, seconds, or a constant above */
	uint32_t connections; /* of the address, with that of a CONNECT; 0: unknown */
	/* NULL: the rates are not known, and remain unchanged */
	const struct bp_policy_rates *rates;
	const uint64_t *hash_key; /* of `rates`, two words */
	uint64_t mono_ns;
	uint8_t day;     /* of the week, UTC, 1: Monday; 0: the time is unknown */
	uint16_t minute; /* of the day */
};

/* The time of the packet: `day` and `minute`. */
static inline void bp_policy_set_time(struct bp_policy_packet_view *p, uint64_t unix_ns)
{
	const uint64_t minutes = unix_ns / (60 * 1000000000ull);

	p->minute = (uint16_t)(minutes % 1440);
	p->day = (uint8_t)(1 + (minutes / 1440 + 3) % 7); /* day 0 was a Thursday */
}

struct bp_policy_decision {
	uint8_t action; /* enum bp_policy_action */
	/* All packets of this type and topic on the connection have this result. */
	bool fixed;
	uint32_t rule;  /* index; n_policy: no rule, the default */
	uint32_t slot;  /* of the statistics */
	uint32_t steps; /* units of work */
	uint32_t buckets_evicted;
	uint32_t values_missing; /* rules whose value the payload has not */
};

/*
 * Decides by the policy of the image, which has one (policy_given). BP_POLICY_NEEDS_PAYLOAD: a rule
 * reads the payload, which is not there yet; no rate has counted the packet then.
 */
void bp_policy_decide(const struct bp_ruleset *rs, const struct bp_policy_packet_view *p,
	struct bp_policy_decision *d);

/* Whether it may refuse a will of the client of `p`, of which no more is known. */
bool bp_policy_may_refuse_will(
	const struct bp_ruleset *rs, const struct bp_policy_packet_view *p, uint32_t *steps);

/*
 * Topic filters. `filter` is one of a rule, with the levels {client} and {user} of `p`. Whether it
 * matches the topic name; whether it covers all topics of another filter; whether both match a
 * topic. Filters that begin with a wildcard do not match topics that begin with $ (MQTT 5.0,
 * 4.7.2).
 */
enum bp_policy_relation { BP_POLICY_MATCHES, BP_POLICY_COVERS, BP_POLICY_OVERLAPS };
bool bp_policy_topic_is(const uint8_t *filter, uint32_t filter_len,
	enum bp_policy_relation relation, const struct bp_policy_packet_view *p);
/* Whether the text is one of the pattern, which has a * at `star` or none (UINT16_MAX). */
bool bp_policy_pattern_is(const uint8_t *pattern, uint16_t len, uint16_t star, const uint8_t *text,
	uint32_t text_len);

/* For shm/rules/ruleset_build.c and shm/rules/ruleset_valid.c. */
uint64_t bp_policy_bank_size(uint32_t max_rules);
struct bp_policy_draft_index;
uint64_t bp_policy_image_size(
	const struct bp_policy_spec *spec, const struct bp_policy_draft_index *index);
/* Writes it from h->policy to the end of the image, and fills the header; `old` as for
 * bp_ruleset_compile(). 0, or -1 with a sentence in err. */
int bp_policy_image_write(struct bp_ruleset *h, uint8_t *image, const struct bp_policy_spec *spec,
	const struct bp_policy_draft_index *index, uint32_t max_rules, const struct bp_ruleset *old,
	char *err, size_t err_size);
bool bp_policy_image_valid(const struct bp_ruleset *rs);

#endif
