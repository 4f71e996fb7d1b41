/* SPDX-License-Identifier: BSD-3-Clause */
/* quiet and deadband: what depends on the last alarm of a pair. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/rule_state.h"
#include "tests/unit/shm/test.h"

#define SECOND 1000000000ull
#define LEN 64

static struct bp_rule_state table[4096] __attribute__((aligned(64)));

static void clear_table(void)
{
	memset(table, 0, sizeof(table));
}

/* Raise above 80; further settings by the test. */
static struct bp_rule rule_new(uint8_t repeat, uint64_t quiet_ns, double deadband)
{
	struct bp_rule r;

	memset(&r, 0, sizeof(r));
	r.uid = 0x1234;
	r.raise = (struct bp_condition){BP_COND_GT, 80, 0};
	r.repeat = repeat;
	r.quiet_ns = quiet_ns;
	r.deadband = deadband;
	r.stateful = 1 | (quiet_ns != 0 || deadband != 0 ? BP_RULE_HAS_LAST : 0);
	return r;
}

static void with_clear(struct bp_rule *r)
{
	r->has_clear = 1;
	r->clear = (struct bp_condition){BP_COND_LT, 75, 0};
}

static unsigned entries(uint64_t len)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < len; i++)
		n += table[i].key != 0;
	return n;
}

static enum bp_verdict evaluate(const struct bp_rule *r, double value, uint64_t now)
{
	uint64_t transition = bp_transition_next(now, 0);
	enum bp_state_loss loss;
	const enum bp_verdict v =
		bp_rule_evaluate(table, LEN, r, 99, 7, value, now, &transition, &loss);

	assert_int_equal(loss, BP_STATE_NO_LOSS);
	return v;
}

struct step {
	double value;
	uint64_t at;
	char verdict; /* '.' nothing, 'R' raised, 'C' cleared */
};

static void tell(const struct bp_rule *r, const struct step *steps, unsigned n, uint64_t start)
{
	clear_table();
	for (unsigned i = 0; i < n; i++) {
		const enum bp_verdict v = evaluate(r, steps[i].value, start + steps[i].at);

		if (v != (steps[i].verdict == 'R'          ? BP_VERDICT_RAISED
				 : steps[i].verdict == 'C' ? BP_VERDICT_CLEARED
							   : BP_VERDICT_NOTHING))
			fail_msg("step %u: verdict %d, not %c", i, v, steps[i].verdict);
	}
}

#define TELL(rule, ...)                                                                            \
	do {                                                                                       \
		const struct step s_[] = {__VA_ARGS__};                                            \
		tell(rule, s_, sizeof(s_) / sizeof(s_[0]), 0);                                     \
		tell(rule, s_, sizeof(s_) / sizeof(s_[0]), 1700000000ull * SECOND);                \
	} while (0)

static void no_raise_in_the_quiet_time(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_ON_CHANGE, 10, 0);

	(void)state;
	/* from the raise, then from the clear, which is sent immediately */
	TELL(&r, {81, 0, 'R'}, {70, 1, 'C'}, {81, 2, '.'}, {81, 10, '.'}, {81, 11, 'R'},
		{82, 12, '.'}, {70, 40, 'C'}, {70, 41, '.'}, {81, 49, '.'}, {70, 50, '.'},
		{81, 51, 'R'});
	/* the pair is unseen again when the time has ended */
	TELL(&r, {81, 0, 'R'}, {70, 1, 'C'}, {70, 11, '.'});
	assert_int_equal(entries(LEN), 0);
	/* a value between the conditions is no alarm, and begins no quiet time */
	with_clear(&r);
	TELL(&r, {81, 0, 'R'}, {78, 5, '.'}, {70, 11, 'C'}, {81, 20, '.'}, {81, 21, 'R'});
}

static void no_repetition_in_the_quiet_time(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_EVERY, 10, 0);

	(void)state;
	/* without clear, the end of an alarm is not sent, so it begins no quiet time */
	TELL(&r, {81, 0, 'R'}, {82, 9, '.'}, {83, 10, 'R'}, {84, 19, '.'}, {70, 19, '.'},
		{85, 19, '.'}, {86, 20, 'R'}, {70, 25, '.'}, {86, 29, '.'}, {86, 30, 'R'});
	assert_int_equal(entries(LEN), 2);
	with_clear(&r);
	TELL(&r, {81, 0, 'R'}, {82, 10, 'R'}, {70, 11, 'C'}, {81, 20, '.'}, {82, 21, 'R'});
}

static void hold_continues_in_the_quiet_time(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_ON_CHANGE, 10, 0);

	(void)state;
	r.hold = BP_HOLD_COUNT;
	r.hold_count = 3;
	TELL(&r, {81, 0, '.'}, {81, 0, '.'}, {81, 0, 'R'}, {70, 1, 'C'}, {81, 2, '.'}, {81, 3, '.'},
		{81, 4, '.'}, {81, 5, '.'}, {81, 11, 'R'});
	/* broken within the quiet time */
	TELL(&r, {81, 0, '.'}, {81, 0, '.'}, {81, 0, 'R'}, {70, 1, 'C'}, {81, 2, '.'}, {81, 3, '.'},
		{81, 4, '.'}, {70, 5, '.'}, {81, 11, '.'}, {81, 11, '.'}, {81, 11, 'R'});
	r.hold = BP_HOLD_TIME;
	r.hold_ns = 4;
	TELL(&r, {81, 0, '.'}, {81, 4, 'R'}, {70, 5, 'C'}, {81, 6, '.'}, {81, 10, '.'},
		{81, 14, '.'}, {81, 15, 'R'});
	TELL(&r, {81, 0, '.'}, {81, 4, 'R'}, {70, 5, 'C'}, {81, 13, '.'}, {81, 15, '.'},
		{81, 17, 'R'});
}

static void repetition_differs_by_more_than_the_deadband(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_EVERY, 0, 2);

	(void)state;
	TELL(&r, {81, 0, 'R'}, {83, 1, '.'}, {83.5, 2, 'R'}, {81.5, 3, '.'}, {85.5, 4, '.'},
		{81.25, 5, 'R'}, {81.25, 6, '.'});
	assert_int_equal(entries(LEN), 2);
	/* a new raise is sent, whatever the last value was */
	TELL(&r, {81, 0, 'R'}, {80, 1, '.'}, {81, 2, 'R'}, {80, 3, '.'});
	assert_int_equal(entries(LEN), 0);
	with_clear(&r);
	TELL(&r, {81, 0, 'R'}, {78, 1, '.'}, {82, 2, '.'}, {84, 3, 'R'}, {74, 4, 'C'},
		{84, 5, 'R'});
	r.hold = BP_HOLD_COUNT;
	r.hold_count = 2;
	TELL(&r, {90, 0, '.'}, {81, 1, 'R'}, {82, 2, '.'}, {90, 3, 'R'});
	/* the whole range of doubles */
	r = rule_new(BP_REPEAT_EVERY, 0, 1e-300);
	r.raise = (struct bp_condition){BP_COND_NE, 0, 0};
	TELL(&r, {0.1, 0, 'R'}, {0.1, 1, '.'}, {-1e308, 2, 'R'}, {1.7e308, 3, 'R'},
		{1.7e308, 4, '.'}, {5e-324, 5, 'R'}, {5e-324, 6, '.'}, {2e-300, 7, 'R'});
}

static void quiet_and_deadband_together(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_EVERY, 10, 2);

	(void)state;
	/* a value that is within the deadband does not begin a quiet time */
	TELL(&r, {81, 0, 'R'}, {90, 9, '.'}, {82, 10, '.'}, {90, 11, 'R'}, {81, 12, '.'},
		{81, 21, 'R'}, {70, 22, '.'}, {81, 23, '.'}, {81, 31, 'R'});
	assert_int_equal(entries(LEN), 3);
}

static void clock_of_another_boot_is_not_quiet(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_ON_CHANGE, 10 * SECOND, 0);

	(void)state;
	clear_table();
	assert_int_equal(evaluate(&r, 81, 1000 * SECOND), BP_VERDICT_RAISED);
	assert_int_equal(evaluate(&r, 70, 1000 * SECOND), BP_VERDICT_CLEARED);
	assert_int_equal(evaluate(&r, 81, 1000 * SECOND - 5), BP_VERDICT_NOTHING); /* a worker */
	assert_int_equal(evaluate(&r, 81, 3 * SECOND), BP_VERDICT_RAISED);
}

static void adopted_states_begin_a_quiet_time(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_EVERY, 10, 2);

	(void)state;
	with_clear(&r);
	clear_table();
#define ADOPT(verdict_, number_, now_)                                                             \
	assert_int_equal(bp_rule_state_adopt(table, LEN, &r, 99, verdict_, number_, now_),         \
		BP_STATE_NO_LOSS)
	ADOPT(BP_VERDICT_RAISED, 300, 5);
	assert_int_equal(evaluate(&r, 90, 14), BP_VERDICT_NOTHING);
	/* its value is not known here */
	assert_int_equal(evaluate(&r, 90, 15), BP_VERDICT_RAISED);
	/* no change: no alarm there, no quiet time here */
	ADOPT(BP_VERDICT_RAISED, 300, 20);
	assert_int_equal(evaluate(&r, 81, 25), BP_VERDICT_RAISED);
	ADOPT(BP_VERDICT_CLEARED, 300, 40);
	assert_int_equal(evaluate(&r, 81, 49), BP_VERDICT_NOTHING);
	assert_int_equal(evaluate(&r, 81, 50), BP_VERDICT_RAISED);
#undef ADOPT
}

static void view_has_the_last_alarm(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_ON_CHANGE, 10, 0);
	struct bp_rule_state_view v;

	(void)state;
	clear_table();
	assert_false(bp_rule_state_find(table, LEN, &r, 99, &v));
	evaluate(&r, 81, 1000);
	assert_true(bp_rule_state_find(table, LEN, &r, 99, &v));
	assert_true(v.raised && v.quiet && v.last_ns == 1000);
	evaluate(&r, 70, 1001);
	assert_true(bp_rule_state_find(table, LEN, &r, 99, &v));
	assert_true(!v.raised && !v.holding && v.quiet && v.last_ns == 1001);
	evaluate(&r, 70, 1011);
	assert_false(bp_rule_state_find(table, LEN, &r, 99, &v));
}

/* ---- a process that is killed between two changes ---- */

/* Keys, each with its word, in any place of the table; claims are none. */
static uint64_t digest(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LEN; i++)
		if (table[i].key != 0 && table[i].word >> 62 != 3)
			sum += bp_mix64(table[i].key ^ bp_mix64(table[i].word));
	return sum;
}

/* After any number of the changes of an evaluation, undoing them gives the states before it, and
 * the same value gives the same verdict. */
static void every_change_is_undone(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct bp_rule r = rule_new(BP_REPEAT_EVERY, round & 1 ? 5 : 0, round & 2 ? 3 : 0);

		if (round & 4)
			with_clear(&r);
		r.hold = round & 8 ? BP_HOLD_COUNT : BP_HOLD_NONE;
		r.hold_count = 2;
		clear_table();
		for (uint64_t now = 1; now < 300; now++) {
			const double value = 70 + test_below(&seed, 25);
			const uint64_t before = digest();
			enum bp_verdict verdict[2];
			enum bp_state_loss loss;

			for (unsigned again = 0; again < 2; again++) {
				struct bp_rule_undo undo[BP_RULE_UNDOS_MAX];
				uint64_t transition = now;

				for (unsigned i = 0; i < BP_RULE_UNDOS_MAX; i++)
					undo[i].entry = UINT64_MAX;
				verdict[again] = bp_rule_evaluate_undo(table, LEN, &r, 99, 7, value,
					now, &transition, &loss, undo);
				assert_true(bp_rule_undos(&r) == BP_RULE_UNDOS_MAX ||
					    undo[1].entry == UINT64_MAX);
				for (unsigned i = BP_RULE_UNDOS_MAX; again == 0 && i-- != 0;)
					bp_rule_undo(table, LEN, &undo[i]);
				if (again == 0)
					assert_true(digest() == before);
			}
			assert_int_equal(verdict[0], verdict[1]);
		}
	}
}

/* Records are few: a value that changes nothing needs none. */
static void what_does_not_change_needs_no_record(void **state)
{
	static const double value[] = {90, 90, 91, 95, 70, 70};
	static const unsigned used[] = {3, 0, 0, 2, 2, 1};
	struct bp_rule r = rule_new(BP_REPEAT_EVERY, 5, 3);

	(void)state;
	clear_table();
	for (unsigned i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		struct bp_rule_undo undo[BP_RULE_UNDOS_MAX];
		uint64_t transition = 1;
		enum bp_state_loss loss;
		unsigned n = 0;

		for (unsigned k = 0; k < BP_RULE_UNDOS_MAX; k++)
			undo[k].entry = UINT64_MAX;
		/* the quiet time has ended at the fourth value */
		bp_rule_evaluate_undo(table, LEN, &r, 99, 7, value[i], i < 3 ? 0 : 3 * i + 2,
			&transition, &loss, undo);
		while (n < BP_RULE_UNDOS_MAX && undo[n].entry != UINT64_MAX)
			n++;
		if (n != used[i])
			fail_msg("value %u: %u records, not %u", i, n, used[i]);
	}
}

/* ---- a full table ---- */

static void what_is_not_stored_suppresses_nothing(void **state)
{
	struct bp_rule r = rule_new(BP_REPEAT_EVERY, 10, 2), other;
	uint64_t transition = 1;
	enum bp_state_loss loss;
	unsigned lost = 0, raised = 0;

	(void)state;
	clear_table();
	/* one bucket, full of fresh states of two clients with half of it each */
	other = rule_new(BP_REPEAT_ON_CHANGE, 0, 0);
	for (uint64_t topic = 0; topic < 4; topic++)
		bp_rule_evaluate(table, 4, &other, topic, 100 + (uint32_t)(topic % 2), 90, 1,
			&transition, &loss);
	assert_int_equal(entries(4), 4);
	for (uint64_t now = 1; now <= 20; now++) {
		transition = now;
		raised += bp_rule_evaluate(table, 4, &r, 99, 7, 90, now, &transition, &loss) ==
			  BP_VERDICT_RAISED;
		lost += loss == BP_STATE_NOT_KEPT;
	}
	assert_int_equal(raised, 20);
	assert_int_equal(lost, 20);
	assert_int_equal(entries(4), 4);
}

/* ---- a model: one plain struct a pair ---- */

struct model {
	bool raised, holding, has_last, has_time;
	uint32_t count;
	uint64_t since, time;
	double last;
};

static enum bp_verdict model_send(struct model *m, enum bp_verdict verdict, double v, uint64_t now)
{
	m->has_time = m->has_last = true;
	m->time = now;
	m->last = v;
	return verdict;
}

static enum bp_verdict model_judge(const struct bp_rule *r, struct model *m, double v, uint64_t now)
{
	const bool quiet = m->has_time && r->quiet_ns != 0 && now - m->time < r->quiet_ns;
	const bool raise = bp_condition_holds(&r->raise, v);

	if (m->raised && raise) {
		if (r->repeat == BP_REPEAT_ON_CHANGE || quiet ||
			(r->deadband != 0 && fabs(v - m->last) <= r->deadband))
			return BP_VERDICT_NOTHING;
		return model_send(m, BP_VERDICT_RAISED, v, now);
	}
	if (m->raised) {
		if (r->has_clear && !bp_condition_holds(&r->clear, v))
			return BP_VERDICT_NOTHING;
		m->raised = m->holding = false;
		m->count = 0;
		return r->has_clear || r->repeat == BP_REPEAT_ON_CHANGE
			       ? model_send(m, BP_VERDICT_CLEARED, v, now)
			       : BP_VERDICT_NOTHING;
	}
	if (!raise) {
		m->holding = false;
		m->count = 0;
		return BP_VERDICT_NOTHING;
	}
	if (!m->holding)
		m->since = now;
	m->holding = true;
	m->count++;
	m->raised = !quiet && (r->hold == BP_HOLD_NONE ||
				      (r->hold == BP_HOLD_COUNT && m->count >= r->hold_count) ||
				      (r->hold == BP_HOLD_TIME && now - m->since >= r->hold_ns));
	return m->raised ? model_send(m, BP_VERDICT_RAISED, v, now) : BP_VERDICT_NOTHING;
}

static void random_values_against_the_model(void **state)
{
	enum { TOPICS = 30, KINDS = 2 * 2 * 3 * 3 };
	static struct model m[TOPICS];
	uint64_t seed = 9;

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct bp_rule r = rule_new(kind / 2 % 2, kind / 12 == 1 ? 0 : 900,
			kind / 2 % 2 == 0 && kind / 12 != 0 ? 6 : 0);
		unsigned told = 0;

		if (kind % 2)
			with_clear(&r);
		r.hold = (uint8_t)(kind / 4 % 3);
		r.hold_count = 3;
		r.hold_ns = 100;
		clear_table();
		memset(m, 0, sizeof(m));
		for (uint64_t now = 1; now < 60000; now++) {
			const uint32_t topic = test_below(&seed, TOPICS);
			const double v = 65 + test_below(&seed, 40);
			uint64_t transition = now;
			enum bp_state_loss loss;
			const enum bp_verdict got =
				bp_rule_evaluate(table, sizeof(table) / sizeof(table[0]), &r,
					bp_mix64(topic), 7, v, now, &transition, &loss);

			assert_int_equal(got, model_judge(&r, &m[topic], v, now));
			assert_int_equal(loss, BP_STATE_NO_LOSS);
			told += got != BP_VERDICT_NOTHING;
		}
		assert_true(told > 100);
	}
}

/* ---- several workers ---- */

#define THREADS 4

struct worker {
	const struct bp_rule *rule;
	pthread_barrier_t *barrier;
	unsigned told;
};

static void *repeat_one_value(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(w->barrier);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t transition = 1;
		enum bp_state_loss loss;

		w->told += bp_rule_evaluate(table, LEN, w->rule, 99, 7, 90, 1, &transition,
				   &loss) == BP_VERDICT_RAISED;
	}
	return NULL;
}

/* All evaluate one value at one time: the raise, and at most one repetition that overtook it. */
static void threads_send_one_alarm(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		const struct bp_rule r =
			rule_new(BP_REPEAT_EVERY, round % 2 ? 10 : 0, round % 3 == 0 ? 1 : 0);
		struct worker w[THREADS];
		pthread_t thread[THREADS];
		pthread_barrier_t barrier;
		unsigned told = 0;

		if (r.quiet_ns == 0 && r.deadband == 0)
			continue;
		clear_table();
		pthread_barrier_init(&barrier, NULL, THREADS);
		for (unsigned i = 0; i < THREADS; i++) {
			w[i] = (struct worker){&r, &barrier, 0};
			assert_int_equal(
				pthread_create(&thread[i], NULL, repeat_one_value, &w[i]), 0);
		}
		for (unsigned i = 0; i < THREADS; i++) {
			pthread_join(thread[i], NULL);
			told += w[i].told;
		}
		pthread_barrier_destroy(&barrier);
		assert_in_range(told, 1, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_raise_in_the_quiet_time),
		cmocka_unit_test(no_repetition_in_the_quiet_time),
		cmocka_unit_test(hold_continues_in_the_quiet_time),
		cmocka_unit_test(repetition_differs_by_more_than_the_deadband),
		cmocka_unit_test(quiet_and_deadband_together),
		cmocka_unit_test(clock_of_another_boot_is_not_quiet),
		cmocka_unit_test(adopted_states_begin_a_quiet_time),
		cmocka_unit_test(view_has_the_last_alarm),
		cmocka_unit_test(every_change_is_undone),
		cmocka_unit_test(what_does_not_change_needs_no_record),
		cmocka_unit_test(what_is_not_stored_suppresses_nothing),
		cmocka_unit_test(random_values_against_the_model),
		cmocka_unit_test(threads_send_one_alarm),
	};

	return cmocka_run_group_tests_name("last alarm", tests, NULL, NULL);
}
