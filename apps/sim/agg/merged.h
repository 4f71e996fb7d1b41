/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_MERGED_H
#define BIPLANE_AGG_SIM_MERGED_H

#include "apps/sim/agg/first.h"

/* Departures from a first switch of one or more streams. */
struct sim_merged {
	struct sim_first_counts counts;
	uint64_t flushed[BP_AGG_FLUSH_COUNT]; /* of all that left, from the beginning */
	uint64_t *left;                       /* when N-packets left, ns, in order; the caller's */
	size_t count;
};

/*
 * Sends `count` N-packets, after `warm_up` others, of `streams` (1 or more) together: the streams
 * share the rate of *o. Each has its own aggregator, as in a gateway: if each message of a Poisson
 * process goes to one of several destinations at random, each destination has a Poisson process.
 * With several, slightly more N-packets are counted than there are times. 0, or -1: no memory.
 */
int sim_merged_run(struct sim_merged *m, const struct sim_first_options *o, unsigned streams,
	size_t warm_up, size_t count);

#endif
