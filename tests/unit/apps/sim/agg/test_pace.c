/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/agg/measured.h"

#include <string.h>

#include "services/aggregation/pacer.h"
#include "apps/sim/agg/merged.h"
#include "apps/sim/sim_random.h"

/*
 * The disaggregator's pacer as the paper's second switch: a queue with fixed service times of
 * `gap`, into which N messages come with each N-packet. Frames are numbers from 1 on.
 */
#define MESSAGES 400000u
#define GAP_NS 1000u

static uint64_t came[MESSAGES], left[MESSAGES];
static struct bp_disagg_stats stats;

static void *frame(size_t i)
{
	return (void *)(uintptr_t)(i + 1);
}

static void leaves(size_t *next, void *f, uint64_t now_ns)
{
	if (f == NULL)
		return;
	assert_int_equal((uintptr_t)f, *next + 1);
	left[(*next)++] = now_ns;
}

/* Puts came[0..count) through a pacer, releasing at the instants that it names. */
static void run(uint32_t size, size_t count)
{
	struct bp_pacer p;
	size_t next = 0;

	memset(&stats, 0, sizeof(stats));
	assert_int_equal(bp_pacer_init(&p, size, GAP_NS, &stats), 0);
	for (size_t i = 0; i <= count; i++) {
		const uint64_t now = i < count ? came[i] : UINT64_MAX - 1;

		for (uint64_t due; (due = bp_pacer_next(&p)) <= now;) {
			assert_null(due > 0 ? bp_pacer_due(&p, due - 1) : NULL);
			leaves(&next, bp_pacer_due(&p, due), due);
		}
		if (i < count)
			leaves(&next, bp_pacer_put(&p, frame(i), now), now);
	}
	assert_int_equal(next, count);
	bp_pacer_free(&p);
}

/* N-packets of the gateway's aggregator, at a load of `load` of the pacer. */
static size_t batches(unsigned n, double load, uint64_t seed)
{
	struct sim_first_options o = poisson(BP_AGG_FORMAT_FULL, n, seed);
	const size_t packets = MESSAGES / n;
	uint64_t *at = malloc(packets * sizeof(at[0]));
	struct sim_first *f;

	o.rate = 1e9 / GAP_NS * load;
	f = sim_first_new(&o);
	assert_non_null(at);
	assert_non_null(f);
	sim_first_run(f, at, packets);
	for (size_t i = 0; i < packets; i++) {
		for (unsigned j = 0; j < n; j++)
			came[i * n + j] = at[i];
	}
	sim_first_free(f);
	free(at);
	return packets * n;
}

/* To the nanosecond: Lindley's recursion. */
static void leaves_as_from_a_server(void **state)
{
	for (unsigned n = 1; n <= 8; n += 7) {
		const size_t count = batches(n, 0.8, n);
		uint64_t wait = 0, sum = 0, paced = 0;

		run(1u << 20, count);
		for (size_t i = 0; i < count; i++) {
			const uint64_t passed = i > 0 ? came[i] - came[i - 1] : UINT64_MAX;

			wait = i > 0 && wait + GAP_NS > passed ? wait + GAP_NS - passed : 0;
			assert_int_equal(left[i], came[i] + wait);
			sum += wait;
			paced += wait > 0;
		}
		assert_int_equal(atomic_load(&stats.pace_ns), sum);
		assert_true(atomic_load(&stats.paced) >= paced); /* 0 ns in the queue count too */
		assert_int_equal(atomic_load(&stats.early), 0);
		assert_int_equal(atomic_load(&stats.waiting), 0);
	}
}

/*
 * On average: what an N-packet waits in E_N/D/1 with services of N gaps, and behind that its
 * messages for each other.
 */
static void waiting_times_match_the_model(void **state)
{
	for (unsigned n = 1; n <= 8; n++) {
		const double load = 0.6;
		const size_t count = batches(n, load, 20 + n);
		double sum = 0, due;

		run(1u << 20, count);
		for (size_t i = 0; i < count; i++)
			sum += (double)(left[i] - came[i]);
		/* 1 / lambda is the unit of the model: gap / load */
		due = sim_model_wait(SIM_FIXED, n, 1 / (n * load)) * GAP_NS / load +
		      (n - 1) / 2.0 * GAP_NS;
		assert_close(sum / (double)count, due, 0.015);
	}
}

/*
 * N-packets of many streams are a Poisson process, whatever N: they wait as in M/D/1, and longer
 * than those of one stream would.
 */
static void several_streams_are_poisson(void **state)
{
	const unsigned n = 8;
	const double load = 0.5;
	struct sim_first_options o = poisson(BP_AGG_FORMAT_FULL, n, 77);
	const double queued = n * load / (2 * (1 - load)) * GAP_NS;
	double sum = 0;
	struct sim_merged m;
	size_t count;

	o.rate = 1e9 / GAP_NS * load;
	assert_int_equal(sim_merged_run(&m, &o, 256, 2560, MESSAGES / n), 0);
	assert_int_equal(m.counts.wrong, 0);
	assert_true(m.count > MESSAGES / n * 9 / 10);
	count = m.count * n;
	for (size_t i = 0; i < count; i++)
		came[i] = m.left[i / n];
	free(m.left);
	run(1u << 20, count);
	for (size_t i = 0; i < count; i++)
		sum += (double)(left[i] - came[i]);
	assert_close(sum / (double)count, queued + (n - 1) / 2.0 * GAP_NS, 0.03);
	assert_true(queued > 20 * sim_model_wait(SIM_FIXED, n, 1 / (n * load)) * GAP_NS / load);
}

/* A queue that is too short loses no message and keeps the order; messages that leave early are
 * counted. */
static void a_short_queue_leaves_early(void **state)
{
	const size_t count = batches(8, 0.8, 5);
	uint64_t most = 0;

	run(4, count);
	assert_true(atomic_load(&stats.early) > count / 10);
	for (size_t i = 0; i < count; i++) {
		const uint64_t wait = left[i] - came[i];

		most = wait > most ? wait : most;
	}
	assert_true(most <= 4 * (uint64_t)GAP_NS);
	run(1u << 20, count);
	assert_int_equal(atomic_load(&stats.early), 0);
	for (size_t i = 1; i < count; i++)
		assert_true(left[i] - left[i - 1] >= GAP_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_as_from_a_server),
		cmocka_unit_test(waiting_times_match_the_model),
		cmocka_unit_test(several_streams_are_poisson),
		cmocka_unit_test(a_short_queue_leaves_early),
	};

	return cmocka_run_group_tests_name("agg_sim pace", tests, NULL, NULL);
}
