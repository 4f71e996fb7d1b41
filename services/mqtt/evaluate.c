/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/evaluate.h"

#include <math.h>

#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/sparkplug.h"

/* The rules of one publication: topic to rules, payload to value, value to verdict. */

struct evaluation {
	struct bp_mqtt_worker *in;
	struct bp_evaluated *of;
	uint64_t topic_hash;
	/* the value at the source looked at last: rules on one topic mostly share it */
	uint32_t source;
	bool has_value;
	bool unchanged; /* no value, as the message of Sparkplug B does not mention it */
	/* NULL: the publication is no message of Sparkplug B, or no rule reads them */
	const struct bp_sparkplug_message *sparkplug;
	uint8_t only; /* enum only */
	bool missed;  /* no value for a rule */
	bool cut;     /* over the budget: the rest of the rules are not evaluated */
};

/* Rules that are evaluated: all, or those that read a value of Sparkplug B, or only the others. */
enum only { ALL_RULES, SPARKPLUG_RULES, OTHER_RULES };

static bool is_sparkplug(const struct evaluation *j, uint32_t source)
{
	return bp_ruleset_source(j->in->rules, source)->kind == BP_VALUE_SPARKPLUG;
}

static void sparkplug_at(struct evaluation *j, const struct bp_value_source *source)
{
	enum bp_sparkplug_result r = BP_SPARKPLUG_UNCHANGED;

	if (j->sparkplug != NULL)
		r = bp_sparkplug_value(j->in, j->sparkplug, source, j->of, j->topic_hash);
	j->has_value = r == BP_SPARKPLUG_VALUE;
	if (j->has_value)
		j->of->value = bp_value_scaled(source, j->of->value);
	j->unchanged = r == BP_SPARKPLUG_UNCHANGED;
}

static void value_at(struct evaluation *j, const struct bp_rule *rule)
{
	const struct bp_value_source *s = bp_ruleset_source(j->in->rules, rule->source);
	const struct bp_mqtt_publish *p = j->of->publish;

	j->source = rule->source;
	j->unchanged = false;
	j->of->type = BP_VALUE_NUMBER;
	if (__builtin_expect(s->extended, 0) && s->kind != BP_VALUE_SPARKPLUG) {
		j->has_value = bp_extended_value(j->in, rule, s, j->of);
		/* which element decides depends on the conditions of the rule */
		if (bp_value_has_elements(s))
			j->source = UINT32_MAX;
		return;
	}
	if (s->kind == BP_VALUE_SPARKPLUG) {
		sparkplug_at(j, s);
		return;
	}
	bp_work_add(&j->in->work, BP_WORK_VALUE + p->payload_len);
	if (j->of->beginning)
		j->has_value = bp_value_beginning(p->payload, p->payload_len, s, &j->of->value);
	else
		j->has_value =
			bp_value_at(j->in, rule->source, p->payload, p->payload_len, &j->of->value);
}

static const bp_counter_t loss_counter[] = {
	[BP_STATE_HOLD_EVICTED] = BP_C_STATE_EVICTED,
	[BP_STATE_RAISED_EVICTED] = BP_C_STATE_EVICTED_RAISED,
	[BP_STATE_NOT_KEPT] = BP_C_STATE_NOT_STORED,
};

void bp_tally_state_loss(struct bp_mqtt_worker *in, enum bp_state_loss loss)
{
	if (__builtin_expect(loss != BP_STATE_NO_LOSS, 0))
		bp_tally(in, loss_counter[loss]);
}

/* `value`: NULL where the payload has none. */
static __attribute__((noinline, cold)) void report(const struct bp_mqtt_worker *in,
	const struct bp_rule *rule, const double *value, enum bp_verdict verdict)
{
	in->evaluated(in->evaluated_arg, rule, value, verdict);
}

/* `reading`, a constant: NULL where of->value is the value. */
static inline void apply(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	struct bp_evaluated *of, uint64_t topic_hash, struct bp_rule_reading *reading)
{
	enum bp_verdict verdict;
	const uint64_t next = bp_transition_next(in->now_ns, in->transition);
	uint64_t transition = next;

	if (reading == NULL && !rule->stateful) {
		verdict = bp_condition_holds(&rule->raise, of->value) ? BP_VERDICT_RAISED
								      : BP_VERDICT_NOTHING;
	} else {
		struct bp_rule_undo *undo = bp_journal_undo(in->journal, bp_rule_undos(rule));
		const uint32_t client = bp_state_client(in, of->flow);
		enum bp_state_loss loss;

		bp_work_add(&in->work, BP_WORK_STATE);
		if (reading == NULL)
			verdict = bp_rule_evaluate_undo(in->rule_state, in->rule_state_len, rule,
				topic_hash, client, of->value, in->mono_ns, &transition, &loss,
				undo);
		else
			verdict = bp_rule_evaluate_reading(in->rule_state, in->rule_state_len, rule,
				topic_hash, client, reading, in->mono_ns, &transition, &loss, undo);
		bp_tally_state_loss(in, loss);
		if (__builtin_expect(in->fleet != NULL && rule->hold != BP_HOLD_NONE, 0))
			bp_fleet_hold_changed(in, rule, of, topic_hash, undo);
	}
	if (__builtin_expect(in->evaluated != NULL, 0))
		report(in, rule, reading != NULL && isnan(of->value) ? NULL : &of->value, verdict);
	if (verdict == BP_VERDICT_NOTHING)
		return;
	bp_evaluated_number(in, of, verdict, transition, next);
	bp_alarm_emit(in, rule, verdict, of);
}

void bp_rule_apply(struct bp_mqtt_worker *in, const struct bp_rule *rule, struct bp_evaluated *of,
	uint64_t topic_hash, struct bp_rule_reading *reading)
{
	apply(in, rule, of, topic_hash, reading);
}

static void count_match(struct bp_mqtt_worker *in, struct bp_rule_stats *stats)
{
	bp_work_add(&in->work, BP_WORK_RULE);
	bp_tally(in, BP_C_MATCH);
	/* this worker is the row's only writer: a plain add, seen by readers as one store */
	atomic_store_explicit(&stats->matched,
		atomic_load_explicit(&stats->matched, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

void bp_window_result_apply(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	struct bp_evaluated *of, uint64_t topic_hash, uint32_t client)
{
	if (rule->role == BP_RULE_PART)
		bp_combination_evaluate(in, rule, of, topic_hash, client);
	else
		apply(in, rule, of, topic_hash, NULL);
}

/* The result of the window replaces the value, for this rule alone. */
static __attribute__((noinline)) void evaluate_window(
	const struct evaluation *j, const struct bp_rule *rule)
{
	struct bp_mqtt_worker *in = j->in;
	const uint32_t client = bp_state_client(in, j->of->flow);
	struct bp_evaluated of = *j->of;

	if (bp_window_step(in, rule, j->topic_hash, client, j->of, &of.value))
		bp_window_result_apply(in, rule, &of, j->topic_hash, client);
	else if (__builtin_expect(in->evaluated != NULL, 0))
		report(in, rule, NULL, BP_VERDICT_NOTHING);
}

/* An array may have many elements for few bytes. */
static bool may_read_elements(struct evaluation *j, const struct bp_rule *rule)
{
	const struct bp_value_source *s = bp_ruleset_source(j->in->rules, rule->source);

	return __builtin_expect(j->source == rule->source || !s->extended, 1) ||
	       !bp_value_has_elements(s) ||
	       bp_within_budget_is(j->in, bp_work_may_exceed(&j->in->work));
}

static void evaluate(struct evaluation *j, uint32_t index)
{
	struct bp_mqtt_worker *in = j->in;
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, index);
	struct bp_rule_stats *stats = &in->rule_stats[rule->slot];

	if (__builtin_expect(rule->absent, 0)) {
		if (j->only == SPARKPLUG_RULES)
			return;
		count_match(in, stats);
		j->source = UINT32_MAX; /* the silence replaces the value */
		j->of->type = BP_VALUE_NUMBER;
		bp_absence_publication(in, rule, j->topic_hash, j->of);
		return;
	}
	if (j->cut || (j->only != ALL_RULES &&
			      is_sparkplug(j, rule->source) != (j->only == SPARKPLUG_RULES)))
		return;
	if (!bp_within_budget(in) || !may_read_elements(j, rule)) {
		j->cut = true;
		return;
	}
	count_match(in, stats);
	if (j->source != rule->source)
		value_at(j, rule);
	if (j->unchanged)
		return;
	if (!j->has_value) {
		j->missed = true;
		bp_tally(in, j->of->beginning ? BP_C_PUBLISH_VALUE_TRUNCATED : BP_C_VALUE_MISSING);
		atomic_store_explicit(&stats->no_value,
			atomic_load_explicit(&stats->no_value, memory_order_relaxed) + 1,
			memory_order_relaxed);
		if (__builtin_expect(in->evaluated != NULL, 0))
			report(in, rule, NULL, BP_VERDICT_NOTHING);
		return;
	}
	if (__builtin_expect(rule->windowed, 0))
		evaluate_window(j, rule);
	else if (rule->role == BP_RULE_PART)
		bp_combination_evaluate(
			in, rule, j->of, j->topic_hash, bp_state_client(in, j->of->flow));
	else
		apply(in, rule, j->of, j->topic_hash, NULL);
}

/* Collected matches of a topic; if there are more than the capacity, only this fact is stored. */
struct matched {
	const struct bp_ruleset *rules;
	uint32_t n;
	uint32_t rule[BP_TOPIC_CACHE_RULES];
};

static void gather(uint32_t first, void *arg)
{
	struct matched *m = arg;

	for (uint32_t r = first; r != BP_RULE_NONE && m->n <= BP_TOPIC_CACHE_RULES;
		r = bp_ruleset_rule(m->rules, r)->next) {
		if (m->n < BP_TOPIC_CACHE_RULES)
			m->rule[m->n] = r;
		m->n++;
	}
}

static void match(struct bp_mqtt_worker *in, const uint8_t *topic, uint32_t len,
	bp_rule_found found, void *arg)
{
	uint32_t steps = bp_ruleset_match(in->rules, topic, len, found, arg);

	bp_work_add(&in->work, (uint64_t)steps * BP_WORK_TRIE_STEP + len / 4);
}

static void evaluate_chain(uint32_t first, void *arg)
{
	struct evaluation *j = arg;

	for (uint32_t r = first; r != BP_RULE_NONE && !j->cut;
		r = bp_ruleset_rule(j->in->rules, r)->next)
		evaluate(j, r);
}

static void evaluate_rules(struct evaluation *j)
{
	struct bp_mqtt_worker *in = j->in;
	const struct bp_mqtt_publish *p = j->of->publish;
	struct bp_topic_cache *c = &in->cache[j->topic_hash >> 1 & (BP_TOPIC_CACHE - 1)];

	if (c->hash != j->topic_hash || c->gen != in->gen) {
		struct matched m = {.rules = in->rules};

		match(in, p->topic, p->topic_len, gather, &m);
		c->hash = j->topic_hash;
		c->gen = in->gen;
		c->n = m.n;
		memcpy(c->rule, m.rule, sizeof(c->rule));
	}
	if (c->n > BP_TOPIC_CACHE_RULES) {
		match(in, p->topic, p->topic_len, evaluate_chain, j);
		return;
	}
	for (uint32_t i = 0; i < c->n; i++)
		evaluate(j, c->rule[i]);
}

/*
 * The rules for a birth or death are those that match the data messages of the same node or device:
 * so they share the state of the pair of rule and topic, and the alarm has this topic.
 */
static void evaluate_as_data(struct evaluation *j)
{
	struct bp_mqtt_worker *in = j->in;
	struct bp_mqtt_publish p = *j->of->publish;

	p.topic_len = (uint16_t)bp_sparkplug_data_topic(&j->sparkplug->topic, in->data_topic);
	p.topic = (const uint8_t *)in->data_topic;
	j->of->publish = &p;
	j->topic_hash = bp_topic_hash(in, p.topic, p.topic_len);
	j->source = UINT32_MAX;
	j->only = SPARKPLUG_RULES;
	evaluate_rules(j);
}

/* The death of a node is that of its devices. Those beyond the budget are counted. */
static void evaluate_devices(struct evaluation *j, const struct bp_sparkplug_message *node)
{
	const struct bp_mqtt_publish *p = j->of->publish;
	struct bp_sparkplug_message device;
	struct bp_sparkplug_device name;
	uint32_t i;

	for (i = 0; i < node->devices; i++) {
		j->cut = j->cut || !bp_within_budget(j->in);
		if (!j->cut && bp_sparkplug_listed_device(j->in, node, i, &name, &device)) {
			j->sparkplug = &device;
			j->of->publish = p;
			evaluate_as_data(j);
		}
		if (j->cut)
			break;
	}
	j->in->counters->v[BP_C_SPARKPLUG_DEATH_CUT] += node->devices - i;
}

static void evaluate_matching(struct evaluation *j)
{
	const struct bp_mqtt_publish *p = j->of->publish;
	struct bp_sparkplug_message m;

	if (j->in->rules->n_sparkplug == 0 ||
		!bp_sparkplug_begin(j->in, j->of, j->topic_hash, &m)) {
		evaluate_rules(j);
		return;
	}
	j->sparkplug = &m;
	if (!bp_sparkplug_is_data(m.topic.type)) {
		const uint64_t hash = j->topic_hash;

		j->only = OTHER_RULES;
		evaluate_rules(j);
		evaluate_as_data(j);
		j->of->publish = p;
		if (m.topic.type == BP_SPARKPLUG_NDEATH)
			evaluate_devices(j, &m);
		j->of->publish = p;
		j->topic_hash = hash;
	} else {
		evaluate_rules(j);
	}
	j->sparkplug = NULL;
}

/* Data of Sparkplug B that a single rule evaluates. */
static void evaluate_data(struct evaluation *j, uint32_t rule)
{
	struct bp_sparkplug_message m;

	if (bp_sparkplug_begin(j->in, j->of, j->topic_hash, &m))
		j->sparkplug = &m;
	evaluate(j, rule);
	j->sparkplug = NULL;
}

/* Whether it is data of Sparkplug B, and the rule has a value of it: bp_rules_evaluate() then
 * begins with the message. */
static bool reads_data(
	const struct bp_mqtt_worker *in, uint32_t rule, const uint8_t *topic, uint16_t len)
{
	struct bp_sparkplug_topic t;

	return bp_ruleset_rule(in->rules, rule)->fast >= BP_RULE_FAST_SPARKPLUG &&
	       bp_sparkplug_topic(topic, len, &t) && bp_sparkplug_is_data(t.type);
}

uint32_t bp_rules_memo(struct bp_mqtt_worker *in, const uint8_t *topic, uint16_t len)
{
	struct matched m = {.rules = in->rules};

	match(in, topic, len, gather, &m);
	/* other topics of the node may match */
	if (in->rules->n_sparkplug != 0 && bp_sparkplug_is_topic(topic, len) &&
		!(m.n == 1 && reads_data(in, m.rule[0], topic, len)))
		return BP_MEMO_MULTIPLE;
	return m.n > 1 ? BP_MEMO_MULTIPLE : m.n == 0 ? BP_RULE_NONE : m.rule[0];
}

bool bp_rules_evaluate(
	struct bp_mqtt_worker *in, struct bp_evaluated *of, uint64_t topic_hash, uint32_t memo)
{
	struct evaluation j = {.in = in, .of = of, .topic_hash = topic_hash, .source = UINT32_MAX};

	if (memo == BP_MEMO_MULTIPLE)
		evaluate_matching(&j);
	else if (bp_ruleset_rule(in->rules, memo)->fast >= BP_RULE_FAST_SPARKPLUG)
		evaluate_data(&j, memo);
	else
		evaluate(&j, memo);
	return !j.missed;
}
