/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/models.h"

#include <math.h>

double sim_model_x(unsigned n, double mu)
{
	const double theta = 1 / mu;
	double low = 0, high = 1;

	/*
	 * x = 1 is also a root of Equation 7, but not the relevant one. With y = x^(1/n) it becomes
	 * theta (1 - y) = y (1 - y^n), and without the root y = 1: theta = y (1 + y + ... +
	 * y^(n-1)), whose right side rises from 0 to n. So there is one root below 1, if theta < n.
	 */
	for (unsigned i = 0; i < 200; i++) {
		const double y = (low + high) / 2;
		double sum = 0, power = y;

		for (unsigned j = 0; j < n; j++, power *= y)
			sum += power;
		if (sum < theta)
			low = y;
		else
			high = y;
	}
	return pow((low + high) / 2, n);
}

/* P(a Poisson number with mean a is k), and that it is more than k. */
static double poisson(double a, double k)
{
	return exp(k * log(a) - a - lgamma(k + 1));
}

static double poisson_above(double a, double k)
{
	double term = poisson(a, k + 1), sum = term;

	/* k is beyond the mean here: the terms fall from the first one. */
	for (double j = k + 2; term > sum * 1e-16; j++) {
		term *= a / j;
		sum += term;
	}
	return sum;
}

/*
 * Spitzer: E[W] is the sum over i of E[max(0, S_i)] / i, where S_i is the duration of i services
 * minus i times between N-packets. With fixed services of D and i times whose sum is Erlang-(i n),
 * E[max(0, S_i)] / i = D (P(K >= i n) - n / D P(K > i n)), K a Poisson number with mean i D.
 */
static double wait_fixed(unsigned n, double mu)
{
	const double service = 1 / mu;
	double sum = 0;

	for (double i = 1;; i++) {
		const double above = poisson_above(i * service, i * n);
		const double term = poisson(i * service, i * n) + above - n * mu * above;

		sum += term;
		if (term <= sum * 1e-13)
			return service * sum;
	}
}

double sim_model_wait(enum sim_service service, unsigned n, double mu)
{
	double x;

	if (service == SIM_FIXED)
		return wait_fixed(n, mu);
	x = sim_model_x(n, mu);
	return x / (mu * (1 - x));
}

double sim_model_min_mu(enum sim_service service, unsigned n, double beta)
{
	double low = 1.0 / n, high;

	/*
	 * Exponential: E[tW] = beta / mu means x = beta / (1 + beta), so that Equation 7, which is
	 * hard to solve for x, is easy to solve for mu, for any n. The fixed one needs less.
	 */
	high = (1 + beta) * expm1(log1p(1 / beta) / n);
	if (service == SIM_EXPONENTIAL)
		return high;
	while (high - low > 1e-10 * high) {
		const double mu = (low + high) / 2;

		/* Close to 1 / n the series converges slowly, and no result is that close. */
		if (n * mu < 1.001 || wait_fixed(n, mu) * mu > beta)
			low = mu;
		else
			high = mu;
	}
	return (low + high) / 2;
}

struct sim_model_fill sim_model_fill(unsigned n, double max_delay)
{
	struct sim_model_fill f = {1, 0, 1};
	double term, at_least = 1, delay = 0;

	if (max_delay <= 0)
		return (struct sim_model_fill){n, (n - 1) / 2.0, 1};
	/*
	 * While it is filled, an aggregate holds k + 1 messages at time t after its first with the
	 * Poisson probability of k, as long as k + 1 < n. The mean total waiting time of its
	 * messages is the integral of their number, and the integral of the Poisson probability of
	 * k from 0 to T is the probability of more than k by T.
	 */
	term = exp(-max_delay);
	for (unsigned k = 1; k < n; k++) {
		at_least -= term;
		term *= max_delay / k;
		f.messages += at_least;
		delay += k * at_least;
	}
	f.full = n == 1 ? 1 : fmax(0, at_least);
	f.delay = delay / f.messages;
	return f;
}

double sim_model_loss(double mu)
{
	return 1 / (1 + mu);
}
