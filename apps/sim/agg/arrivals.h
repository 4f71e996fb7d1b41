/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_ARRIVALS_H
#define BIPLANE_AGG_SIM_ARRIVALS_H

#include <stdint.h>

#include "apps/sim/sim_random.h"

/* Arrival times of messages: a Poisson process, or `devices` that report periodically. */
struct sim_arrivals {
	struct sim_random random;
	double mean; /* ns between two messages */
	double now;
	uint32_t devices; /* 0: Poisson */
	struct sim_device *heap;
};

/*
 * devices: 0, or a number of them, each with its own period, all within a tenth of each other, and
 * with a random phase: the paper assumes a Poisson process for these. Messages arrive `mean_ns`
 * apart on average. 0, or -1: no memory.
 */
int sim_arrivals_init(struct sim_arrivals *a, double mean_ns, uint32_t devices, uint64_t seed);
void sim_arrivals_free(struct sim_arrivals *a);
/* Arrival time of the next message, ns. */
double sim_arrivals_next(struct sim_arrivals *a);

#endif
