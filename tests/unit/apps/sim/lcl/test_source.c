/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/lcl/rig.h"

#define SENT 20000u

static uint64_t at[SENT];
static uint32_t bytes[SENT];

static void send(struct lsim_source *s)
{
	for (unsigned i = 0; i < SENT; i++) {
		const struct lsim_next n = lsim_source_next(s);

		at[i] = n.at_ps;
		bytes[i] = n.bytes;
		assert_true(i == 0 || at[i] > at[i - 1]);
	}
}

/* In no time it sends more than burst + rate t, which budgets and admission rest on. */
static void bursts_keep_to_burst_and_rate(void **state)
{
	for (unsigned wander = 0; wander < 2; wander++) {
		struct lsim_source s = {.kind = LSIM_BURSTS,
			.rate_bps = 2000000000,
			.peak_bps = 25000000000,
			.burst = 7,
			.bytes_min = 124,
			.bytes_max = 124,
			.phase_ps = 12345,
			.wander = wander * 0.05,
			.random = {3}};
		const double frame = (124 + BP_LCL_LINK_OVERHEAD) * 8;

		send(&s);
		assert_int_equal(at[0], 12345 + lsim_tx_time_ps(124, s.peak_bps));
		for (unsigned i = 0; i < SENT; i += 13) {
			for (unsigned k = i + 1; k < SENT && k < i + 100; k++) {
				const double t = (double)(at[k] - at[i]) / 1e12;
				const double most = s.burst * frame + (double)s.rate_bps * t;

				assert_true((k - i + 1) * frame <= most * 1.000001);
			}
		}
		if (wander == 0)
			assert_int_equal(at[700] - at[0], 700 * lsim_tx_time_ps(124, s.rate_bps));
		else
			assert_true(at[700] - at[0] > 700 * lsim_tx_time_ps(124, s.rate_bps));
	}
}

static void sizes_and_rates(void **state)
{
	static const enum lsim_kind kinds[] = {LSIM_CONSTANT, LSIM_POISSON};

	for (unsigned i = 0; i < COUNT(kinds); i++) {
		struct lsim_source s = {.kind = kinds[i],
			.rate_bps = 5000000000,
			.bytes_min = 60,
			.bytes_max = 1514,
			.random = {i}};
		uint64_t sum = 0;
		uint32_t least = 2000, most = 0;
		double bps;

		send(&s);
		for (unsigned k = 0; k < SENT; k++) {
			sum += bytes[k] + BP_LCL_LINK_OVERHEAD;
			least = bytes[k] < least ? bytes[k] : least;
			most = bytes[k] > most ? bytes[k] : most;
		}
		assert_int_equal(least, 60);
		assert_int_equal(most, 1514);
		bps = (double)sum * 8e12 / (double)at[SENT - 1];
		assert_true(bps > 4.9e9 && bps < 5.1e9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bursts_keep_to_burst_and_rate),
		cmocka_unit_test(sizes_and_rates),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
