/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_LCL_SCHEDULER_RIG_H
#define BP_TESTS_UNIT_SERVICES_LCL_SCHEDULER_RIG_H

#include "tests/unit/proto/exact.h"

#include "services/lcl/scheduler.h"

/* Common parts of random tests of the scheduler: ports of all kinds, and a model of the link. */

/* Evenly over the orders of magnitude. */
static inline uint64_t random_between(uint64_t *seed, uint64_t low, uint64_t high)
{
	uint64_t top = low;

	while (top < high && next_random(seed) % 4 != 0)
		top = top > high / 2 ? high : top * 2;
	if (next_random(seed) % 8 == 0)
		top = high;
	return low + next_random(seed) % (top - low + 1);
}

static inline struct bp_lcl_scheduler_options random_port(uint64_t *seed)
{
	struct bp_lcl_scheduler_options o = {
		.tau_ns = random_between(seed, 1000, 10000000),
		.rate_bps = random_between(seed, 10000000, 100000000000),
		.queues = 2 + (uint32_t)next_random(seed) % 63,
		.queue_frames = (uint32_t)random_between(seed, 1, 400),
		.best_effort_frames = (uint32_t)(next_random(seed) % 40),
		.best_effort_max = 1518,
	};

	if (next_random(seed) % 2)
		o.queues = 2 + (uint32_t)next_random(seed) % 4;
	/* from the machine's start, or any other time */
	if (next_random(seed) % 3 != 0)
		o.origin_ns = next_random(seed) >> 1;
	if (next_random(seed) % 2)
		o.guard_ns = next_random(seed) % (o.tau_ns / 4);
	return o;
}

/* How long a frame keeps the wire, rounded up. */
static inline uint64_t wire_ns(const struct bp_lcl_scheduler_options *o, uint32_t bytes)
{
	return ((bytes + 24) * 8000000000ull + o->rate_bps - 1) / o->rate_bps;
}

/* A rate at which that many of the longest frames last for less than tau. */
static inline void make_fast(struct bp_lcl_scheduler_options *o, uint32_t bytes, unsigned n)
{
	const uint64_t least = (bytes + 24) * 8000000000ull * n / o->tau_ns + 1;

	if (o->rate_bps < least)
		o->rate_bps = least;
}

static inline struct bp_lcl_scheduler *scheduler_of(const struct bp_lcl_scheduler_options *o)
{
	struct bp_lcl_scheduler *s = bp_lcl_scheduler_create(o);

	assert_non_null(s);
	return s;
}

#endif
