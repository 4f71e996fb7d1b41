/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/min_rate.h"

#include <math.h>

/*
 * Lindley's recursion, multiplied by mu: the waiting time of a customer in service times is that of
 * the customer before, plus that one's service, minus the service since.
 */
double sim_mean_wait(const double *gap, const double *work, size_t count, double mu)
{
	double wait = 0, sum = 0;

	for (size_t i = 1; i < count; i++) {
		const double next = wait + ((work != NULL ? work[i - 1] : 1) - mu * gap[i]);

		wait = next > 0 ? next : 0;
		sum += wait;
	}
	return sum / (double)count;
}

/* Above 0: mu is too small. The logarithm has the smallest curvature of the functions with this
 * root. */
static double excess(const double *gap, const double *work, size_t count, double mu, double beta)
{
	const double mean = sim_mean_wait(gap, work, count, mu);

	return mean > 0 ? log(mean / beta) : -100;
}

double sim_min_mu(const double *gap, const double *work, size_t count, double beta)
{
	double low, high, f_low, f_high, total = 0;
	int side = 0;

	for (size_t i = 0; i < count; i++)
		total += gap[i];
	/* From the rate of arrivals, below which the queue only grows. */
	low = high = (double)count / total;
	f_low = f_high = excess(gap, work, count, low, beta);
	if (f_low <= 0)
		return low; /* so few customers, or so great a beta, that even this does */
	while (f_high > 0) {
		low = high;
		f_low = f_high;
		high *= 2;
		f_high = excess(gap, work, count, high, beta);
	}
	/* Regula falsi, Illinois form: as safe as halving, and a third of the runs. */
	while (high - low > 1e-6 * high) {
		double mu = (low * f_high - high * f_low) / (f_high - f_low), f;

		if (mu <= low || mu >= high)
			mu = (low + high) / 2;
		f = excess(gap, work, count, mu, beta);
		if (fabs(f) < 1e-6)
			return mu;
		if (f > 0) {
			low = mu;
			f_low = f;
			f_high = side < 0 ? f_high / 2 : f_high;
			side = -1;
		} else {
			high = mu;
			f_high = f;
			f_low = side > 0 ? f_low / 2 : f_low;
			side = 1;
		}
	}
	return high;
}
