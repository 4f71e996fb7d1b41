/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforcement.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/policy_cache.h"
#include "services/mqtt/publications.h"
#include "services/mqtt/sparkplug.h"
#include "services/mqtt/stream.h"

/* One PUBLISH and the rules: topic to rules, payload to value, value to verdict. */

struct evaluation {
	struct bp_mqtt_worker *in;
	struct bp_evaluated of;
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
		r = bp_sparkplug_value(j->in, j->sparkplug, source, &j->of, j->topic_hash);
	j->has_value = r == BP_SPARKPLUG_VALUE;
	if (j->has_value)
		j->of.value = bp_value_scaled(source, j->of.value);
	j->unchanged = r == BP_SPARKPLUG_UNCHANGED;
}

static void value_at(struct evaluation *j, const struct bp_rule *rule)
{
	const struct bp_value_source *s = bp_ruleset_source(j->in->rules, rule->source);
	const struct bp_mqtt_publish *p = j->of.publish;

	j->source = rule->source;
	j->unchanged = false;
	j->of.type = BP_VALUE_NUMBER;
	if (__builtin_expect(s->extended, 0) && s->kind != BP_VALUE_SPARKPLUG) {
		j->has_value = bp_extended_value(j->in, rule, s, &j->of);
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
	if (j->of.beginning)
		j->has_value = bp_value_beginning(p->payload, p->payload_len, s, &j->of.value);
	else
		j->has_value =
			bp_value_at(j->in, rule->source, p->payload, p->payload_len, &j->of.value);
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
	const uint32_t client = bp_state_client(in, j->of.flow);
	struct bp_evaluated of = j->of;

	if (bp_window_step(in, rule, j->topic_hash, client, &j->of, &of.value))
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
		j->of.type = BP_VALUE_NUMBER;
		bp_absence_publication(in, rule, j->topic_hash, &j->of);
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
		bp_tally(in, j->of.beginning ? BP_C_PUBLISH_VALUE_TRUNCATED : BP_C_VALUE_MISSING);
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
			in, rule, &j->of, j->topic_hash, bp_state_client(in, j->of.flow));
	else
		apply(in, rule, &j->of, j->topic_hash, NULL);
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
	const struct bp_mqtt_publish *p = j->of.publish;
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
	struct bp_mqtt_publish p = *j->of.publish;

	p.topic_len = (uint16_t)bp_sparkplug_data_topic(&j->sparkplug->topic, in->data_topic);
	p.topic = (const uint8_t *)in->data_topic;
	j->of.publish = &p;
	j->topic_hash = bp_topic_hash(in, p.topic, p.topic_len);
	j->source = UINT32_MAX;
	j->only = SPARKPLUG_RULES;
	evaluate_rules(j);
}

/* The death of a node is that of its devices. Those beyond the budget are counted. */
static void evaluate_devices(struct evaluation *j, const struct bp_sparkplug_message *node)
{
	const struct bp_mqtt_publish *p = j->of.publish;
	struct bp_sparkplug_message device;
	struct bp_sparkplug_device name;
	uint32_t i;

	for (i = 0; i < node->devices; i++) {
		j->cut = j->cut || !bp_within_budget(j->in);
		if (!j->cut && bp_sparkplug_listed_device(j->in, node, i, &name, &device)) {
			j->sparkplug = &device;
			j->of.publish = p;
			evaluate_as_data(j);
		}
		if (j->cut)
			break;
	}
	j->in->counters->v[BP_C_SPARKPLUG_DEATH_CUT] += node->devices - i;
}

static void evaluate_matching(struct evaluation *j)
{
	const struct bp_mqtt_publish *p = j->of.publish;
	struct bp_sparkplug_message m;

	if (j->in->rules->n_sparkplug == 0 ||
		!bp_sparkplug_begin(j->in, &j->of, j->topic_hash, &m)) {
		evaluate_rules(j);
		return;
	}
	j->sparkplug = &m;
	if (!bp_sparkplug_is_data(m.topic.type)) {
		const uint64_t hash = j->topic_hash;

		j->only = OTHER_RULES;
		evaluate_rules(j);
		evaluate_as_data(j);
		j->of.publish = p;
		if (m.topic.type == BP_SPARKPLUG_NDEATH)
			evaluate_devices(j, &m);
		j->of.publish = p;
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

	if (bp_sparkplug_begin(j->in, &j->of, j->topic_hash, &m))
		j->sparkplug = &m;
	evaluate(j, rule);
	j->sparkplug = NULL;
}

/*
 * On a stream that was resynchronised only by pushes, only topics are valid that were published
 * while it was proven. On the other stream all topics are valid, but new ones do not become known
 * in this state.
 */
static bool topic_counts(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint64_t bits)
{
	if ((bits & ~f->known) == 0)
		return true;
	if (f->pending & BP_FLOW_PUSHED(dir)) {
		bp_tally(in, BP_C_TOPIC_UNCONFIRMED);
		return false;
	}
	if (!(f->pending & BP_FLOW_PUSHED_EITHER))
		f->known |= bits;
	return true;
}

/* Whether it is data of Sparkplug B, and the rule has a value of it: bp_publish() then begins with
 * the message. */
static bool reads_data(
	const struct bp_mqtt_worker *in, uint32_t rule, const uint8_t *topic, uint16_t len)
{
	struct bp_sparkplug_topic t;

	return bp_ruleset_rule(in->rules, rule)->fast >= BP_RULE_FAST_SPARKPLUG &&
	       bp_sparkplug_topic(topic, len, &t) && bp_sparkplug_is_data(t.type);
}

/* The rules that the topic matches, as memo_rule of a flow. */
static uint32_t search(struct bp_mqtt_worker *in, const uint8_t *topic, uint16_t len)
{
	struct matched m = {.rules = in->rules};

	match(in, topic, len, gather, &m);
	/* other topics of the node may match */
	if (in->rules->n_sparkplug != 0 && bp_sparkplug_is_topic(topic, len) &&
		!(m.n == 1 && reads_data(in, m.rule[0], topic, len)))
		return BP_MEMO_MULTIPLE;
	return m.n > 1 ? BP_MEMO_MULTIPLE : m.n == 0 ? BP_RULE_NONE : m.rule[0];
}

/* The same, kept with the decision of the policy, if that is. */
static uint32_t memo_of(struct bp_mqtt_worker *in, const uint8_t *topic, uint16_t len,
	struct bp_policy_cached *cached)
{
	uint32_t rule = cached != NULL ? bp_policy_cached_memo(cached) : BP_MEMO_UNKNOWN;

	if (rule == BP_MEMO_UNKNOWN) {
		rule = search(in, topic, len);
		if (cached != NULL)
			bp_policy_cached_set_memo(cached, rule);
	}
	return rule;
}

/*
 * Writes the rules that the topic matches to the flow's memo. Both directions share the memo, so a
 * topic that is valid in only one of them is not stored. Neither is one whose publications the
 * policy decides about one by one. PAYLOAD_DECIDED: it has, about this one.
 */
enum payload { PAYLOAD_BEGINS, PAYLOAD_WHOLE, PAYLOAD_DECIDED };
static enum bp_policy_next look_up(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p, uint64_t hash, enum payload payload)
{
	const uint8_t *topic = p->topic;
	const uint16_t len = p->topic_len;
	const uint64_t bits = bp_topic_known_bits(in, topic, len, hash);
	struct bp_policy_cached *cached = NULL;
	enum bp_policy_next next = BP_POLICY_DECIDE_EACH;
	bool counts;

	bp_tally(in, BP_C_TOPIC_LOOKUP);
	counts = topic_counts(in, f, dir, bits);
	if (dir == BP_FROM_BROKER)
		next = bp_policy_is_given(in) ? BP_POLICY_DECIDE_EACH : BP_POLICY_ALL_ALLOWED;
	else if (!counts)
		bp_policy_unread(in, f, dir);
	else if (payload != PAYLOAD_DECIDED)
		next = bp_policy_publish(in, f, p, hash, payload == PAYLOAD_WHOLE, &cached);
	if (next == BP_POLICY_BLANKED)
		return next;
	f->memo_rule = counts && in->rules->generation != 0 ? memo_of(in, topic, len, cached)
							    : BP_RULE_NONE;
	f->memo_hash = hash;
	f->memo_gen = next == BP_POLICY_ALL_ALLOWED && (bits & ~f->known) == 0 ? in->gen : 0;
	return next;
}

/* Of an alias that has another topic at the broker. */
static bool is_filed(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p)
{
	return p->alias != 0 && dir == BP_TO_BROKER && bp_alias_is_filed(in, f, p);
}

/* The broker knows its identifier, for publications that are sent again. */
static void note_blanked(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, const struct bp_mqtt_publish *p)
{
	if (p->qos == 2)
		(void)bp_qos2_begin(in, f, dir, p->packet_id);
}

/* The hash covers the topic's length. */
static bool memo_matches(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint64_t hash)
{
	return f->memo_hash == hash && f->memo_gen == in->gen;
}

/*
 * Fast path for a PUBLISH on a topic that this flow published before, which was checked then,
 * without version 5 properties. Only lengths remain to be checked.
 */
static bool parse_known(struct bp_mqtt_worker *in, struct bp_flow *f, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_publish *p, uint64_t *hash)
{
	uint32_t at = 2, id = 0;

	if (len < 2)
		return false;
	p->topic_len = bp_be16(body);
	if (p->topic_len == 0)
		return false;
	at += p->topic_len;
	if (flags & 0x06) {
		if (at + 2 > len)
			return false;
		id = bp_be16(body + at);
		if (id == 0)
			return false;
		at += 2;
	}
	if (f->version == BP_MQTT_V5) {
		if (at >= len || body[at] != 0)
			return false;
		at++;
	}
	if (at > len)
		return false;
	*hash = bp_topic_hash(in, body + 2, p->topic_len);
	if (!memo_matches(in, f, *hash))
		return false;
	p->topic = body + 2;
	p->packet_id = (uint16_t)id;
	p->payload = body + at;
	p->payload_len = len - at;
	p->packet_len = len;
	p->qos = flags >> 1 & 3;
	p->dup = flags >> 3 & 1;
	p->retain = flags & 1;
	p->alias = 0;
	p->properties = f->version == BP_MQTT_V5 ? body + at : NULL;
	p->properties_len = 0;
	return true;
}

/* The topic and its hash, with the alias resolved. False: there is nothing to evaluate, which is
 * counted. */
static bool resolve(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p, uint64_t *hash)
{
	if (p->alias == 0) {
		*hash = bp_topic_hash(in, p->topic, p->topic_len);
		return true;
	}
	switch (bp_alias_use(in, f, dir, p, hash)) {
	case BP_ALIAS_OK:
		return true;
	case BP_ALIAS_UNMAPPED:
		bp_tally(in, BP_C_ALIAS_UNMAPPED);
		return false;
	case BP_ALIAS_BAD:
		bp_mqtt_stop_inspection(in, f, dir, BP_C_NOT_INSPECTED_ALIAS);
		return false;
	}
	return false;
}

static void count_publish(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_publish *p)
{
	bp_tally(in, BP_C_MQTT_PUBLISH);
	f->publishes++;
	if (p->dup)
		bp_tally(in, BP_C_MQTT_DUP);
}

/*
 * Reads a complete PUBLISH: its fields, and the hash of its topic, whose matches are then in the
 * memo of the flow. False: it is not evaluated, which is counted.
 */
static bool read_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, struct bp_mqtt_head *head, struct bp_mqtt_publish *p,
	uint64_t *hash)
{
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	enum bp_mqtt_error e;
	enum bp_policy_next next;

	bp_journal_deepen(in->journal, f);
	e = head == NULL ? bp_mqtt_publish(&view, f->version, flags, body, len, p)
			 : bp_mqtt_resume(&view, f->version, flags, body, len, len, head, p);
	if (e != BP_MQTT_OK) {
		bp_mqtt_stop_on_error(in, f, dir, e);
		return false;
	}
	if (view.violations != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.violations);
	count_publish(in, f, p);
	bp_work_add(&in->work, (p->topic_len + p->properties_len) / 4);
	if (!resolve(in, f, dir, p, hash)) {
		bp_policy_unread(in, f, dir);
		return false;
	}
	if (memo_matches(in, f, *hash) && !is_filed(in, f, dir, p)) {
		bp_tally(in, BP_C_TOPIC_CACHE_HIT);
		return true;
	}
	if (!bp_within_budget(in)) {
		bp_policy_unread(in, f, dir);
		return false;
	}
	/* the head of a packet that was cut may have been complete before */
	next = look_up(in, f, dir, p, *hash,
		head != NULL && f->reassembly_decided[dir] == BP_REASSEMBLY_WHOLE ? PAYLOAD_DECIDED
										  : PAYLOAD_WHOLE);
	if (next == BP_POLICY_BLANKED) {
		note_blanked(in, f, dir, p);
		return false;
	}
	return !bp_enforce_refused(in);
}

void bp_publish(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t len, uint32_t seq, struct bp_mqtt_head *head)
{
	struct bp_mqtt_publish p;
	struct evaluation j;

	if (!in->evaluates[dir]) {
		bp_tally(in, BP_C_MQTT_PUBLISH_OTHER_DIRECTION);
		return;
	}
	if (parse_known(in, f, flags, body, len, &p, &j.topic_hash)) {
		bp_tally(in, BP_C_TOPIC_CACHE_HIT);
		count_publish(in, f, &p);
	} else if (!read_publish(in, f, dir, flags, body, len, head, &p, &j.topic_hash)) {
		return;
	}
	if (p.qos == 2 && !bp_qos2_begin(in, f, dir, p.packet_id))
		return;
	if (f->memo_rule == BP_RULE_NONE) {
		bp_tally(in, BP_C_MATCH_NONE);
		return;
	}
	if (p.qos != 0 && bp_ack_awaited(in, f, dir)) {
		bp_ack_wait(in, f, &p, seq, false);
		return;
	}
	j.in = in;
	j.source = UINT32_MAX;
	j.has_value = false;
	j.unchanged = false;
	j.sparkplug = NULL;
	j.only = ALL_RULES;
	j.cut = false;
	j.of.flow = f;
	j.of.dir = dir;
	j.of.publish = &p;
	j.of.seq = seq;
	j.of.beginning = false;
	j.of.client_id = NULL;
	j.of.combined = NULL;
	j.of.type = BP_VALUE_NUMBER;
	if (f->memo_rule == BP_MEMO_MULTIPLE)
		evaluate_matching(&j);
	else if (bp_ruleset_rule(in->rules, f->memo_rule)->fast >= BP_RULE_FAST_SPARKPLUG)
		evaluate_data(&j, f->memo_rule);
	else
		evaluate(&j, f->memo_rule);
}

void bp_publish_beginning(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint8_t flags,
	const uint8_t *body, uint32_t have, uint32_t len, uint32_t seq, struct bp_mqtt_head *head)
{
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	struct bp_mqtt_publish p;
	struct evaluation j = {
		.in = in,
		.of = {.flow = f, .dir = dir, .publish = &p, .seq = seq, .beginning = true},
		.source = UINT32_MAX,
	};

	bp_journal_deepen(in->journal, f);
	if (bp_mqtt_resume(&view, f->version, flags, body, have, len, head, &p) != BP_MQTT_OK)
		return; /* cannot happen: it was valid when it was kept */
	if (view.violations != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.violations);
	count_publish(in, f, &p);
	bp_tally(in, BP_C_PUBLISH_TRUNCATED);
	if (!resolve(in, f, dir, &p, &j.topic_hash))
		return;
	p.payload_len = (uint32_t)(body + have - p.payload);
	if (p.qos == 2 && !bp_qos2_begin(in, f, dir, p.packet_id))
		return;
	if (p.qos != 0 && bp_ack_awaited(in, f, dir)) {
		bp_ack_wait(in, f, &p, seq, true);
		return;
	}
	evaluate_matching(&j);
	if (j.missed)
		bp_tally(in, BP_C_MQTT_PUBLISH_INCOMPLETE);
}

void bp_publish_evaluate(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	const struct bp_mqtt_publish *p, uint32_t seq, bool beginning)
{
	struct evaluation j = {
		.in = in,
		.of = {.flow = f, .dir = dir, .publish = p, .seq = seq, .beginning = beginning},
		.topic_hash = bp_topic_hash(in, p->topic, p->topic_len),
		.source = UINT32_MAX,
	};

	if (in->rules->generation != 0)
		evaluate_matching(&j);
	if (beginning && j.missed)
		bp_tally(in, BP_C_MQTT_PUBLISH_INCOMPLETE);
}

enum bp_publish_decision bp_publish_decide(struct bp_mqtt_worker *in, struct bp_flow *f,
	unsigned dir, uint8_t flags, const uint8_t *body, uint32_t have, uint32_t len,
	struct bp_mqtt_head *head)
{
	uint32_t checked = head->topic + head->properties;
	struct bp_mqtt_view view = bp_publish_view(in, f, dir);
	struct bp_mqtt_publish p;
	enum bp_mqtt_error e;
	enum bp_policy_next next = BP_POLICY_DECIDE_EACH;
	uint64_t hash;

	if (!in->evaluates[dir]) {
		bp_tally(in, BP_C_MQTT_PUBLISH_OTHER_DIRECTION);
		return BP_PUBLISH_SKIP;
	}
	e = bp_mqtt_resume(&view, f->version, flags, body, have, len, head, &p);
	bp_work_add(&in->work, BP_WORK_PACKET + (have - checked) / 4);
	if (e == BP_MQTT_MORE)
		return BP_PUBLISH_NEED_MORE;
	if (e != BP_MQTT_OK) {
		bp_mqtt_stop_on_error(in, f, dir, e);
		return BP_PUBLISH_NOT_INSPECTED;
	}
	if (!resolve(in, f, dir, &p, &hash)) {
		bp_policy_unread(in, f, dir);
		if (bp_stream_unread(f, dir) || bp_enforce_refused(in))
			return BP_PUBLISH_NOT_INSPECTED;
		count_publish(in, f, &p);
		return BP_PUBLISH_SKIP;
	}
	if (!memo_matches(in, f, hash) || is_filed(in, f, dir, &p)) {
		if (!bp_within_budget(in)) {
			bp_policy_unread(in, f, dir);
			count_publish(in, f, &p);
			return bp_enforce_refused(in) ? BP_PUBLISH_NOT_INSPECTED : BP_PUBLISH_SKIP;
		}
		next = look_up(in, f, dir, &p, hash, PAYLOAD_BEGINS);
		if (next == BP_POLICY_WAIT)
			return BP_PUBLISH_WAIT;
		if (bp_enforce_refused(in))
			return BP_PUBLISH_NOT_INSPECTED;
	}
	if (next != BP_POLICY_BLANKED && f->memo_rule != BP_RULE_NONE)
		return BP_PUBLISH_EVALUATE; /* counted when it is whole */
	if (view.violations != 0 && dir == BP_TO_BROKER)
		bp_mqtt_suspicious(in, f, view.violations);
	count_publish(in, f, &p);
	if (next == BP_POLICY_BLANKED)
		note_blanked(in, f, dir, &p);
	else
		bp_tally(in, BP_C_MATCH_NONE);
	return BP_PUBLISH_SKIP;
}
