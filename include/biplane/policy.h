/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_POLICY_H
#define BIPLANE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"
#include "biplane/rule.h"

/*
 * The MQTT policy: which clients may connect, publish and subscribe, and to which topics. The rules
 * have an order; the first one that a packet matches decides about it. shm/rules compiles them into
 * the image of the alarm rules, so that a reload replaces both at once.
 */

enum bp_policy_packet {
	BP_POLICY_ANY, /* of a rule: each of the following */
	BP_POLICY_CONNECT,
	BP_POLICY_WILL, /* the will message of a CONNECT */
	BP_POLICY_PUBLISH,
	BP_POLICY_SUBSCRIBE, /* each of its topic filters is a packet of its own here */
	BP_POLICY_PACKETS,
};

enum bp_policy_action {
	BP_POLICY_ALLOW,
	BP_POLICY_OBSERVE, /* forwarded, counted, and reported as an event */
	BP_POLICY_CLOSE,   /* not forwarded: the connection ends for both of its ends */
	/* Publications and topic filters are forwarded with another topic; all else as CLOSE. */
	BP_POLICY_BLANK,
	BP_POLICY_ACTIONS,
	/* results only */
	BP_POLICY_UNDECIDED = BP_POLICY_ACTIONS, /* what a rule asks for is not known */
	BP_POLICY_NEEDS_PAYLOAD,
};

enum bp_policy_identity { BP_POLICY_EVERYBODY, BP_POLICY_ANONYMOUS, BP_POLICY_USERS };

/* Whose packets a rate counts. */
enum bp_policy_rate_per { BP_POLICY_PER_CLIENT, BP_POLICY_PER_ADDRESS, BP_POLICY_PER_TOPIC };

struct bp_policy_rate {
	uint32_t packets;
	uint32_t interval_s; /* in which they are allowed */
};

#define BP_POLICY_PATTERN_MAX 255 /* bytes of a pattern of client identifiers or user names */
#define BP_POLICY_CLIENT_LEVEL "{client}"
#define BP_POLICY_USER_LEVEL "{user}"

/* A rule of the configuration. A packet matches it if it has all of the following. */
struct bp_policy_rule_spec {
	char name[BP_RULE_NAME_MAX + 1];
	uint8_t packet;   /* enum bp_policy_packet */
	uint8_t action;   /* enum bp_policy_action */
	uint8_t version;  /* of MQTT, enum bp_mqtt_version; 0: any */
	uint8_t identity; /* enum bp_policy_identity */
	uint8_t port;     /* with `has_port`: ingress port, index in the configuration */
	uint8_t qos;      /* publications and wills: 1 + QoS; 0: any */
	uint8_t retain;   /* likewise: 1: without, 2: with; 0: any */
	bool has_port, has_address, has_size, has_packet_size;
	bool has_keep_alive, has_keep_above, has_keep_below;
	struct bp_prefix address;    /* of the client */
	uint32_t larger_than;        /* publications and wills: bytes of payload */
	uint32_t packet_larger_than; /* all but wills: bytes after the fixed header */
	/* CONNECT: seconds; a keep-alive of 0, which is none, is above each number */
	uint32_t keep_above, keep_below;
	struct bp_rule_spec *payload; /* NULL: any; value, raise and strings of it */
	uint32_t connections;         /* CONNECT: more than these of its address; 0: any number */
	bool has_connections;
	bool has_hours;    /* UTC */
	uint8_t days;      /* bit 0: Monday; 0: each */
	uint16_t from, to; /* minutes of the day; from > to: until the next day */
	bool has_rate;     /* only packets above it match */
	uint8_t rate_per;  /* enum bp_policy_rate_per */
	struct bp_policy_rate rate;
	uint32_t rate_burst; /* packets at once; 0: those of an interval */
	/* Exact, or with one *, which is any text. "": any client, any user name or none. */
	char client[BP_POLICY_PATTERN_MAX + 1];
	char user[BP_POLICY_PATTERN_MAX + 1];
	/* Topic filter; a level {client} or {user} is the packet's own. "": any topic, and a packet
	 * without a topic. */
	char topic[BP_RULE_FILTER_MAX + 1];
};

/* What happens to a connection of which inspection cannot say what its packets are. */
enum bp_policy_fail { BP_POLICY_FAIL_OPEN, BP_POLICY_FAIL_CLOSED };
/* What happens to a packet of action BLANK whose topic cannot be overwritten. */
enum bp_policy_fallback { BP_POLICY_FALLBACK_CLOSE, BP_POLICY_FALLBACK_PASS };
/* What happens to connections whose CONNECT a new policy refuses. */
enum bp_policy_on_reload { BP_POLICY_ON_RELOAD_LEAVE, BP_POLICY_ON_RELOAD_CLOSE };
#define BP_POLICY_QUARANTINE_MAX 63 /* bytes of the topic of refused publications */

/*
 * Slots of statistics: 0 is that of the default. There are twice as many as rules, so that each new
 * rule of a reload has one that no rule uses.
 */
static inline uint64_t bp_policy_stat_slots(uint32_t max_rules)
{
	return 2ull * max_rules + 1;
}

/* Of the clients whose segments arrive at a bridge or routed port: another value of `fail`. */
struct bp_policy_fail_override {
	uint8_t interface; /* include/biplane/fib.h; a bridge needs no host interface */
	uint8_t fail;      /* enum bp_policy_fail */
};

struct bp_policy_spec {
	bool given;
	uint8_t preset;    /* enum bp_policy_action of packets that match no rule */
	uint8_t fail;      /* enum bp_policy_fail; of a policy that refuses packets */
	uint8_t fallback;  /* enum bp_policy_fallback */
	uint8_t on_reload; /* enum bp_policy_on_reload; likewise */
	/* Of action BLANK: begins with $, and its second character is not '-'. */
	char quarantine[BP_POLICY_QUARANTINE_MAX + 1];
	uint32_t n_fail_overrides;
	struct bp_policy_fail_override fail_override[BP_MAX_INTERFACES];
	/* of these: bit i is port i of the configuration */
	uint32_t fail_open_ports, fail_closed_ports;
	uint32_t n_rules;
	struct bp_policy_rule_spec *rules; /* owned by the configuration */
};
_Static_assert(BP_MAX_PORTS <= 32, "a port is a bit");

#endif
