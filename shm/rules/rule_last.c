/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/rule_last.h"

#include <math.h>
#include <string.h>

/*
 * A word is BP_STATE_HOLDING and 62 bits: the monotonic time, or the value without the lowest two
 * bits of its fraction. Values are compared in this form, so that an equal value never differs.
 */
static uint64_t time_word(uint64_t ns)
{
	return BP_STATE_HOLDING | (ns & BP_STATE_LOW);
}

static uint64_t value_word(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return BP_STATE_HOLDING | bits >> 2;
}

static double value_of(uint64_t word)
{
	const uint64_t bits = word << 2; /* drops the mark, too */
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool quiet_at(const struct bp_rule *rule, uint64_t word, uint64_t now_ns)
{
	return word != 0 &&
	       bp_state_elapsed(word & BP_STATE_LOW, now_ns & BP_STATE_LOW) < rule->quiet_ns;
}

bool bp_rule_last_time(const struct bp_rule_state *table, uint64_t len, const struct bp_rule *rule,
	uint64_t topic_hash, uint64_t *ns)
{
	uint64_t word;

	if (rule->quiet_ns == 0 ||
		bp_state_peek(table, len, bp_state_key(rule->uid, topic_hash, BP_STATE_LAST_TIME),
			&word) == NULL)
		return false;
	*ns = word & BP_STATE_LOW;
	return true;
}

bool bp_rule_is_quiet(const struct bp_rule_state *table, uint64_t len, const struct bp_rule *rule,
	uint64_t topic_hash, uint64_t now_ns)
{
	uint64_t ns;

	return bp_rule_last_time(table, len, rule, topic_hash, &ns) &&
	       quiet_at(rule, time_word(ns), now_ns);
}

struct last_change {
	struct bp_state_change c; /* first */
	const struct bp_rule *rule;
	double value;
	bool taken; /* result of take_*() */
};

static uint64_t set_time(struct bp_state_change *c, uint64_t word)
{
	(void)word;
	return time_word(c->now_ns);
}

static uint64_t set_value(struct bp_state_change *c, uint64_t word)
{
	(void)word;
	return value_word(((struct last_change *)c)->value);
}

static uint64_t set_none(struct bp_state_change *c, uint64_t word)
{
	(void)c;
	(void)word;
	return 0;
}

static uint64_t expire_time(struct bp_state_change *c, uint64_t word)
{
	return quiet_at(((struct last_change *)c)->rule, word, c->now_ns) ? word : 0;
}

static uint64_t take_time(struct bp_state_change *c, uint64_t word)
{
	struct last_change *l = (struct last_change *)c;

	l->taken = !quiet_at(l->rule, word, c->now_ns);
	return l->taken ? time_word(c->now_ns) : word;
}

static bool within_deadband(const struct bp_rule *rule, uint64_t word, double value)
{
	return word != 0 && fabs(value_of(value_word(value)) - value_of(word)) <= rule->deadband;
}

static uint64_t take_value(struct bp_state_change *c, uint64_t word)
{
	struct last_change *l = (struct last_change *)c;

	l->taken = !within_deadband(l->rule, word, l->value);
	return l->taken ? value_word(l->value) : word;
}

/* Changes one entry; returns what take_*() has decided. */
static bool change(struct bp_rule_last *l, enum bp_state_kind kind,
	uint64_t (*next)(struct bp_state_change *c, uint64_t word))
{
	struct last_change x = {.c = *l->state, .rule = l->rule, .value = l->value, .taken = true};

	x.c.next = next;
	x.c.key = bp_state_key(l->rule->uid, l->topic_hash, kind);
	x.c.undo = l->undo;
	/* the first record that no other change has used */
	while (x.c.undo != NULL && x.c.undo->entry != UINT64_MAX)
		x.c.undo++;
	if (!bp_state_change(&x.c))
		x.taken = true; /* as if nothing were stored */
	if (l->loss < x.c.loss)
		l->loss = x.c.loss;
	return x.taken;
}

void bp_rule_last_raise(struct bp_rule_last *l)
{
	if (l->rule->quiet_ns != 0)
		change(l, BP_STATE_LAST_TIME, set_time);
	if (l->rule->deadband != 0)
		change(l, BP_STATE_LAST_VALUE, set_value);
}

bool bp_rule_last_repeat(struct bp_rule_last *l)
{
	const struct bp_state_change *c = l->state;
	uint64_t word;

	/* first without a change: the quiet time begins only with an alarm that is sent */
	if (l->rule->deadband != 0 &&
		bp_state_peek(c->table, c->len,
			bp_state_key(l->rule->uid, l->topic_hash, BP_STATE_LAST_VALUE),
			&word) != NULL &&
		within_deadband(l->rule, word, l->value))
		return false;
	if (l->rule->quiet_ns != 0 && !change(l, BP_STATE_LAST_TIME, take_time))
		return false;
	return l->rule->deadband == 0 || change(l, BP_STATE_LAST_VALUE, take_value);
}

void bp_rule_last_clear(struct bp_rule_last *l, bool sent)
{
	if (l->rule->quiet_ns != 0)
		change(l, BP_STATE_LAST_TIME, sent ? set_time : expire_time);
	if (l->rule->deadband != 0)
		change(l, BP_STATE_LAST_VALUE, set_none);
}

void bp_rule_last_other(struct bp_rule_last *l)
{
	if (l->rule->quiet_ns != 0)
		change(l, BP_STATE_LAST_TIME, set_time);
	if (l->rule->deadband != 0)
		change(l, BP_STATE_LAST_VALUE, set_none);
}

void bp_rule_last_expire(struct bp_rule_last *l)
{
	uint64_t ns;

	if (bp_rule_last_time(l->state->table, l->state->len, l->rule, l->topic_hash, &ns))
		change(l, BP_STATE_LAST_TIME, expire_time);
}
