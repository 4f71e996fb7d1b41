/* SPDX-License-Identifier: BSD-3-Clause */
/* The answers to a report: the bytes of a rors, a roer and a rorj, by hand. */
#include "tests/unit/proto/exact.h"

#include "services/health/token.h"

static void the_answers(void **state)
{
	static const struct {
		enum bp_m2m_outcome outcome;
		uint8_t bytes[22];
		size_t len;
	} cases[] = {
		{BP_M2M_STORED,
			{0xe7, 0, 0, 0x12, 0, 0x10, 0xab, 0xcd, 2, 1, 0, 0x0a, 0, 0, 0xff, 0xff,
				0xff, 0xff, 0x0d, 0x1e, 0, 0},
			22},
		{BP_M2M_DENIED, {0xe7, 0, 0, 0x0c, 0, 0x0a, 0xab, 0xcd, 3, 0, 0, 4, 0, 2, 0, 0},
			16},
		{BP_M2M_NO_TARGET, {0xe7, 0, 0, 0x0a, 0, 8, 0xab, 0xcd, 4, 0, 0, 2, 0, 103}, 14},
		{BP_M2M_BUSY, {0xe7, 0, 0, 0x0a, 0, 8, 0xab, 0xcd, 4, 0, 0, 2, 0, 103}, 14},
		{BP_M2M_REFUSED, {0xe7, 0, 0, 0x0a, 0, 8, 0xab, 0xcd, 4, 0, 0, 2, 1, 47}, 14},
		/* from shared memory any number may come */
		{(enum bp_m2m_outcome)77, {0xe7, 0, 0, 0x0a, 0, 8, 0xab, 0xcd, 4, 0, 0, 2, 1, 47},
			14},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *out = malloc(BP_PHD_ANSWER_MAX);

		assert_non_null(out);
		assert_int_equal(
			bp_phd_answer_write(out, cases[i].outcome, 0xabcd, 3358), cases[i].len);
		assert_memory_equal(out, cases[i].bytes, cases[i].len);
		free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_answers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
