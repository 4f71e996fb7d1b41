/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rules match a topic, what the others lack, and the state of a rule for the topic. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/explain/explain.h"
#include "apps/biplane/explain/filter_match.h"
#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/text.h"
#include "apps/biplane/text_combination.h"
#include "apps/biplane/text_value.h"
#include "services/mqtt/topic_hash.h"
#include "shm/fault.h"
#include "shm/rules/rule_state.h"

uint64_t bp_explain_topic_hash(const struct bp_explain *e, const char *topic)
{
	return bp_topic_hash_by(
		e->shm->global->hash_key, (const uint8_t *)topic, (uint32_t)strlen(topic));
}

struct rule_sums {
	uint64_t matched, no_value, raised, cleared;
};

static struct rule_sums sums_of(const struct bp_explain *e, uint32_t slot)
{
	const struct bp_shm *m = e->shm;
	struct rule_sums s = {0};

	for (uint32_t w = 0; w < m->workers && slot < m->max_rules; w++) {
		const struct bp_rule_stats *st = &m->rule_stats[(uint64_t)w * m->max_rules + slot];

		s.matched += atomic_load_explicit(&st->matched, memory_order_relaxed);
		s.no_value += atomic_load_explicit(&st->no_value, memory_order_relaxed);
		s.raised += atomic_load_explicit(&st->raised, memory_order_relaxed);
		s.cleared += atomic_load_explicit(&st->cleared, memory_order_relaxed);
	}
	return s;
}

static void check_value(const struct bp_explain *e, const struct bp_rule *r, json_t *checks)
{
	const struct rule_sums s = sums_of(e, r->slot);
	char source[BP_TEXT_SOURCE];

	bp_text_source(bp_ruleset_source(e->rules, r->source), source);
	if (s.matched == 0)
		bp_explain_add(checks, "value", BP_EXPLAIN_INFO,
			"read as %s; no PUBLISH has matched the rule yet", source);
	else if (s.no_value == s.matched)
		bp_explain_add(checks, "value", BP_EXPLAIN_NO,
			"read as %s; no payload that matched the rule has such a value (%" PRIu64
			" so far)",
			source, s.matched);
	else
		bp_explain_add(checks, "value", s.no_value == 0 ? BP_EXPLAIN_OK : BP_EXPLAIN_INFO,
			"read as %s; %" PRIu64 " of %" PRIu64
			" payloads that matched the rule, on all topics, have no such value",
			source, s.no_value, s.matched);
}

/* The newest alarm of the rule and the topic; topic NULL: not known. */
static const struct bp_alarm_log *last_alarm(
	const struct bp_explain *e, const struct bp_rule *r, const char *topic)
{
	for (unsigned i = e->n_log; topic != NULL && i-- > 0;) {
		const struct bp_alarm_log *a = &e->log[i];

		if (strncmp(a->rule, r->name, sizeof(a->rule)) == 0 &&
			strncmp(a->topic, topic, sizeof(a->topic) - 1) == 0)
			return a;
	}
	return NULL;
}

static void ago(uint64_t then_ns, uint64_t now_ns, char out[BP_FAULT_DURATION_LEN])
{
	bp_fault_duration(now_ns > then_ns ? now_ns - then_ns : 0, out);
}

static void check_last(const struct bp_explain *e, const struct bp_alarm_log *a, json_t *checks)
{
	char time[BP_TEXT_TIME], value[BP_TEXT_ALARM_VALUE];

	if (a == NULL)
		return;
	bp_text_time(a->time_ns, time);
	bp_text_alarm_value(a, value);
	bp_explain_add(checks, "last alarm", BP_EXPLAIN_INFO, "%s %.19sZ, value %s",
		a->state == BP_ALARM_CLEARED ? "cleared" : "raised", time, value);
}

/* "3 values in a row", "10 s" */
static void hold_text(const struct bp_rule *r, char *out, size_t size)
{
	char time[BP_FAULT_DURATION_LEN];

	if (r->hold == BP_HOLD_COUNT) {
		snprintf(out, size, "%u values in a row", r->hold_count);
		return;
	}
	bp_fault_duration(r->hold_ns, time);
	snprintf(out, size, "every value for %s", time);
}

/* A condition of the rule; those of a combination are its truth. */
static void condition_text(const struct bp_explain *e, const struct bp_rule *r,
	const struct bp_condition *c, char out[BP_TEXT_RULE_CONDITION])
{
	if (r->role == BP_RULE_COMBINATION)
		snprintf(out, BP_TEXT_RULE_CONDITION, "%s", c == &r->raise ? "true" : "false");
	else
		bp_text_rule_condition(e->rules, r, c, out);
}

/* Conditions that are not satisfied yet: the pair has no state, or its hold is in progress. */
static void check_hold(const struct bp_explain *e, const struct bp_rule *r,
	const struct bp_rule_state_view *v, json_t *checks)
{
	char condition[BP_TEXT_RULE_CONDITION], hold[96], time[BP_FAULT_DURATION_LEN];
	char value[BP_TEXT_RULE_VALUE];

	condition_text(e, r, &r->raise, condition);
	if (r->hold == BP_HOLD_NONE) {
		bp_explain_add(checks, "condition", BP_EXPLAIN_OK,
			"the next value that is %s raises an alarm%s", condition,
			r->stateful ? "; it is not raised now" : "");
		return;
	}
	hold_text(r, hold, sizeof(hold));
	bp_text_rule_value(e->rules, r, v != NULL ? (double)v->value : 0, value);
	bp_explain_add(checks, "condition", BP_EXPLAIN_OK,
		"%s must be %s; a value that is not begins again", hold, condition);
	if (v == NULL || !v->holding) {
		bp_explain_add(checks, "hold", BP_EXPLAIN_INFO,
			"not in progress: no value was seen, or the last one was not %s",
			condition);
	} else if (r->hold == BP_HOLD_COUNT) {
		bp_explain_add(checks, "hold", BP_EXPLAIN_INFO, "%" PRIu64 " of %u, last value %s",
			v->hold_count, r->hold_count, value);
	} else {
		ago(v->since_ns, e->mono_ns, time);
		bp_explain_add(checks, "hold", BP_EXPLAIN_INFO, "in progress for %s, last value %s",
			time, value);
	}
}

static void check_raised(const struct bp_explain *e, const struct bp_rule *r,
	const struct bp_rule_state_view *v, json_t *checks)
{
	char raise[BP_TEXT_RULE_CONDITION], clear[BP_TEXT_RULE_CONDITION],
		since[BP_FAULT_DURATION_LEN], used[BP_FAULT_DURATION_LEN],
		value[BP_TEXT_RULE_VALUE];

	condition_text(e, r, &r->raise, raise);
	condition_text(e, r, &r->clear, clear);
	bp_text_rule_value(e->rules, r, (double)v->value, value);
	ago(v->since_ns, e->unix_ns, since);
	ago(v->used_ns, e->mono_ns, used);
	bp_explain_add(checks, "state", BP_EXPLAIN_INFO,
		"raised for %s; last value %s, %s ago; cleared by a value that is %s%s", since,
		value, used, r->has_clear ? clear : "not ", r->has_clear ? "" : raise);
	if (r->repeat == BP_REPEAT_EVERY)
		bp_explain_add(checks, "repeat", BP_EXPLAIN_OK,
			"every: each further value that is %s publishes an alarm", raise);
	else
		bp_explain_add(checks, "repeat", BP_EXPLAIN_NO,
			"on_change: no further alarm until it is cleared");
}

/* What the last alarm prevents. */
static void check_last_alarm(const struct bp_explain *e, const struct bp_rule *r,
	const struct bp_rule_state_view *v, json_t *checks)
{
	char quiet[BP_FAULT_DURATION_LEN], last[BP_FAULT_DURATION_LEN];

	if (v->quiet && v->last_ns <= e->mono_ns && e->mono_ns - v->last_ns < r->quiet_ns) {
		bp_fault_duration(r->quiet_ns, quiet);
		ago(v->last_ns, e->mono_ns, last);
		bp_explain_add(checks, "quiet", BP_EXPLAIN_NO,
			"the last alarm was %s ago: none is raised or repeated for %s", last,
			quiet);
	}
	if (v->raised && r->deadband != 0)
		bp_explain_add(checks, "deadband", BP_EXPLAIN_INFO,
			"a value is repeated if it differs by more than %g from that of the last "
			"alarm",
			r->deadband);
}

/* Where the alarms of a rule go, and whether a connection to each of them exists. */
static void check_destination(const struct bp_explain *e, const struct bp_rule *r, json_t *checks)
{
	const struct bp_publisher_counters *c = e->shm->control->publisher;
	const bool to[BP_DESTINATIONS] = {[BP_TO_MQTT] = r->destination != BP_DESTINATION_KAFKA,
		[BP_TO_KAFKA] = r->destination != BP_DESTINATION_MQTT};

	for (unsigned i = 0; i < BP_DESTINATIONS && r->action == BP_ACTION_PUBLISH; i++) {
		const bool up = atomic_load_explicit(&c[i].connected, memory_order_relaxed) != 0;

		if (to[i])
			bp_explain_add(checks, "destination", up ? BP_EXPLAIN_OK : BP_EXPLAIN_INFO,
				"%s: %s", bp_destination_name[i],
				up ? "connected" : "not connected, alarms wait in the spool");
	}
}

static const char *destination_of(const struct bp_rule *r)
{
	return r->action == BP_ACTION_MIRROR            ? "mirror"
	       : r->destination == BP_DESTINATION_BOTH  ? "both"
	       : r->destination == BP_DESTINATION_KAFKA ? "kafka"
							: "mqtt";
}

static json_t *rule_head(const struct bp_explain *e, const struct bp_rule *r)
{
	const struct rule_sums s = sums_of(e, r->slot);
	const bool clears = r->has_clear && r->role != BP_RULE_COMBINATION;
	char clear[BP_TEXT_RULE_CONDITION];

	bp_text_rule_condition(e->rules, r, &r->clear, clear);
	return json_pack("{so so so so ss ss ss sI sI sI sI}", "rule",
		bp_text_json(r->name, sizeof(r->name)), "filter", bp_text_rule_topics(e->rules, r),
		"raise", bp_text_rule_raise(e->rules, r), "clear",
		clears ? json_string(clear) : json_null(), "repeat",
		r->repeat == BP_REPEAT_ON_CHANGE ? "on_change" : "every", "action",
		r->action == BP_ACTION_MIRROR ? "mirror" : "publish", "destination",
		destination_of(r), "matched", (json_int_t)s.matched, "value_missing",
		(json_int_t)s.no_value, "raised", (json_int_t)s.raised, "cleared",
		(json_int_t)s.cleared);
}

json_t *bp_explain_rule(const struct bp_explain *e, uint32_t rule, const char *topic,
	uint64_t topic_hash, enum bp_explain_verdict *verdict)
{
	const struct bp_rule *r = bp_ruleset_rule(e->rules, rule);
	struct bp_rule_state_view v;
	const bool has_state =
		bp_rule_state_find(e->shm->rule_state, e->shm->rule_state_len, r, topic_hash, &v);
	json_t *checks = json_array(), *row = rule_head(e, r);

	if (r->role == BP_RULE_COMBINATION)
		bp_explain_parts(e, r, topic, checks);
	else if (!r->absent)
		check_value(e, r, checks);
	bp_explain_sparkplug(e, r, topic, topic_hash, checks);
	bp_explain_window(e, r, topic_hash, checks);
	if (r->absent)
		bp_explain_absence(e, r, topic_hash, has_state ? &v : NULL, checks);
	else if (has_state && v.raised)
		check_raised(e, r, &v, checks);
	else
		check_hold(e, r, has_state ? &v : NULL, checks);
	if (has_state)
		check_last_alarm(e, r, &v, checks);
	check_destination(e, r, checks);
	check_last(e, last_alarm(e, r, topic), checks);
	*verdict = !bp_explain_fails(checks) ? BP_EXPLAIN_VERDICT_POSSIBLE
		   : has_state && v.raised   ? BP_EXPLAIN_VERDICT_RAISED
					     : BP_EXPLAIN_VERDICT_NO;
	json_object_set_new(row, "matches", json_true());
	json_object_set_new(row, "reason", json_string("each level of the topic matches"));
	json_object_set_new(row, "checks", checks);
	return row;
}

/* ---- all rules ---- */

struct found {
	uint32_t rule;
	unsigned distance;
};

static int by_distance(const void *x, const void *y)
{
	const struct found *a = x, *b = y;

	return a->distance != b->distance
		       ? (a->distance > b->distance) - (a->distance < b->distance)
		       : (a->rule > b->rule) - (a->rule < b->rule);
}

/* Whether the rule, or a part of the combination, has the topic: the rule or part that has it. */
static const struct bp_rule *match_rule(const struct bp_explain *e, const struct bp_rule *r,
	const char *topic, struct bp_filter_match *m)
{
	if (r->role == BP_RULE_COMBINATION)
		return bp_explain_part(e, r, topic, m);
	bp_filter_match(bp_rules_filter(e->rules, r), r->filter_len, topic, strlen(topic), m);
	return m->matches ? r : NULL;
}

static json_t *other_rule(const struct bp_explain *e, uint32_t rule, const char *topic,
	char suggestion[BP_FILTER_SUGGESTION])
{
	const struct bp_rule *r = bp_ruleset_rule(e->rules, rule);
	struct bp_filter_match m;
	json_t *row = rule_head(e, r);

	(void)match_rule(e, r, topic, &m);
	if (suggestion[0] == '\0')
		snprintf(suggestion, BP_FILTER_SUGGESTION, "%s", m.suggestion);
	json_object_set_new(row, "matches", json_false());
	json_object_set_new(row, "reason", bp_text_json(m.reason, sizeof(m.reason)));
	json_object_set_new(row, "checks", json_array());
	return row;
}

json_t *bp_explain_rules(const struct bp_explain *e, const char *topic, unsigned *n_match,
	enum bp_explain_verdict *best, char *suggestion)
{
	const uint64_t hash = bp_explain_topic_hash(e, topic);
	struct found *other = calloc(e->rules->n_rules + 1ull, sizeof(*other));
	json_t *rows = json_array();
	uint32_t n_other = 0;

	*n_match = 0;
	*best = BP_EXPLAIN_VERDICT_NO;
	for (uint32_t i = 0; i < e->rules->n_rules && other != NULL; i++) {
		const struct bp_rule *r = bp_ruleset_rule(e->rules, i);
		char key[BP_EXPLAIN_KEY_TOPIC];
		enum bp_explain_verdict verdict;
		struct bp_filter_match m;
		const struct bp_rule *found = match_rule(e, r, topic, &m);

		if (found == NULL) {
			other[n_other++] = (struct found){i, m.distance};
			continue;
		}
		++*n_match;
		if (found == r)
			json_array_append_new(rows, bp_explain_rule(e, i, topic, hash, &verdict));
		else
			json_array_append_new(
				rows, bp_explain_rule(e, i, key,
					      bp_explain_key_hash(e, found, topic, key), &verdict));
		*best = verdict > *best ? verdict : *best;
	}
	if (other != NULL)
		qsort(other, n_other, sizeof(*other), by_distance);
	for (uint32_t i = 0; i < n_other && (e->limit == 0 || i < e->limit); i++)
		json_array_append_new(rows, other_rule(e, other[i].rule, topic, suggestion));
	free(other);
	return rows;
}
