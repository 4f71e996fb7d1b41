/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a pair of rule and topic: what values lead to, and the table. */
#include "tests/unit/shm/rules/rule_state_steps.h"

/* --- what values lead to ------------------------------------------------------------------ */

/* A story: values at times, and for each the verdict: '.' nothing, 'R' raised, 'C' cleared. */
struct step {
	double value;
	uint64_t at; /* ns after the start */
	char verdict;
};

static void tell(const struct bp_rule *rule, const struct step *steps, unsigned n, uint64_t start)
{
	struct bp_rule_state *t = table_new(16);

	for (unsigned i = 0; i < n; i++) {
		bool evicted = true;
		const enum bp_verdict v =
			evaluate(t, 16, rule, 99, steps[i].value, start + steps[i].at, &evicted);

		if (v != (steps[i].verdict == 'R'          ? BP_VERDICT_RAISED
				 : steps[i].verdict == 'C' ? BP_VERDICT_CLEARED
							   : BP_VERDICT_NOTHING))
			fail_msg("step %u: verdict %d, not %c", i, v, steps[i].verdict);
		assert_false(evicted);
	}
	free(t);
}

#define TELL(rule, ...)                                                                            \
	do {                                                                                       \
		const struct step s_[] = {__VA_ARGS__};                                            \
		finish(rule);                                                                      \
		tell(rule, s_, sizeof(s_) / sizeof(s_[0]), 1000);                                  \
		tell(rule, s_, sizeof(s_) / sizeof(s_[0]), 1700000000ull * SECOND);                \
	} while (0)

static void every_value_over_the_threshold(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(4);
	bool evicted = true;

	TELL(&r, {79, 0, '.'}, {80, 1, '.'}, {80.5, 2, 'R'}, {90, 3, 'R'}, {1, 4, '.'},
		{81, 5, 'R'});
	assert_int_equal(r.stateful, 0);
	assert_int_equal(evaluate(t, 4, &r, 1, 81, 1, &evicted), BP_VERDICT_RAISED);
	assert_false(evicted);
	assert_int_equal(entries(t, 4), 0); /* never touches the table */
	free(t);
}

static void on_change_reports_both_edges(void **state)
{
	struct bp_rule r = rule_new();

	r.repeat = BP_REPEAT_ON_CHANGE;
	TELL(&r, {79, 0, '.'}, {81, 1, 'R'}, {82, 2, '.'}, {99, 3, '.'}, {80, 4, 'C'}, {1, 5, '.'},
		{81, 6, 'R'}, {80, 7, 'C'});
}

static void hysteresis_with_every(void **state)
{
	struct bp_rule r = rule_new();

	r.has_clear = 1;
	r.clear = (struct bp_condition){BP_COND_LT, 75, 0};
	TELL(&r, {74, 0, '.'}, {78, 1, '.'}, {81, 2, 'R'}, {78, 3, '.'}, {82, 4, 'R'}, {75, 5, '.'},
		{74.9, 6, 'C'}, {74, 7, '.'}, {78, 8, '.'}, {81, 9, 'R'});
}

static void hysteresis_with_on_change(void **state)
{
	struct bp_rule r = rule_new();

	r.has_clear = 1;
	r.clear = (struct bp_condition){BP_COND_LT, 75, 0};
	r.repeat = BP_REPEAT_ON_CHANGE;
	TELL(&r, {81, 0, 'R'}, {82, 1, '.'}, {78, 2, '.'}, {81, 3, '.'}, {74, 4, 'C'}, {78, 5, '.'},
		{81, 6, 'R'});
}

static void a_value_that_is_both_counts_as_raise(void **state)
{
	struct bp_rule r = rule_new();

	r.has_clear = 1;
	r.clear = (struct bp_condition){BP_COND_LT, 100, 0};
	r.repeat = BP_REPEAT_ON_CHANGE;
	TELL(&r, {90, 0, 'R'}, {90, 1, '.'}, {80, 2, 'C'}, {90, 3, 'R'});
}

/* What another gateway raises or clears, and at which number. */
static void adopts_states(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(4);
	struct bp_rule_state_view v;
	uint64_t transition = 500;
	enum bp_state_loss loss;

	(void)state;
	r.has_clear = 1;
	r.clear = (struct bp_condition){BP_COND_LT, 75, 0};
	r.repeat = BP_REPEAT_ON_CHANGE;
	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	finish(&r);
#define ADOPT(verdict_, n_)                                                                        \
	assert_int_equal(bp_rule_state_adopt(t, 4, &r, 1, verdict_, n_, 9), BP_STATE_NO_LOSS)
	/* in place of a hold in progress */
	assert_int_equal(
		bp_rule_evaluate(t, 4, &r, 1, 7, 81, 1, &transition, &loss), BP_VERDICT_NOTHING);
	ADOPT(BP_VERDICT_RAISED, 300);
	assert_true(bp_rule_state_find(t, 4, &r, 1, &v));
	assert_true(v.raised);
	assert_int_equal(v.since_ns, 300 << BP_TRANSITION_SHIFT);
	/* of two raises the lower number; a clear of an earlier one changes nothing */
	ADOPT(BP_VERDICT_RAISED, 400);
	ADOPT(BP_VERDICT_RAISED, 200);
	ADOPT(BP_VERDICT_CLEARED, 199);
	assert_int_equal(entries(t, 4), 1);
	assert_int_equal(
		bp_rule_evaluate(t, 4, &r, 1, 7, 90, 10, &transition, &loss), BP_VERDICT_NOTHING);
	assert_int_equal(
		bp_rule_evaluate(t, 4, &r, 1, 7, 70, 11, &transition, &loss), BP_VERDICT_CLEARED);
	assert_int_equal(transition, 200);
	assert_int_equal(entries(t, 4), 0);
	ADOPT(BP_VERDICT_RAISED, 600);
	ADOPT(BP_VERDICT_CLEARED, 600);
	ADOPT(BP_VERDICT_CLEARED, 600);
	assert_int_equal(entries(t, 4), 0);
	/* a hold in progress is no raise */
	assert_int_equal(
		bp_rule_evaluate(t, 4, &r, 1, 7, 81, 12, &transition, &loss), BP_VERDICT_NOTHING);
	ADOPT(BP_VERDICT_CLEARED, 700);
	assert_true(bp_rule_state_find(t, 4, &r, 1, &v));
	assert_true(v.holding);
#undef ADOPT
	free(t);
}

static void n_in_a_row(void **state)
{
	struct bp_rule r = rule_new();

	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	TELL(&r, {81, 0, '.'}, {81, 1, '.'}, {80, 2, '.'}, /* the row is broken */
		{81, 3, '.'}, {81, 4, '.'}, {81, 5, 'R'}, {81, 6, 'R'}, {80, 7, '.'}, {81, 8, '.'},
		{81, 9, '.'}, {81, 10, 'R'});
	r.repeat = BP_REPEAT_ON_CHANGE;
	TELL(&r, {81, 0, '.'}, {81, 1, '.'}, {81, 2, 'R'}, {81, 3, '.'}, {80, 4, 'C'}, {80, 5, '.'},
		{81, 6, '.'}, {81, 7, '.'}, {81, 8, 'R'});
}

static void n_in_a_row_with_hysteresis(void **state)
{
	struct bp_rule r = rule_new();

	r.hold = BP_HOLD_COUNT;
	r.hold_count = 2;
	r.has_clear = 1;
	r.clear = (struct bp_condition){BP_COND_LT, 75, 0};
	/* between the two conditions: breaks a row, does not clear */
	TELL(&r, {81, 0, '.'}, {78, 1, '.'}, {81, 2, '.'}, {81, 3, 'R'}, {78, 4, '.'}, {81, 5, 'R'},
		{74, 6, 'C'}, {81, 7, '.'}, {81, 8, 'R'});
}

static void for_a_time(void **state)
{
	struct bp_rule r = rule_new();

	r.hold = BP_HOLD_TIME;
	r.hold_ns = 5 * SECOND;
	TELL(&r, {81, 0, '.'}, {81, 5 * SECOND - 1, '.'}, {81, 5 * SECOND, 'R'},
		{81, 6 * SECOND, 'R'}, {80, 7 * SECOND, '.'}, {81, 8 * SECOND, '.'},
		{81, 12 * SECOND, '.'}, {80, 13 * SECOND - 1, '.'}, {81, 13 * SECOND, '.'},
		{81, 18 * SECOND, 'R'});
	r.repeat = BP_REPEAT_ON_CHANGE;
	TELL(&r, {81, 0, '.'}, {81, 9 * SECOND, 'R'}, {81, 10 * SECOND, '.'},
		{1, 10 * SECOND, 'C'});
	r.hold_ns = 1;
	TELL(&r, {81, 0, '.'}, {81, 0, '.'}, {81, 1, 'R'});
	r.hold_ns = 1ull << 61; /* longer than any hold time */
	TELL(&r, {81, 0, '.'}, {81, 1ull << 60, '.'});
}

static void a_clock_a_little_behind_does_not_raise(void **state)
{
	struct bp_rule r = rule_new();

	r.hold = BP_HOLD_TIME;
	r.hold_ns = 10;
	/* another worker's walk began earlier */
	TELL(&r, {81, 100, '.'}, {81, 95, '.'}, {81, 109, '.'}, {81, 110, 'R'});
}

static void a_start_from_another_boot_is_forgotten(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(4);
	bool evicted;

	r.hold = BP_HOLD_TIME;
	r.hold_ns = 10;
	finish(&r);
	assert_int_equal(evaluate(t, 4, &r, 1, 81, 1000 * SECOND, &evicted), BP_VERDICT_NOTHING);
	assert_int_equal(evaluate(t, 4, &r, 1, 81, 5 * SECOND, &evicted), BP_VERDICT_NOTHING);
	assert_int_equal(evaluate(t, 4, &r, 1, 81, 5 * SECOND + 9, &evicted), BP_VERDICT_NOTHING);
	assert_int_equal(evaluate(t, 4, &r, 1, 81, 5 * SECOND + 10, &evicted), BP_VERDICT_RAISED);
	free(t);
}

/* --- the table --------------------------------------------------------------------------- */

static void length_is_a_power_of_two_with_headroom(void **state)
{
	const uint32_t n[] = {0, 1, 2, 3, 1000, 65536, UINT32_MAX};

	for (unsigned i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		const uint64_t len = bp_rule_state_len(n[i]);

		assert_int_equal(len & (len - 1), 0);
		assert_int_equal(len % BP_RULE_STATE_WAYS, 0);
		assert_true(len > n[i]);
	}
}

static void idle_pairs_use_no_capacity(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(64);
	bool evicted;

	r.repeat = BP_REPEAT_ON_CHANGE;
	finish(&r);
	for (uint64_t topic = 0; topic < 1000; topic++) {
		evaluate(t, 64, &r, topic, 20, topic, &evicted);
		assert_false(evicted);
	}
	assert_int_equal(entries(t, 64), 0);
	evaluate(t, 64, &r, 5, 90, 1, &evicted);
	assert_int_equal(entries(t, 64), 1);
	evaluate(t, 64, &r, 5, 20, 2, &evicted);
	assert_int_equal(entries(t, 64), 0);
	free(t);
}

static void pairs_have_separate_states(void **state)
{
	struct bp_rule a = rule_new(), b = rule_new();
	struct bp_rule_state *t = table_new(64);
	bool evicted;

	b.uid++;
	a.repeat = b.repeat = BP_REPEAT_ON_CHANGE;
	finish(&a);
	finish(&b);
	assert_int_equal(evaluate(t, 64, &a, 1, 90, 1, &evicted), BP_VERDICT_RAISED);
	assert_int_equal(evaluate(t, 64, &a, 2, 90, 1, &evicted), BP_VERDICT_RAISED);
	assert_int_equal(evaluate(t, 64, &b, 1, 90, 1, &evicted), BP_VERDICT_RAISED);
	assert_int_equal(evaluate(t, 64, &a, 1, 90, 1, &evicted), BP_VERDICT_NOTHING);
	assert_int_equal(evaluate(t, 64, &a, 2, 10, 1, &evicted), BP_VERDICT_CLEARED);
	assert_int_equal(evaluate(t, 64, &b, 1, 90, 1, &evicted), BP_VERDICT_NOTHING);
	free(t);
}

static void full_bucket_evicts_lru(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(4);
	bool evicted;

	r.repeat = BP_REPEAT_ON_CHANGE;
	finish(&r);
	for (uint64_t topic = 1; topic <= 4; topic++) {
		assert_int_equal(evaluate(t, 4, &r, topic, 90, topic, &evicted), BP_VERDICT_RAISED);
		assert_false(evicted);
	}
	evaluate(t, 4, &r, 1, 90, 10, &evicted); /* used again: 2 is the oldest now */
	evaluate(t, 4, &r, 2, 20, 11, &evicted); /* cleared: its room is free */
	assert_int_equal(evaluate(t, 4, &r, 5, 90, 12, &evicted), BP_VERDICT_RAISED);
	assert_false(evicted);
	assert_int_equal(evaluate(t, 4, &r, 6, 90, 13, &evicted), BP_VERDICT_RAISED);
	assert_true(evicted); /* 3 went */
	for (uint64_t topic = 1; topic <= 6; topic++) {
		if (topic == 2 || topic == 3)
			continue;
		assert_int_equal(evaluate(t, 4, &r, topic, 90, 14, &evicted), BP_VERDICT_NOTHING);
		assert_false(evicted);
	}
	assert_int_equal(evaluate(t, 4, &r, 3, 20, 15, &evicted), BP_VERDICT_NOTHING);
	free(t);
}

static void entry_of_another_boot_is_evicted_first(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(4);
	bool evicted;

	r.repeat = BP_REPEAT_ON_CHANGE;
	finish(&r);
	evaluate(t, 4, &r, 1, 90, 1000000 * SECOND, &evicted);
	for (uint64_t topic = 2; topic <= 5; topic++)
		evaluate(t, 4, &r, topic, 90, topic, &evicted);
	assert_true(evicted);
	for (uint64_t topic = 2; topic <= 5; topic++)
		assert_int_equal(evaluate(t, 4, &r, topic, 90, 10, &evicted), BP_VERDICT_NOTHING);
	free(t);
}

static void claim_of_an_ended_worker_is_no_state(void **state)
{
	struct bp_rule r = rule_new();
	struct bp_rule_state *t = table_new(4);
	bool evicted;
	uint64_t key;

	r.repeat = BP_REPEAT_ON_CHANGE;
	finish(&r);
	evaluate(t, 4, &r, 1, 90, 1, &evicted);
	key = t[0].key;
	t[0].word = RAISED | HOLDING | 12345;
	assert_int_equal(evaluate(t, 4, &r, 1, 20, 2, &evicted), BP_VERDICT_NOTHING);
	assert_int_equal(entries(t, 4), 0);
	/* two claims: one is used, the other goes */
	for (unsigned i = 1; i < 3; i++) {
		t[i].key = key;
		t[i].word = RAISED | HOLDING | i;
	}
	assert_int_equal(evaluate(t, 4, &r, 1, 90, 3, &evicted), BP_VERDICT_RAISED);
	assert_int_equal(entries(t, 4), 1);
	assert_int_equal(evaluate(t, 4, &r, 1, 90, 4, &evicted), BP_VERDICT_NOTHING);
	/* a claim next to the state changes nothing */
	t[0].key = key;
	t[0].word = RAISED | HOLDING | 7;
	assert_int_equal(evaluate(t, 4, &r, 1, 90, 5, &evicted), BP_VERDICT_NOTHING);
	assert_int_equal(evaluate(t, 4, &r, 1, 20, 6, &evicted), BP_VERDICT_CLEARED);
	free(t);
}

/* --- a model: one plain struct a pair ------------------------------------------------------ */

struct model {
	bool raised, holding;
	uint32_t count;
	uint64_t since;
};

static enum bp_verdict model_judge(const struct bp_rule *r, struct model *m, double v, uint64_t now)
{
	const bool raise = bp_condition_holds(&r->raise, v);

	if (m->raised) {
		if (raise)
			return r->repeat == BP_REPEAT_EVERY ? BP_VERDICT_RAISED
							    : BP_VERDICT_NOTHING;
		if (r->has_clear && !bp_condition_holds(&r->clear, v))
			return BP_VERDICT_NOTHING;
		memset(m, 0, sizeof(*m));
		return r->has_clear || r->repeat == BP_REPEAT_ON_CHANGE ? BP_VERDICT_CLEARED
									: BP_VERDICT_NOTHING;
	}
	if (!raise) {
		memset(m, 0, sizeof(*m));
		return BP_VERDICT_NOTHING;
	}
	if (!m->holding)
		m->since = now;
	m->holding = true;
	m->count++;
	m->raised = r->hold == BP_HOLD_NONE ||
		    (r->hold == BP_HOLD_COUNT && m->count >= r->hold_count) ||
		    (r->hold == BP_HOLD_TIME && now - m->since >= r->hold_ns);
	return m->raised ? BP_VERDICT_RAISED : BP_VERDICT_NOTHING;
}

static void random_values_against_the_model(void **state)
{
	enum { TOPICS = 200 };
	uint64_t seed = 8;

	for (unsigned kind = 0; kind < 12; kind++) {
		struct bp_rule_state *t = table_new(4096);
		struct model *m = calloc(TOPICS, sizeof(*m));
		struct bp_rule r = rule_new();
		unsigned told = 0;
		bool evicted;

		r.has_clear = kind & 1;
		r.clear = (struct bp_condition){BP_COND_LT, 60, 0};
		r.repeat = kind >> 1 & 1;
		r.hold = (uint8_t)(kind >> 2);
		r.hold_count = 3;
		r.hold_ns = 1000;
		finish(&r);
		for (uint64_t now = 1; now < 60000; now++) {
			const uint32_t topic = test_below(&seed, TOPICS);
			const double v = 50 + test_below(&seed, 80);
			enum bp_verdict got =
				evaluate(t, 4096, &r, bp_mix64(topic), v, now, &evicted);

			assert_int_equal(got, model_judge(&r, &m[topic], v, now));
			assert_false(evicted);
			told += got != BP_VERDICT_NOTHING;
		}
		assert_true(told > 100);
		free(t);
		free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_over_the_threshold),
		cmocka_unit_test(on_change_reports_both_edges),
		cmocka_unit_test(hysteresis_with_every),
		cmocka_unit_test(hysteresis_with_on_change),
		cmocka_unit_test(a_value_that_is_both_counts_as_raise),
		cmocka_unit_test(adopts_states),
		cmocka_unit_test(n_in_a_row),
		cmocka_unit_test(n_in_a_row_with_hysteresis),
		cmocka_unit_test(for_a_time),
		cmocka_unit_test(a_clock_a_little_behind_does_not_raise),
		cmocka_unit_test(a_start_from_another_boot_is_forgotten),
		cmocka_unit_test(length_is_a_power_of_two_with_headroom),
		cmocka_unit_test(idle_pairs_use_no_capacity),
		cmocka_unit_test(pairs_have_separate_states),
		cmocka_unit_test(full_bucket_evicts_lru),
		cmocka_unit_test(entry_of_another_boot_is_evicted_first),
		cmocka_unit_test(claim_of_an_ended_worker_is_no_state),
		cmocka_unit_test(random_values_against_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
