/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_SIM_RANDOM_H
#define BP_APPS_SIM_SIM_RANDOM_H

#include <math.h>
#include <stdint.h>

/* SplitMix64: the same seed gives the same run; any seed will do. */
struct sim_random {
	uint64_t state;
};

static inline uint64_t sim_random_next(struct sim_random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Between 0 and 1, and neither. */
static inline double sim_uniform(struct sim_random *r)
{
	return ((double)(sim_random_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

/* Exponentially distributed with mean 1. */
static inline double sim_exponential(struct sim_random *r)
{
	return -log(sim_uniform(r));
}

#endif
