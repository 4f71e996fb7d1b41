/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

#include "apps/sim/lcl/budget.h"

/* docs/explanation/lcl-bounds.md: the minimum budget that no wait of d/n +- tau can use up too
 * early. */
#define TAU 8000u

static double least_wait(double d, unsigned n)
{
	return d / n > TAU ? d / n - TAU : 0;
}

static void as_by_hand(void **state)
{
	/* n tau H(n - 1) */
	assert_int_equal(lsim_budget_ns(1, TAU), TAU);
	assert_int_equal(lsim_budget_ns(2, TAU), 2 * TAU);
	assert_int_equal(lsim_budget_ns(3, TAU), 3 * TAU * 3 / 2);
	assert_int_equal(lsim_budget_ns(4, TAU), 4 * TAU * 11 / 6 + 1); /* rounded up */
	assert_int_equal(lsim_budget_ns(64, TAU), 2420873);
	assert_int_equal(lsim_queues(1, TAU, TAU), 2);
	assert_int_equal(lsim_queues(64, 2420873, TAU), 11);
	/* the paper's: four are enough for it */
	assert_true(lsim_queues(1, 10000, TAU) <= 4 && lsim_queues(2, 10000, TAU) <= 4);
	assert_true(lsim_queues(3, 15000, TAU) <= 4 && lsim_queues(3, 20000, TAU) <= 4);
	/* one hop: of two slots a source sends what is meant in two */
	assert_int_equal(lsim_window_ns(1, TAU, TAU), 2 * TAU);
	assert_int_equal(lsim_window_ns(2, 2 * TAU, TAU), 2 * TAU);
	/* three hops: 36 us; after the first, d values are 16 us apart, of which the next uses half
	 */
	assert_int_equal(lsim_window_ns(3, 36000, TAU), 2 * TAU + 8000);
}

/* The largest waits use it up exactly where it is the least that is enough. */
static void exact_capacity_suffices(void **state)
{
	for (unsigned hops = 2; hops <= 64; hops++) {
		const double budget = (double)lsim_budget_ns((uint8_t)hops, TAU);

		for (unsigned less = 0; less < 2; less++) {
			double d = budget - less * 2.0 * hops;

			for (unsigned n = hops; n > 1; n--)
				d -= d / n + TAU;
			assert_true(less ? d < 0 : d >= -1e-6);
		}
	}
}

/* Whatever a node chooses within d/n +- tau: d is there at the last one, queues reach as far as it
 * asks, and two frames for two slots left their source within the window. */
static void any_waiting_time(void **state)
{
	struct sim_random r = {5};

	for (unsigned i = 0; i < 200000; i++) {
		const unsigned hops = 1 + i % 64;
		const uint64_t budget = lsim_budget_ns((uint8_t)hops, TAU);
		const double window = (double)lsim_window_ns((uint8_t)hops, budget, TAU);
		const unsigned reach = lsim_queues((uint8_t)hops, budget, TAU);
		double d[2] = {(double)budget, (double)budget};

		for (unsigned n = hops; n > 0; n--) {
			const double apart =
				(d[0] > d[1] ? d[0] - d[1] : d[1] - d[0]) * (1 - 1.0 / n);

			assert_true(2 * TAU + apart <= window + 1e-6);
			for (unsigned k = 0; k < 2; k++) {
				const double least = least_wait(d[k], n), most = d[k] / n + TAU;
				/* mostly extremes */
				const double u =
					i % 3 == 0 ? sim_uniform(&r) : (double)((i >> k) & 1);

				assert_true(d[k] >= -1e-6);
				assert_true(d[k] / n <= (reach - 1.0) * TAU + 1e-6);
				d[k] -= least + (most - least) * u;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_by_hand),
		cmocka_unit_test(exact_capacity_suffices),
		cmocka_unit_test(any_waiting_time),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
