/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EXPLAIN_EXPLAIN_H
#define BP_APPS_BIPLANE_EXPLAIN_EXPLAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "biplane/fib.h"
#include "services/mqtt/flow_show.h"
#include "shm/layout.h"

/*
 * Why an alarm would or would not be raised now, from the segment alone, as JSON:
 *
 *   {"kind", "subject", "verdict", "summary",
 *    "checks": [{"check", "status", "reason"}],
 *    "rules": [{"rule", "filter", "matches", "reason", ..., "checks"}],
 *    "connections": [{"client", "broker", ..., "checks"}]}
 *
 * status: "ok"; "no": it prevents an alarm; "info". verdict: "possible": the next value that
 * satisfies the condition of a rule raises an alarm or counts for its hold; "raised": it is raised
 * already, and repeats nothing; "no": none can be raised.
 */

struct bp_explain {
	const struct bp_shm *shm; /* read only */
	struct bp_ruleset *rules; /* a checked copy */
	struct bp_alarm_log *log; /* copies, oldest first */
	unsigned n_log;
	uint64_t unix_ns, mono_ns;
	uint64_t limit; /* rules that do not match, and connections; 0: all */
};

/* Copies what the segment has. 0, or -1 with a sentence. */
int bp_explain_open(struct bp_explain *e, const struct bp_shm *shm, uint64_t unix_ns,
	uint64_t mono_ns, char *err, size_t err_size);
void bp_explain_close(struct bp_explain *e);

/* An endpoint of a connection; the port is in host byte order. */
struct bp_endpoint {
	struct bp_address address;
	uint16_t tcp_port;
};
/* "ADDRESS:PORT" or "ADDRESS:PORT-ADDRESS:PORT", IPv6 addresses in brackets. Returns their number,
 * 1 or 2, or 0: it is neither. */
unsigned bp_explain_endpoints(const char *text, struct bp_endpoint out[2]);

/* New references, or NULL without memory. */
json_t *bp_explain_topic(const struct bp_explain *e, const char *topic);
json_t *bp_explain_connection(
	const struct bp_explain *e, const char *subject, const struct bp_endpoint *end, unsigned n);
json_t *bp_explain_client(const struct bp_explain *e, const char *client_id);

void bp_explain_print(const json_t *explanation, FILE *out);

/* ---- of the parts ---- */

enum bp_explain_status { BP_EXPLAIN_OK, BP_EXPLAIN_NO, BP_EXPLAIN_INFO };
void bp_explain_add(json_t *checks, const char *check, enum bp_explain_status status,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Whether a check has status no. */
bool bp_explain_fails(const json_t *checks);

/* The checks of the gateway as a whole. */
void bp_explain_gateway(const struct bp_explain *e, json_t *checks);

/* The result of a rule for a topic. */
enum bp_explain_verdict {
	BP_EXPLAIN_VERDICT_NO,
	BP_EXPLAIN_VERDICT_RAISED,
	BP_EXPLAIN_VERDICT_POSSIBLE
};
/* explain_sparkplug.c: what births have said about the metric of the rule, if it has one. */
void bp_explain_sparkplug(const struct bp_explain *e, const struct bp_rule *r, const char *topic,
	uint64_t topic_hash, json_t *checks);
/* A matching rule and the state of its pair with a topic. topic: NULL if only its hash is known. */
json_t *bp_explain_rule(const struct bp_explain *e, uint32_t rule, const char *topic,
	uint64_t topic_hash, enum bp_explain_verdict *verdict);
/* explain_absence.c: the checks of a rule with absent. state: NULL without one. */
void bp_explain_absence(const struct bp_explain *e, const struct bp_rule *r, uint64_t topic_hash,
	const struct bp_rule_state_view *state, json_t *checks);
/* explain_window.c: the fill of the window of a rule that has one. */
void bp_explain_window(
	const struct bp_explain *e, const struct bp_rule *r, uint64_t topic_hash, json_t *checks);

/* All rules that match the topic, then the most similar other ones. *best: of all that match;
 * *n_match, *suggestion (BP_FILTER_SUGGESTION bytes): a similar topic that matches, or "". */
json_t *bp_explain_rules(const struct bp_explain *e, const char *topic, unsigned *n_match,
	enum bp_explain_verdict *best, char *suggestion);
/* explain_combination.c: the part of a combination that has the topic, or NULL. *best: the match of
 * its most similar part. */
struct bp_filter_match;
const struct bp_rule *bp_explain_part(const struct bp_explain *e, const struct bp_rule *rule,
	const char *topic, struct bp_filter_match *best);
/* The topic of the key to which the topic of a part belongs, and its hash. */
#define BP_EXPLAIN_KEY_TOPIC 65536u
uint64_t bp_explain_key_hash(const struct bp_explain *e, const struct bp_rule *part,
	const char *topic, char key[BP_EXPLAIN_KEY_TOPIC]);
/* Whether the parts of the key with this topic hold. */
void bp_explain_parts(
	const struct bp_explain *e, const struct bp_rule *rule, const char *topic, json_t *checks);
uint64_t bp_explain_topic_hash(const struct bp_explain *e, const char *topic);

/* Whether its last topic is known by its hash; without a generation, its rules are not. */
static inline bool bp_explain_has_topic(const struct bp_flow_view *v)
{
	return v->topic_generation != 0 || (v->topic_hash != 0 && v->publishes != 0);
}

/* A connection. topic: its last one, NULL: not known. *best: verdict of the rules of its last
 * topic; NO without one. */
json_t *bp_explain_flow(const struct bp_explain *e, const struct bp_flow_view *v, const char *topic,
	enum bp_explain_verdict *best);

/* explain_policy.c: the decisions of the policy, if there is one, about the CONNECT of a connection
 * and its PUBLISH on its last topic, NULL: not known. */
void bp_explain_policy(const struct bp_explain *e, const struct bp_flow_view *v, const char *topic,
	json_t *checks);
/* The rules that decide about PUBLISH on a topic. */
void bp_explain_policy_of_topic(const struct bp_explain *e, const char *topic, json_t *checks);

#endif
