/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/budget.h"

#include <math.h>

/* Minimum and maximum of d in a label that arrives at a node. */
struct interval {
	double lo, hi;
};

/* Behind a node at which a frame waits d/n +- tau, and not less than 0. */
static struct interval behind(struct interval d, unsigned n, double tau)
{
	return (struct interval){d.lo - fmax(d.lo, 0) / n - tau, d.hi - fmax(0, d.hi / n - tau)};
}

uint64_t lsim_budget_ns(uint8_t hops, uint64_t tau_ns)
{
	double h = 0;

	for (unsigned k = 1; k < hops; k++)
		h += 1.0 / k;
	return (uint64_t)ceil(fmax(1, hops * h) * (double)tau_ns);
}

uint32_t lsim_queues(uint8_t hops, uint64_t budget_ns, uint64_t tau_ns)
{
	const double tau = (double)tau_ns;
	struct interval d = {(double)budget_ns, (double)budget_ns};
	double most = 0;

	for (unsigned n = hops; n > 0; n--) {
		most = fmax(most, d.hi / n);
		d = behind(d, n, tau);
	}
	return (uint32_t)fmin(fmax(2, 1 + ceil(most / tau - 1e-9)), UINT32_MAX);
}

uint64_t lsim_window_ns(uint8_t hops, uint64_t budget_ns, uint64_t tau_ns)
{
	const double tau = (double)tau_ns;
	struct interval d = {(double)budget_ns, (double)budget_ns};
	double most = 0;

	for (unsigned n = hops; n > 0; n--) {
		most = fmax(most, 2 * tau + (d.hi - d.lo) * (1 - 1.0 / n));
		d = behind(d, n, tau);
	}
	return (uint64_t)ceil(most);
}
