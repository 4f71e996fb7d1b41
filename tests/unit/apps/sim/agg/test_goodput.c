/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/sim/agg/measured.h"

/*
 * Equation 2 by the bytes of the frames that were made, S_N = 48 + 16 N, and with it Equation 3:
 * 16 N / S_N is N / (3 + N). The paper has N / (4 + N), which is what an N-packet's goodput is when
 * each frame is 16 bytes longer than Equation 2 says; docs/performance/aggregation-models.md.
 */
static void lin2018_format(void **state)
{
	for (unsigned n = 1; n <= 255; n++) {
		const struct sim_first_options o = poisson(BP_AGG_FORMAT_LIN2018, n, n);
		const struct sim_first_counts c = measure(&o, 0, 50, NULL);

		assert_int_equal(c.packets, 51);
		assert_int_equal(c.messages, 51 * n);
		assert_int_equal(c.bytes, 51 * (48 + 16 * n));
		assert_int_equal(c.payload_bytes * (3 + n), c.bytes * n);
		assert_int_equal(c.payload_bytes * (4 + n), (c.bytes + 16 * c.packets) * n);
		assert_int_equal(c.message_bytes, 51 * n * 64);
	}
}

/* docs/reference/aggregation-format.md, "Overhead": frames of one sender, and of 100 in a /24
 * with ports of one block. */
static void overhead_of_format_full_is_as_documented(void **state)
{
	for (unsigned n = 1; n <= 255; n++) {
		struct sim_first_options o = poisson(BP_AGG_FORMAT_FULL, n, n);
		struct sim_first_counts c = measure(&o, 0, 50, NULL);

		assert_int_equal(c.bytes, 51 * (42 + 16 + 9 + 3 * (n - 1) + 16 * n));
		assert_int_equal(c.payload_bytes, 51 * 16 * n);
		o.senders = 1;
		c = measure(&o, 0, 50, NULL);
		assert_int_equal(c.bytes, 51 * (42 + 16 + 9 + (n - 1) + 16 * n));
		assert_int_equal(c.message_bytes, 51 * n * 58);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lin2018_format),
		cmocka_unit_test(overhead_of_format_full_is_as_documented),
	};

	return cmocka_run_group_tests_name("agg_sim goodput", tests, NULL, NULL);
}
