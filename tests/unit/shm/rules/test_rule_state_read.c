/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of pairs as other processes read and adopt them. */
#include "tests/unit/shm/rules/rule_state_steps.h"

static void states_are_readable_with_their_times(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(16);
	struct bp_rule_state_view v;
	bool evicted;

	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	r.repeat = BP_REPEAT_ON_CHANGE;
	finish(&r);
	assert_false(bp_rule_state_find(t, 16, &r, 99, &v));
	evaluate(t, 16, &r, 99, 81, 10 * SECOND, &evicted);
	evaluate(t, 16, &r, 99, 82.5, 11 * SECOND, &evicted);
	assert_true(bp_rule_state_find(t, 16, &r, 99, &v));
	assert_true(v.holding && !v.raised && v.hold_count == 2 && v.since_ns == 0);
	assert_true(v.value == 82.5f && v.used_ns == 11 * SECOND);
	assert_false(bp_rule_state_find(t, 16, &r, 98, &v));
	evaluate(t, 16, &r, 99, 83, 12 * SECOND, &evicted);
	evaluate(t, 16, &r, 99, 84, 20 * SECOND, &evicted);
	assert_true(bp_rule_state_find(t, 16, &r, 99, &v));
	assert_true(v.raised && !v.holding && v.since_ns == (12 * SECOND >> 14 << 14) &&
		    v.hold_count == 0);
	assert_true(v.value == 84 && v.used_ns == 20 * SECOND);
	/* the raise is not repeated although the time of the raise is in the word */
	assert_int_equal(evaluate(t, 16, &r, 99, 85, 21 * SECOND, &evicted), BP_VERDICT_NOTHING);
	assert_int_equal(evaluate(t, 16, &r, 99, 70, 22 * SECOND, &evicted), BP_VERDICT_CLEARED);
	assert_false(bp_rule_state_find(t, 16, &r, 99, &v));
	r.hold = BP_HOLD_TIME;
	r.hold_ns = 5 * SECOND;
	evaluate(t, 16, &r, 99, 81, 30 * SECOND, &evicted);
	evaluate(t, 16, &r, 99, 81, 33 * SECOND, &evicted);
	assert_true(bp_rule_state_find(t, 16, &r, 99, &v));
	assert_true(v.holding && v.since_ns == 30 * SECOND && v.used_ns == 33 * SECOND);
	/* a stateless rule has none, whatever the table has */
	r.stateful = false;
	assert_false(bp_rule_state_find(t, 16, &r, 99, &v));
	free(t);
}

/* A raise has the number that it began with until it is cleared. */
static void a_transition_keeps_its_number(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(16);
	static const struct {
		double value;
		uint64_t given, number;
		enum bp_verdict verdict;
	} step[] = {
		{81, 100, 100, BP_VERDICT_RAISED},  /* begins */
		{82, 101, 100, BP_VERDICT_RAISED},  /* repeats */
		{75, 102, 100, BP_VERDICT_CLEARED}, /* ends */
		{83, 103, 103, BP_VERDICT_RAISED},
		{70, 104, 103, BP_VERDICT_CLEARED},
	};

	(void)state;
	r.has_clear = true;
	r.clear = (struct bp_condition){BP_COND_LT, 78, 0};
	finish(&r);
	for (unsigned i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		uint64_t number = step[i].given;
		enum bp_state_loss loss;

		assert_int_equal(bp_rule_evaluate(t, 16, &r, 99, 7, step[i].value, i * SECOND,
					 &number, &loss),
			step[i].verdict);
		assert_int_equal(number, step[i].number);
	}
	free(t);
}

/* Numbers rise with the clock, and also when it stands still or steps back. */
static void numbers_of_transitions_rise(void **state)
{
	uint64_t last = 0;

	(void)state;
	last = bp_transition_next(1000000000u, last);
	assert_int_equal(last, 1000000000u >> BP_TRANSITION_SHIFT);
	assert_int_equal(bp_transition_next(1000000000u, last), last + 1);
	assert_int_equal(bp_transition_next(5, last + 1), last + 2);
	assert_true(bp_transition_next(2000000000u, last) == 2000000000u >> BP_TRANSITION_SHIFT);
}

/* A claim is in progress, and is no state; any other word is read without harm. */
static void claims_are_not_read_as_states(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(16);
	struct bp_rule_state_view v;
	uint64_t random = 3;
	bool evicted;

	r.has_clear = true;
	finish(&r);
	evaluate(t, 16, &r, 99, 81, SECOND, &evicted);
	for (unsigned i = 0; i < 16; i++)
		if (t[i].key != 0)
			t[i].word |= RAISED | HOLDING;
	assert_false(bp_rule_state_find(t, 16, &r, 99, &v));
	for (unsigned n = 0; n < 1000; n++) {
		for (uint64_t i = 0; i < 16 * sizeof(*t) / 8; i++)
			((uint64_t *)(void *)t)[i] = test_random(&random);
		bp_rule_state_find(t, 16, &r, n, &v);
	}
	free(t);
}

static bool read_true(struct bp_rule_reading *r, double *value)
{
	(void)r;
	*value = 1;
	return true;
}

/* A raise is undone, although another worker has evaluated the pair since; that leaves no undo. */
static void undo_of_a_raise_with_evaluations(void **state)
{
	struct bp_rule_reading reading = {.read = read_true, .shared = true};
	struct bp_rule_state *table = table_new(4);
	struct bp_rule_undo raise = {.entry = UINT64_MAX}, other = {.entry = UINT64_MAX};
	struct bp_rule rule = rule_new();
	struct bp_rule_state_view v;
	enum bp_state_loss loss;
	uint64_t transition = 7;

	(void)state;
	rule.raise = (struct bp_condition){.op = BP_COND_GE, .a = 1};
	rule.repeat = BP_REPEAT_ON_CHANGE;
	rule.stateful = 1;
	assert_int_equal(bp_rule_evaluate_reading(
				 table, 4, &rule, 5, 1, &reading, 1000, &transition, &loss, &raise),
		BP_VERDICT_RAISED);
	assert_int_equal(bp_rule_evaluate_reading(
				 table, 4, &rule, 5, 1, &reading, 1001, &transition, &loss, &other),
		BP_VERDICT_NOTHING);
	assert_true(other.entry == UINT64_MAX);
	assert_true(bp_rule_state_find(table, 4, &rule, 5, &v) && v.raised);
	bp_rule_undo(table, 4, &raise);
	assert_false(bp_rule_state_find(table, 4, &rule, 5, &v) && v.raised);
	free(table);
}

/* While this evaluation reads its value, another one overtakes it, and the raise is adopted again,
 * as after a reload: the older value is read again. */
struct overtaken {
	struct bp_rule_reading reading; /* first */
	struct bp_rule_state *table;
	const struct bp_rule *rule;
	unsigned reads;
};

static bool read_overtaken(struct bp_rule_reading *r, double *value)
{
	struct bp_rule_reading other = {.read = read_true, .shared = true};
	struct overtaken *o = (struct overtaken *)r;
	enum bp_state_loss loss;
	uint64_t transition = 7;

	*value = o->reads++ == 0 ? 0 : 1;
	if (o->reads > 1)
		return true;
	bp_rule_evaluate_reading(
		o->table, 4, o->rule, 5, 1, &other, 1001, &transition, &loss, NULL);
	(void)bp_rule_state_adopt(o->table, 4, o->rule, 5, BP_VERDICT_RAISED, 7, 1002);
	return true;
}

static void adoption_keeps_the_count_of_evaluations(void **state)
{
	struct bp_rule_reading first = {.read = read_true, .shared = true};
	struct bp_rule_state *table = table_new(4);
	struct bp_rule rule = rule_new();
	struct overtaken o = {
		.reading = {.read = read_overtaken, .shared = true}, .table = table, .rule = &rule};
	enum bp_state_loss loss;
	uint64_t transition = 7;

	(void)state;
	rule.raise = (struct bp_condition){.op = BP_COND_GE, .a = 1};
	rule.repeat = BP_REPEAT_ON_CHANGE;
	rule.stateful = 1;
	bp_rule_evaluate_reading(table, 4, &rule, 5, 1, &first, 1000, &transition, &loss, NULL);
	assert_int_equal(bp_rule_evaluate_reading(
				 table, 4, &rule, 5, 1, &o.reading, 1003, &transition, &loss, NULL),
		BP_VERDICT_NOTHING);
	assert_int_equal(o.reads, 2);
	free(table);
}

/* What a gateway of a fleet shares of a value's evaluation. */
static bool hold_after(struct bp_rule_state *t, const struct bp_rule *rule, double value,
	uint64_t now_ns, uint64_t *hold)
{
	struct bp_rule_undo undo[BP_RULE_UNDOS_MAX] = {
		{.entry = UINT64_MAX}, {.entry = UINT64_MAX}, {.entry = UINT64_MAX}};
	uint64_t transition = bp_transition_next(now_ns, 0);
	enum bp_state_loss loss;

	(void)bp_rule_evaluate_undo(t, 16, rule, 1, 7, value, now_ns, &transition, &loss, undo);
	return bp_rule_hold_changed(rule, undo, 1, now_ns, hold);
}

static void changes_of_a_hold(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(16);
	uint64_t hold = 99;

	(void)state;
	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	r.repeat = BP_REPEAT_ON_CHANGE;
	finish(&r);
	assert_false(hold_after(t, &r, 1, SECOND, &hold));
	assert_true(hold_after(t, &r, 90, SECOND, &hold) && hold == 1);
	assert_true(hold_after(t, &r, 90, SECOND, &hold) && hold == 2);
	assert_true(hold_after(t, &r, 1, SECOND, &hold) && hold == 0);
	hold_after(t, &r, 90, SECOND, &hold);
	hold_after(t, &r, 90, SECOND, &hold);
	/* the raise is shared, so the hold has ended */
	assert_true(hold_after(t, &r, 90, SECOND, &hold) && hold == 0);
	assert_false(hold_after(t, &r, 90, SECOND, &hold));
	assert_true(hold_after(t, &r, 1, SECOND, &hold) && hold == 0);
	/* with a quiet time, records are also those of the last alarm: not a hold */
	r.stateful |= BP_RULE_HAS_LAST;
	r.repeat = BP_REPEAT_EVERY;
	r.quiet_ns = SECOND;
	hold_after(t, &r, 90, 5 * SECOND, &hold);
	hold_after(t, &r, 90, 5 * SECOND, &hold);
	assert_true(hold_after(t, &r, 90, 5 * SECOND, &hold) && hold == 3);
	assert_false(hold_after(t, &r, 90, 7 * SECOND, &hold));
	r.hold = BP_HOLD_NONE;
	assert_false(hold_after(t, &r, 1, 9 * SECOND, &hold));
	free(t);
}

static void adopts_holds(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(16);
	bool evicted;

	(void)state;
	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	r.has_clear = true;
	r.clear = (struct bp_condition){BP_COND_LT, 75, 0};
	finish(&r);
	assert_int_equal(bp_rule_state_adopt_hold(t, 16, &r, 1, 2, SECOND), BP_STATE_NO_LOSS);
	assert_int_equal(evaluate(t, 16, &r, 1, 90, SECOND, &evicted), BP_VERDICT_RAISED);
	/* a raised pair has no hold, and a hold of another gateway ends no alarm */
	bp_rule_state_adopt_hold(t, 16, &r, 1, 1, SECOND);
	bp_rule_state_adopt_hold(t, 16, &r, 1, 0, SECOND);
	assert_int_equal(evaluate(t, 16, &r, 1, 70, SECOND, &evicted), BP_VERDICT_CLEARED);
	assert_int_equal(entries(t, 16), 0);
	/* more than the rule needs is complete, and no more */
	bp_rule_state_adopt_hold(t, 16, &r, 1, UINT64_MAX, SECOND);
	bp_rule_state_adopt_hold(t, 16, &r, 1, 0, SECOND);
	assert_int_equal(entries(t, 16), 0);
	bp_rule_state_adopt_hold(t, 16, &r, 1, UINT64_MAX, SECOND);
	assert_int_equal(evaluate(t, 16, &r, 1, 90, SECOND, &evicted), BP_VERDICT_RAISED);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_are_readable_with_their_times),
		cmocka_unit_test(a_transition_keeps_its_number),
		cmocka_unit_test(numbers_of_transitions_rise),
		cmocka_unit_test(claims_are_not_read_as_states),
		cmocka_unit_test(undo_of_a_raise_with_evaluations),
		cmocka_unit_test(changes_of_a_hold),
		cmocka_unit_test(adopts_holds),
		cmocka_unit_test(adoption_keeps_the_count_of_evaluations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
