/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_MEASURE_H
#define BIPLANE_LCL_SIM_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/lcl.h"
#include "services/lcl/scheduler.h"

/* Minimum, mean and maximum of a delay. */
struct lsim_spread {
	uint64_t count, min_ps, max_ps, sum_ps;
};

static inline void lsim_spread_add(struct lsim_spread *s, uint64_t ps)
{
	if (s->count++ == 0 || ps < s->min_ps)
		s->min_ps = ps;
	if (ps > s->max_ps)
		s->max_ps = ps;
	s->sum_ps += ps;
}

/* Of a flow at one of its nodes. */
struct lsim_hop {
	struct lsim_spread wait;
	uint64_t outside;                  /* waited not within d/n +- tau, as the label has it */
	int32_t d_min, d_max;              /* of labels that came */
	uint64_t put[BP_LCL_PUT_FULL + 1]; /* enum bp_lcl_put; FULL: lost */
};

struct lsim_measured {
	uint64_t sent, received, bytes;
	struct lsim_spread delay; /* queueing, from the first node to the last */
	uint64_t early, late;     /* delay below d0 - tau, above d0 + tau */
	uint64_t reordered;       /* came after one with a higher sequence number */
	uint64_t unseen_ps;       /* the most of a delay that its label had not counted */
	uint64_t wrong;           /* d0 - d was not the sum of its waiting times */
	struct lsim_hop hop[BP_LCL_HOPS_MAX];
	/* Delay by the time of arrival, a window each. */
	struct lsim_spread *series;
	uint32_t windows;
	uint32_t next_sequence; /* lowest number after the received ones */
};

/* Adds to the window that a time falls into. False: no memory. */
bool lsim_series_add(struct lsim_measured *m, uint64_t window, uint64_t ps);

#endif
