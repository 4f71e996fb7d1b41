/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_EVALUATE_H
#define BP_SERVICES_MQTT_EVALUATE_H

#include "services/mqtt/mqtt_worker.h"

/* The steps of a rule, from a value to an alarm. */

/* combination.c: the key of a combination, for its alarm. */
struct bp_combined {
	const struct bp_rule *rule;
	const struct bp_rule *first; /* its first part */
	const char *topic;           /* that of the first part */
	uint32_t topic_len;
	struct bp_part_key part[BP_PARTS_MAX];
};

/* alarm.c: one verdict of one rule, to the ring or out as a mirrored frame. */
struct bp_evaluated {
	struct bp_flow *flow;
	unsigned dir;
	const struct bp_mqtt_publish *publish; /* with the topic resolved */
	double value;
	uint8_t type;              /* enum bp_value_type of the value */
	struct bp_value_text text; /* BP_VALUE_STRING */
	uint32_t seq;
	const char *client_id; /* if it is not stored with the flow; NULL: it is */
	bool beginning;        /* only the first bytes of the payload are available */
	bool repeat;           /* a raise of a pair that is raised */
	uint64_t transition;
	const struct bp_combined *combined; /* NULL: the rule is no combination */
};
/* Sets the number of a verdict. next: the number that a raise that begins has; it is higher than
 * all before in this worker. Another gateway may have begun one with a higher number. */
static inline void bp_evaluated_number(struct bp_mqtt_worker *in, struct bp_evaluated *j,
	enum bp_verdict verdict, uint64_t transition, uint64_t next)
{
	j->transition = transition;
	j->repeat = verdict == BP_VERDICT_RAISED && transition != next;
	if (verdict == BP_VERDICT_RAISED && !j->repeat)
		in->transition = transition;
}

/* evaluate.c: evaluates the rules of a publication. `memo`: bp_rules_memo() of its topic. False: a
 * rule has no value in the payload. */
bool bp_rules_evaluate(
	struct bp_mqtt_worker *in, struct bp_evaluated *of, uint64_t topic_hash, uint32_t memo);
/* The rules that the topic matches, as memo_rule of a flow. */
uint32_t bp_rules_memo(struct bp_mqtt_worker *in, const uint8_t *topic, uint16_t len);
/* Evaluates a value by a rule with the state of the topic, and writes the alarm. The
 * value is what `reading` reads, which also stores it in of->value; NAN: none. */
void bp_rule_apply(struct bp_mqtt_worker *in, const struct bp_rule *rule, struct bp_evaluated *of,
	uint64_t topic_hash, struct bp_rule_reading *reading);

/* extended_value.c: the value of a source that is not plain, for this rule. */
bool bp_extended_value(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_value_source *source, struct bp_evaluated *j);

void bp_alarm_emit(struct bp_mqtt_worker *in, const struct bp_rule *rule, enum bp_verdict verdict,
	const struct bp_evaluated *j);

/* Counts a lost state. */
void bp_tally_state_loss(struct bp_mqtt_worker *in, enum bp_state_loss loss);

/* window.c: adds the value of a rule with a window. True: *result is the one that its conditions
 * evaluate. False: it has none, which is counted. */
bool bp_window_step(struct bp_mqtt_worker *in, const struct bp_rule *rule, uint64_t topic_hash,
	uint32_t client, const struct bp_evaluated *of, double *result);
/* evaluate.c: evaluates the result of a window: an alarm, or a part of a combination. */
void bp_window_result_apply(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	struct bp_evaluated *of, uint64_t topic_hash, uint32_t client);
/* window_tick.c: windows whose time passes without a value. NULL: no memory. free() it. `whole`: a
 * call evaluates all that are due. */
struct bp_window_search *bp_window_search_create(
	const struct bp_window_table *t, unsigned worker, unsigned workers, bool whole);
/* The worker searches this share of the table; first: as many shares as workers. */
void bp_window_share(struct bp_window_search *s, const struct bp_window_table *t, unsigned share,
	unsigned shares);
void bp_window_tick(struct bp_mqtt_worker *in);
void bp_window_note_due(struct bp_mqtt_worker *in, uint64_t due_ns);
/* With `whole`: when the next one is due; UINT64_MAX: none. */
uint64_t bp_window_timer(const struct bp_mqtt_worker *in);
/* After a restart: undoes the changes of the segment in the journal. */
void bp_window_restore(struct bp_mqtt_worker *in);
/* The same for the frames of a burst. */
void bp_window_restore_burst(struct bp_mqtt_worker *in);

/* Whether a value repeats the truth of its part, and so changes nothing else of the combination. */
static inline bool bp_combination_repeats(const struct bp_mqtt_worker *in,
	const struct bp_rule *part, const struct bp_part_key *key, enum bp_truth truth,
	double value)
{
	const struct bp_part_repeat r = {.truth = truth,
		.value = value,
		.max_age_ns = part->part.max_age_ns,
		.now_ns = in->mono_ns,
		.since_ns = in->steady_since_ns,
		.shared = in->workers > 1};

	return (part->part.steady & truth) && bp_part_state_repeat(key, &r);
}
/* combination.c: of->value is the value of a part. */
void bp_combination_evaluate(struct bp_mqtt_worker *in, const struct bp_rule *part,
	const struct bp_evaluated *of, uint64_t topic_hash, uint32_t client);
/* The text of a named level in the topic of the key. False: it has no such name. */
bool bp_combined_level(const struct bp_ruleset *rules, const struct bp_combined *c,
	const char *name, uint32_t len, const char **text, uint32_t *text_len);
/* The parts and the named levels of an alarm, as include/biplane/alarm_parts.h has them: their
 * size, and written to `out`. */
uint32_t bp_combined_size(const struct bp_ruleset *rules, const struct bp_combined *c);
void bp_combined_write(const struct bp_mqtt_worker *in, const struct bp_combined *c, char *out);

/* absence.c: rules with `absent`. whole: a tick searches all topics. NULL: no memory; free() it. */
struct bp_absence *bp_absence_create(
	const struct bp_shm *shm, unsigned worker, uint32_t max_rules, bool whole);
/* The worker searches this share of the table; first: as many shares as workers. */
void bp_absence_share(struct bp_absence *a, unsigned share, unsigned shares);
/* A publication on a topic of the rule. */
void bp_absence_publication(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_evaluated *j);
/* Raises the alarms of topics that are silent for too long. */
void bp_absence_tick(struct bp_mqtt_worker *in);
/* No alarm is due before; UINT64_MAX: none is. */
uint64_t bp_absence_due(const struct bp_mqtt_worker *in);

#endif
