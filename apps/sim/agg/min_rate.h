/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_MIN_RATE_H
#define BIPLANE_AGG_SIM_MIN_RATE_H

#include <stddef.h>

/* Mean waiting time, in units of the mean service time, of an unbounded queue: customer i arrives
 * gap[i] after the one before and needs work[i] / mu; work NULL: 1 / mu each. */
double sim_mean_wait(const double *gap, const double *work, size_t count, double mu);

/*
 * The minimum mu with a mean of at most beta (beta > 0): Inequality 11. The same times and the same
 * work are used with each tried mu (common random numbers), so that the mean falls strictly with mu
 * and the result is unique. Relative precision 1e-6.
 */
double sim_min_mu(const double *gap, const double *work, size_t count, double beta);

#endif
