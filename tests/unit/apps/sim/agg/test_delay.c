/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/agg/measured.h"

#define PACKETS 30000

/*
 * What max_delay does, which the paper does not have: how full aggregates are and how long messages
 * wait, against the closed form of docs/performance/aggregation-models.md.
 */
static void compare(enum bp_agg_format format, unsigned n, double max_delay)
{
	struct sim_first_options o = poisson(format, n, 11 * n);
	struct sim_model_fill due;
	struct sim_first_counts c;
	uint64_t full, late;
	struct sim_first *f;

	o.max_delay_ns = (uint64_t)(max_delay * 10000);
	due = sim_model_fill(n, max_delay);
	f = sim_first_new(&o);
	assert_non_null(f);
	sim_first_run(f, NULL, PACKETS);
	c = *sim_first_counts(f);
	assert_int_equal(c.wrong, 0);
	full = atomic_load(&sim_first_stats(f)->flushed[BP_AGG_FLUSH_FULL]);
	late = atomic_load(&sim_first_stats(f)->flushed[BP_AGG_FLUSH_TIME]);
	assert_int_equal(full + late, c.packets);
	assert_close((double)c.messages / (double)c.packets, due.messages, 0.01);
	/* a nanosecond of the ten thousand that 1 is */
	assert_true(fabs((double)c.wait_ns / (double)c.messages / 10000 - due.delay) <
		    0.02 * due.delay + 0.0001);
	assert_true(fabs((double)full / (double)c.packets - due.full) < 0.01);
	/* no one waits longer, and who is cut short has waited just that long */
	assert_true(o.max_delay_ns == 0 || c.longest_ns <= o.max_delay_ns);
	assert_true(late == 0 || c.longest_ns == o.max_delay_ns);
	/* as in `biplane show aggregates` */
	assert_int_equal(atomic_load(&sim_first_stats(f)->delay_ns), c.wait_ns);
	assert_int_equal(atomic_load(&sim_first_stats(f)->aggregates), c.packets);
	assert_int_equal(atomic_load(&sim_first_stats(f)->aggregate_bytes), c.bytes);
	sim_first_free(f);
}

static void fill_and_delay(void **state)
{
	static const unsigned ns[] = {1, 2, 3, 5, 8, 64};
	static const double delays[] = {0, 0.1, 0.5, 1, 2, 5, 10, 60};

	for (unsigned i = 0; i < COUNT(ns); i++) {
		for (unsigned k = 0; k < COUNT(delays); k++)
			compare(k % 2 != 0 ? BP_AGG_FORMAT_LIN2018 : BP_AGG_FORMAT_FULL, ns[i],
				delays[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill_and_delay),
	};

	return cmocka_run_group_tests_name("agg_sim delay", tests, NULL, NULL);
}
