/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_AGG_SIM_ERLANG_H
#define BIPLANE_AGG_SIM_ERLANG_H

#include <stddef.h>

/* P(X <= t) for X the sum of n (1 or more) exponentially distributed times with mean 1: the
 * distribution of Equation 1, which gives its density. */
double sim_erlang_cdf(unsigned n, double t);

/* The Kolmogorov-Smirnov test of a sample against a distribution that is known beforehand. */
struct sim_ks {
	double statistic; /* the maximum distance between the two distribution functions */
	double p;         /* how often a true sample of this size is as far away, or farther */
};

/*
 * Of x[0..count) (count 1 or more; is sorted) against an Erlang-n distribution with mean n. `p` is
 * Kolmogorov's limit with Stephens' correction, which for count of 100 or more is right to three
 * digits; it supposes samples that do not depend on each other.
 */
struct sim_ks sim_ks_erlang(double *x, size_t count, unsigned n);

/* p of a statistic. */
double sim_ks_p(double statistic, size_t count);

#endif
