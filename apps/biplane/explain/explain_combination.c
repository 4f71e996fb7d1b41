/* SPDX-License-Identifier: BSD-3-Clause */
/* A combination: which part has a topic, and whether each part of its key holds. */
#include <math.h>
#include <string.h>

#include "apps/biplane/explain/explain.h"
#include "apps/biplane/explain/filter_match.h"
#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/text_value.h"
#include "shm/fault.h"
#include "shm/rules/key_topic.h"

/* The filter of a part with + for each named level. Returns its length. */
static uint32_t plain_filter(
	const struct bp_explain *e, const struct bp_rule *part, char out[BP_RULE_FILTER_MAX + 1])
{
	const char *p = bp_rules_filter(e->rules, part);
	uint32_t n = 0;

	for (uint32_t i = 0; i < part->filter_len && n < BP_RULE_FILTER_MAX; i++) {
		if (p[i] != '{') {
			out[n++] = p[i];
			continue;
		}
		out[n++] = '+';
		while (i + 1 < part->filter_len && p[i] != '}')
			i++;
	}
	return n;
}

const struct bp_rule *bp_explain_part(const struct bp_explain *e, const struct bp_rule *rule,
	const char *topic, struct bp_filter_match *best)
{
	for (unsigned i = 0; i < rule->combination.n_parts; i++) {
		const struct bp_rule *part =
			bp_ruleset_rule(e->rules, rule->combination.first_part + i);
		char filter[BP_RULE_FILTER_MAX + 1];
		const uint32_t len = plain_filter(e, part, filter);
		struct bp_filter_match m;

		bp_filter_match(filter, len, topic, strlen(topic), &m);
		if (i == 0 || m.distance < best->distance)
			*best = m;
		if (m.matches)
			return part;
	}
	return NULL;
}

/* The topic of part `to`, from one of part `from`, and its hash. */
static uint64_t part_topic(const struct bp_explain *e, const struct bp_rule *from,
	const struct bp_rule *to, const char *topic, char out[BP_EXPLAIN_KEY_TOPIC])
{
	const uint32_t len = bp_part_topic(
		e->rules, from, to, topic, (uint32_t)strlen(topic), out, BP_EXPLAIN_KEY_TOPIC - 1);

	out[len < BP_EXPLAIN_KEY_TOPIC ? len : 0] = '\0';
	return bp_explain_topic_hash(e, out);
}

static void check_part(const struct bp_explain *e, const struct bp_part_key *key,
	const struct bp_rule *part, uint8_t *truth, json_t *checks)
{
	char condition[BP_TEXT_RULE_CONDITION], value[BP_TEXT_RULE_VALUE] = "not known",
						age[BP_FAULT_DURATION_LEN],
						max[BP_FAULT_DURATION_LEN];
	const char *filter = bp_rules_filter(e->rules, part);
	struct bp_part_view v;

	bp_part_state_view(key, e->mono_ns, &v);
	*truth = (uint8_t)bp_part_word_truth(v.word, part->part.max_age_ns, e->mono_ns);
	bp_text_rule_condition(e->rules, part, &part->raise, condition);
	if (v.word == 0) {
		bp_explain_add(checks, "part", BP_EXPLAIN_INFO,
			"%.*s %s: unknown, no value was seen for this key", (int)part->filter_len,
			filter, condition);
		return;
	}
	if (!isnan(v.value))
		bp_text_rule_value(e->rules, part, v.value, value);
	bp_fault_duration(v.age_ns, age);
	bp_fault_duration(part->part.max_age_ns, max);
	bp_explain_add(checks, "part", BP_EXPLAIN_INFO, "%.*s %s: %s, last value %s, %s ago%s%s",
		(int)part->filter_len, filter, condition,
		*truth == BP_TRUTH_TRUE    ? "true"
		: *truth == BP_TRUTH_FALSE ? "false"
					   : "unknown",
		value, age, *truth == BP_TRUTH_UNKNOWN ? ", older than " : "",
		*truth == BP_TRUTH_UNKNOWN ? max : "");
}

void bp_explain_parts(
	const struct bp_explain *e, const struct bp_rule *rule, const char *topic, json_t *checks)
{
	const struct bp_rule *first = bp_ruleset_rule(e->rules, rule->combination.first_part);
	uint8_t truth[BP_PARTS_MAX] = {0};
	enum bp_truth result;

	for (unsigned i = 0; i < rule->combination.n_parts; i++) {
		const struct bp_rule *part = first + i;
		char of_part[BP_EXPLAIN_KEY_TOPIC];
		const uint64_t hash = part_topic(e, first, part, topic, of_part);
		const struct bp_part_key key =
			bp_part_key(e->shm->part_state, e->shm->part_state_len, part->uid, hash);

		check_part(e, &key, part, &truth[i], checks);
		bp_explain_window(e, part, hash, checks);
	}
	result = bp_program_evaluate(&rule->combination.program, truth);
	bp_explain_add(checks, "combination", BP_EXPLAIN_INFO, "%s",
		result == BP_TRUTH_TRUE    ? "true"
		: result == BP_TRUTH_FALSE ? "false"
					   : "unknown: the next value of a part that is unknown "
					     "can decide it");
}

uint64_t bp_explain_key_hash(const struct bp_explain *e, const struct bp_rule *part,
	const char *topic, char key[BP_EXPLAIN_KEY_TOPIC])
{
	const struct bp_rule *rule = bp_ruleset_rule(e->rules, part->part.combination);

	return part_topic(
		e, part, bp_ruleset_rule(e->rules, rule->combination.first_part), topic, key);
}
