/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/rule_state.h"

#include <stddef.h>
#include <string.h>

#include "shm/rules/rule_last.h"
#include "shm/rules/state_table.h"

#define RAISED BP_STATE_RAISED
#define HOLDING BP_STATE_HOLDING
#define LOW BP_STATE_LOW
/* Of a raised pair: the number of the transition. The bits above it count the evaluations that left
 * it raised, so that an older one that clears it fails. */
#define NUMBER (((uint64_t)1 << BP_TRANSITION_BITS) - 1)
/* Owner of states of other gateways, until a client here publishes on the topic. */
#define FLEET_CLIENT 1u

/* The word of a pair that is not raised, after a value for which `raise` holds. */
static uint64_t hold_on(const struct bp_rule *r, uint64_t word, uint64_t now_ns)
{
	const bool holding = word & HOLDING;
	uint64_t low = word & LOW;

	if (r->hold == BP_HOLD_COUNT) {
		low = (holding ? low : 0) + 1;
		return low >= r->hold_count ? RAISED : HOLDING | low;
	}
	if (r->hold == BP_HOLD_TIME) {
		const uint64_t now = now_ns & LOW;

		if (!holding || bp_state_elapsed(low, now) == UINT64_MAX)
			low = now;
		return bp_state_elapsed(low, now) >= r->hold_ns ? RAISED : HOLDING | low;
	}
	return RAISED;
}

/* The same in the quiet time of the pair: the hold remains complete until the quiet time ends. */
static uint64_t hold_on_quietly(const struct bp_rule *r, uint64_t word, uint64_t now_ns)
{
	const uint64_t next = hold_on(r, word, now_ns);

	if ((next & RAISED) == 0)
		return next;
	return r->hold == BP_HOLD_COUNT ? HOLDING | r->hold_count : word;
}

/* A value, or a state of another gateway, on its way to the state of a pair. */
struct evaluation {
	struct bp_state_change c; /* first */
	const struct bp_rule *rule;
	struct bp_rule_reading *reading; /* NULL: the value is given */
	double value;
	enum bp_verdict adopt; /* NOTHING: a value, or a hold */
	bool adopt_hold;
	uint64_t hold;            /* its word without the mark; 0: none */
	bool quiet;               /* no raise may begin */
	uint64_t next_transition; /* of a raise that begins now */
	/* results */
	uint64_t transition;
	enum bp_verdict verdict;
	bool was_raised, is_raised;
};

static uint64_t counted(const struct evaluation *v, uint64_t word)
{
	const uint64_t count = (word & LOW & ~NUMBER) + NUMBER + 1;

	return v->reading != NULL && v->reading->shared
		       ? (word & ~LOW) | (count & LOW) | (word & NUMBER)
		       : word;
}

static uint64_t word_of_value(struct evaluation *v, uint64_t word)
{
	const struct bp_rule *r = v->rule;
	const bool raise = bp_condition_holds(&r->raise, v->value);

	if (!(word & RAISED)) {
		if (!raise)
			return 0;
		word = v->quiet ? hold_on_quietly(r, word, v->c.now_ns)
				: hold_on(r, word, v->c.now_ns);
		if (word & RAISED) {
			v->verdict = BP_VERDICT_RAISED;
			word |= v->transition & NUMBER;
		}
		return word;
	}
	v->transition = word & NUMBER;
	if (raise) {
		if (r->repeat == BP_REPEAT_EVERY)
			v->verdict = BP_VERDICT_RAISED;
		return counted(v, word);
	}
	if (r->has_clear) {
		if (!bp_condition_holds(&r->clear, v->value))
			return word;
		v->verdict = BP_VERDICT_CLEARED;
	} else if (r->repeat == BP_REPEAT_ON_CHANGE) {
		v->verdict = BP_VERDICT_CLEARED;
	}
	return 0;
}

/* The word of a pair whose raise or clear another gateway has evaluated. If two gateways have
 * raised it at the same time, both continue with the lower number. The count of evaluations of the
 * same raise remains, so that an evaluation that others have overtaken still fails. */
static uint64_t word_of_other(const struct evaluation *v, uint64_t word)
{
	const bool raised = word & RAISED;

	if (v->adopt == BP_VERDICT_CLEARED)
		return raised && (word & NUMBER) <= v->transition ? 0 : word;
	return raised && (word & NUMBER) <= v->transition ? word
							  : RAISED | (v->transition & NUMBER);
}

/* Other gateways get the raise and the clear of such a rule. */
static bool is_shared(const struct bp_rule *r)
{
	return r->has_clear || r->repeat == BP_REPEAT_ON_CHANGE;
}

static uint64_t word_of_hold(const struct evaluation *v, uint64_t word)
{
	if ((word & RAISED) != 0 && (v->hold != 0 || is_shared(v->rule)))
		return word;
	return v->hold != 0 ? HOLDING | v->hold : 0;
}

static uint32_t float_bits(double value)
{
	const float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* The next word and the verdict. Writes no memory of the table. */
static uint64_t next_word(struct bp_state_change *c, uint64_t word)
{
	struct evaluation *v = (struct evaluation *)c;

	v->transition = v->next_transition;
	v->verdict = BP_VERDICT_NOTHING;
	v->was_raised = v->is_raised = word & RAISED;
	if (v->reading != NULL) {
		v->c.keeps_client = !v->reading->read(v->reading, &v->value);
		if (v->c.keeps_client)
			return word;
		v->c.value = float_bits(v->value);
	}
	if (v->adopt_hold)
		word = word_of_hold(v, word);
	else
		word = v->adopt != BP_VERDICT_NOTHING ? word_of_other(v, word)
						      : word_of_value(v, word);
	v->is_raised = word & RAISED;
	return word;
}

bool bp_rule_state_find(const struct bp_rule_state *table, uint64_t len, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_rule_state_view *v)
{
	const struct bp_rule_state *e;
	uint64_t word;
	uint32_t value;

	if (!rule->stateful)
		return false;
	memset(v, 0, sizeof(*v));
	v->quiet = bp_rule_last_time(table, len, rule, topic_hash, &v->last_ns);
	e = bp_state_peek(table, len, bp_state_key(rule->uid, topic_hash, BP_STATE_OF_PAIR), &word);
	if (e == NULL)
		return v->quiet;
	v->raised = word & RAISED;
	v->holding = word & HOLDING;
	v->used_ns = atomic_load_explicit(&e->used_ns, memory_order_relaxed);
	if (v->raised)
		v->since_ns = (word & NUMBER) << BP_TRANSITION_SHIFT;
	else if (rule->hold == BP_HOLD_COUNT)
		v->hold_count = word & LOW;
	else
		v->since_ns = word & LOW;
	value = atomic_load_explicit(&e->value, memory_order_relaxed);
	memcpy(&v->value, &value, sizeof(v->value));
	return true;
}

enum bp_verdict bp_rule_evaluate(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client, double value,
	uint64_t now_ns, uint64_t *transition, enum bp_state_loss *loss)
{
	return bp_rule_evaluate_undo(
		table, len, rule, topic_hash, client, value, now_ns, transition, loss, NULL);
}

/* What follows the change of a pair's state for its last alarm. */
static void keep_last(struct evaluation *v, uint64_t topic_hash, struct bp_rule_undo *undo)
{
	struct bp_rule_last l = {
		.rule = v->rule,
		.topic_hash = topic_hash,
		.value = v->value,
		.state = &v->c,
		.undo = undo,
	};

	if (v->adopt != BP_VERDICT_NOTHING || v->adopt_hold) {
		if (v->is_raised != v->was_raised)
			bp_rule_last_other(&l);
	} else if (v->is_raised && !v->was_raised) {
		bp_rule_last_raise(&l);
	} else if (v->verdict == BP_VERDICT_RAISED) {
		if (!bp_rule_last_repeat(&l))
			v->verdict = BP_VERDICT_NOTHING;
	} else if (v->was_raised && !v->is_raised) {
		bp_rule_last_clear(&l, v->verdict == BP_VERDICT_CLEARED);
	} else if (!v->is_raised && !v->quiet) {
		bp_rule_last_expire(&l);
	}
	if (v->c.loss < l.loss)
		v->c.loss = l.loss;
}

/* Evaluates v, of whose change the table, the clock and the client are set. */
static void evaluate(struct evaluation *v, uint64_t topic_hash, struct bp_rule_undo *undo)
{
	const struct bp_rule *rule = v->rule;
	const bool has_last = rule->stateful & BP_RULE_HAS_LAST;

	v->c.next = next_word;
	v->c.key = bp_state_key(rule->uid, topic_hash, BP_STATE_OF_PAIR);
	v->c.undo = undo;
	if (has_last)
		v->quiet = bp_rule_is_quiet(v->c.table, v->c.len, rule, topic_hash, v->c.now_ns);
	if (!bp_state_change(&v->c)) {
		next_word(&v->c, 0); /* as if the table were full */
		return;
	}
	if (has_last)
		keep_last(v, topic_hash, undo);
}

enum bp_verdict bp_rule_evaluate_undo(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client, double value,
	uint64_t now_ns, uint64_t *transition, enum bp_state_loss *loss, struct bp_rule_undo *undo)
{
	struct evaluation v = {
		.c = {.table = table,
			.len = len,
			.now_ns = now_ns,
			.client = client,
			.value = float_bits(value)},
		.rule = rule,
		.value = value,
		.next_transition = *transition,
	};

	*loss = BP_STATE_NO_LOSS;
	if (!rule->stateful)
		return bp_condition_holds(&rule->raise, value) ? BP_VERDICT_RAISED
							       : BP_VERDICT_NOTHING;
	evaluate(&v, topic_hash, undo);
	*loss = v.c.loss;
	*transition = v.transition;
	return v.verdict;
}

enum bp_verdict bp_rule_evaluate_reading(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client,
	struct bp_rule_reading *reading, uint64_t now_ns, uint64_t *transition,
	enum bp_state_loss *loss, struct bp_rule_undo *undo)
{
	struct evaluation v = {
		.c = {.table = table, .len = len, .now_ns = now_ns, .client = client},
		.rule = rule,
		.reading = reading,
		.next_transition = *transition,
	};

	evaluate(&v, topic_hash, undo);
	*loss = v.c.loss;
	*transition = v.transition;
	return v.verdict;
}

enum bp_state_loss bp_rule_state_adopt(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, enum bp_verdict verdict,
	uint64_t transition, uint64_t now_ns)
{
	struct evaluation v = {
		/* what is adopted is no value: a state that it does not change keeps its client */
		.c = {.table = table,
			.len = len,
			.now_ns = now_ns,
			.client = FLEET_CLIENT,
			.keeps_client = true},
		.rule = rule,
		.adopt = verdict,
		.next_transition = transition,
	};

	evaluate(&v, topic_hash, NULL);
	return v.c.loss;
}

enum bp_state_loss bp_rule_state_adopt_hold(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint64_t hold, uint64_t now_ns)
{
	struct evaluation v = {
		.c = {.table = table,
			.len = len,
			.now_ns = now_ns,
			.client = FLEET_CLIENT,
			.keeps_client = true},
		.rule = rule,
		.adopt_hold = true,
		.hold = hold & LOW,
	};

	/* in the quiet time a complete hold continues */
	if (rule->hold == BP_HOLD_COUNT && v.hold > rule->hold_count)
		v.hold = rule->hold_count;
	evaluate(&v, topic_hash, NULL);
	return v.c.loss;
}

bool bp_rule_hold_changed(const struct bp_rule *rule, const struct bp_rule_undo *u,
	uint64_t topic_hash, uint64_t now_ns, uint64_t *hold)
{
	const uint64_t word = u != NULL ? u->new_word : 0;

	/* the record can be of the last alarm of the pair */
	if (rule->hold == BP_HOLD_NONE || u == NULL || u->entry == UINT64_MAX ||
		u->old_key != bp_state_key(rule->uid, topic_hash, BP_STATE_OF_PAIR))
		return false;
	if ((word & RAISED) == 0)
		*hold = word & HOLDING ? word & LOW : 0;
	else if (is_shared(rule))
		*hold = 0;
	else
		*hold = rule->hold == BP_HOLD_COUNT ? rule->hold_count
						    : (now_ns - rule->hold_ns) & LOW;
	return true;
}
