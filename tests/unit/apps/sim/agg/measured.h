/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_SIM_AGG_MEASURED_H
#define BP_TESTS_UNIT_APPS_SIM_AGG_MEASURED_H

#include "tests/unit/apps/sim/agg/close.h"

#include <stdbool.h>

#include "apps/sim/agg/first.h"

/* N-packets without a time-out of Poisson messages, and what a test changes of it. */
static inline struct sim_first_options poisson(enum bp_agg_format format, unsigned n, uint64_t seed)
{
	return (struct sim_first_options){.format = format,
		.messages = (uint8_t)n,
		.rate = 1e5,
		.senders = 100,
		.seed = seed};
}

/*
 * Lets `count` + 1 N-packets of the gateway's own aggregator leave, after `warm_up` others. gap:
 * the times between them, in units of the mean time between two messages; NULL: not wanted. Every
 * N-packet must hold the messages that are due.
 */
static inline struct sim_first_counts measure(
	const struct sim_first_options *o, size_t warm_up, size_t count, double *gap)
{
	uint64_t *left = malloc((count + 1) * sizeof(left[0]));
	struct sim_first *f = sim_first_new(o);
	struct sim_first_counts c;

	assert_non_null(left);
	assert_non_null(f);
	sim_first_run(f, NULL, warm_up);
	sim_first_restart_counts(f);
	sim_first_run(f, left, count + 1);
	for (size_t i = 0; gap != NULL && i < count; i++)
		gap[i] = (double)(left[i + 1] - left[i]) * o->rate / 1e9;
	c = *sim_first_counts(f);
	assert_int_equal(c.wrong, 0);
	sim_first_free(f);
	free(left);
	return c;
}

#endif
