/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of pairs that several workers change. */
#include <pthread.h>

#include "tests/unit/shm/rules/rule_state_steps.h"

#define THREADS 4
#define ROUNDS 200000u /* long enough for the threads to meet */

struct shared {
	struct bp_rule_state *table;
	uint64_t len;
	struct bp_rule rule;
	uint32_t topics;
	unsigned rounds;
	pthread_barrier_t start;
};

struct worker {
	struct shared *s;
	unsigned index;
	uint64_t raised, cleared, evicted;
};

static void run(struct shared *s, void *(*what)(void *), struct worker *w, unsigned threads)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&s->start, NULL, threads);
	for (unsigned i = 0; i < THREADS; i++)
		w[i] = (struct worker){.s = s, .index = i};
	for (unsigned i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, what, &w[i]), 0);
	for (unsigned i = 0; i < threads; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	pthread_barrier_destroy(&s->start);
}

/* The same topics with random values from all threads. */
static void *judge_random(void *arg)
{
	struct worker *w = arg;
	uint64_t seed = w->index + 1;

	pthread_barrier_wait(&w->s->start);
	for (unsigned i = 0; i < w->s->rounds; i++) {
		const uint64_t topic = bp_mix64(test_below(&seed, w->s->topics));
		const double v = test_below(&seed, 2) ? 90 : 20;
		bool evicted;
		const enum bp_verdict verdict =
			evaluate(w->s->table, w->s->len, &w->s->rule, topic, v, i, &evicted);

		w->raised += verdict == BP_VERDICT_RAISED;
		w->cleared += verdict == BP_VERDICT_CLEARED;
		w->evicted += evicted;
	}
	return NULL;
}

/* Raised and cleared alternate on every pair of rule and topic, over all evaluating threads: the
 * state at the end matches the last transition.
 */
static void turns_are_kept(unsigned threads, uint32_t topics, uint64_t len, unsigned rounds)
{
	struct shared s = {.table = table_new(len),
		.len = len,
		.rule = rule_new(),
		.topics = topics,
		.rounds = rounds};
	struct worker w[THREADS];
	uint64_t raised = 0, cleared = 0, evicted = 0, left = 0;

	s.rule.repeat = BP_REPEAT_ON_CHANGE;
	finish(&s.rule);
	run(&s, judge_random, w, threads);
	for (unsigned i = 0; i < THREADS; i++) {
		raised += w[i].raised;
		cleared += w[i].cleared;
		evicted += w[i].evicted;
	}
	for (uint64_t i = 0; i < len; i++) {
		if (s.table[i].key == 0) {
			assert_true(s.table[i].word == 0);
			continue;
		}
		/* no one died, so no claim is left, and no pair is there twice */
		assert_true((s.table[i].word & (RAISED | HOLDING)) == RAISED);
		for (uint64_t k = 0; k < i; k++)
			assert_true(s.table[k].key != s.table[i].key);
		left++;
	}
	/*
	 * A judgement that meets others in a full bucket may have to give up two states, and says
	 * so once. Alone, or on one pair, it never has to.
	 */
	assert_true(raised > 0 && raised >= cleared + evicted + left);
	if (threads == 1 || topics == 1)
		assert_true(raised == cleared + evicted + left);
	if (topics == 1)
		assert_true(evicted == 0);
	if (threads == 1 && topics > len)
		assert_true(evicted > 0);
	free(s.table);
}

static void threads_share_one_pair(void **state)
{
	turns_are_kept(THREADS, 1, 4, ROUNDS);
}

static void threads_share_one_bucket(void **state)
{
	turns_are_kept(THREADS, 4, 4, ROUNDS);
}

static void concurrent_threads_allocate(void **state)
{
	turns_are_kept(1, 12, 4, ROUNDS);
	turns_are_kept(THREADS, 12, 4, ROUNDS);
	turns_are_kept(THREADS, 100, 32, ROUNDS);
}

/* A claim that another worker made void goes at once, whenever the threads end. */
static void no_claim_is_left(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2000; n++)
		turns_are_kept(THREADS, 4, 4, 300);
}

/* Every value raises: after the hold each is reported, so the number of reports is exact. */
static void *judge_high(void *arg)
{
	struct worker *w = arg;

	pthread_barrier_wait(&w->s->start);
	for (unsigned i = 0; i < ROUNDS; i++) {
		bool evicted;

		w->raised += evaluate(w->s->table, w->s->len, &w->s->rule, 7, 90, i, &evicted) ==
			     BP_VERDICT_RAISED;
		w->evicted += evicted;
	}
	return NULL;
}

static void no_count_is_lost(void **state)
{
	struct shared s = {.table = table_new(4), .len = 4, .rule = rule_new()};
	struct worker w[THREADS];
	uint64_t raised = 0, evicted = 0;

	s.rule.hold = BP_HOLD_COUNT;
	s.rule.hold_count = THREADS * ROUNDS - 1000;
	finish(&s.rule);
	run(&s, judge_high, w, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		raised += w[i].raised;
		evicted += w[i].evicted;
	}
	/* a value that other threads have outrun too often is reported as not kept */
	assert_int_equal(raised + evicted, 1001);
	if (evicted >= 10)
		fail_msg("%lu values not kept", evicted);
	free(s.table);
}

/*
 * Each thread has pairs of its own in one small bucket, held by count. A state that went to a wrong
 * pair would show as a pair raised before its count, which no eviction can do.
 */
static void *judge_own(void *arg)
{
	struct worker *w = arg;
	uint64_t seed = w->index + 1;
	uint32_t row[3] = {0};

	pthread_barrier_wait(&w->s->start);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint32_t k = test_below(&seed, 3);
		const bool high = test_below(&seed, 6) != 0;
		bool evicted;
		const enum bp_verdict v = evaluate(w->s->table, w->s->len, &w->s->rule,
			bp_mix64(w->index * 3 + k), high ? 90 : 20, i, &evicted);

		row[k] = high ? row[k] + 1 : 0;
		if (v == BP_VERDICT_RAISED && row[k] < w->s->rule.hold_count)
			w->cleared++; /* must never be */
		w->raised += v == BP_VERDICT_RAISED;
		w->evicted += evicted;
	}
	return NULL;
}

static void state_is_kept_per_pair(void **state)
{
	struct shared s = {.table = table_new(4), .len = 4, .rule = rule_new()};
	struct worker w[THREADS];
	uint64_t raised = 0, evicted = 0;

	s.rule.hold = BP_HOLD_COUNT;
	s.rule.hold_count = 4;
	finish(&s.rule);
	run(&s, judge_own, w, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(w[i].cleared, 0);
		raised += w[i].raised;
		evicted += w[i].evicted;
	}
	assert_true(raised > 0 && evicted > 0);
	free(s.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_one_pair),
		cmocka_unit_test(threads_share_one_bucket),
		cmocka_unit_test(concurrent_threads_allocate),
		cmocka_unit_test(no_claim_is_left),
		cmocka_unit_test(no_count_is_lost),
		cmocka_unit_test(state_is_kept_per_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
