/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on vectors that are written for each processor, against loops over their elements. */
#include "tests/unit/proto/exact.h"

#include "proto/net/ip4_four.h"
#include "tests/unit/times.h"

static uint64_t seed = 1;

static bp_v16 random_bytes(void)
{
	return bp_v16_of64(next_random(&seed), next_random(&seed));
}

static void mask_has_the_top_bits_of_bytes(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(20000); n++) {
		const bp_v16 v = random_bytes();
		uint32_t mask = 0;

		for (unsigned i = 0; i < 16; i++)
			mask |= (uint32_t)(v[i] >> 7) << i;
		assert_int_equal(bp_v16_mask(v), mask);
		assert_int_equal(bp_v16_all(v), mask == 0xffff);
	}
	assert_true(bp_v16_all(bp_v16_of(0x80)));
	assert_false(bp_v16_all(bp_v16_of(0x7f)));
}

static void mask_has_the_top_bits_of_numbers(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(20000); n++) {
		const bp_v4 v = (bp_v4)random_bytes();

		assert_int_equal(bp_v4_mask(v),
			v[0] >> 31 | v[1] >> 31 << 1 | v[2] >> 31 << 2 | v[3] >> 31 << 3);
	}
}

static void equal_words_are_found(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(20000); n++) {
		const uint16_t word = (uint16_t)next_random(&seed);
		uint32_t expected = 0;
		uint16_t words[16];
		bp_v16 half[2];

		for (unsigned i = 0; i < 16; i++) {
			const uint64_t r = next_random(&seed);

			/* often equal, or in one of its bytes */
			words[i] = (uint16_t)(word ^ (r % 4 == 0          ? 0
							     : r % 4 == 1 ? r >> 8 & 0xff
							     : r % 4 == 2 ? r & 0xff00
									  : r >> 8));
			expected |= (uint32_t)(words[i] == word) << i;
		}
		memcpy(half, words, sizeof(words));
		assert_int_equal(bp_v16_words_equal(half[0], half[1], word), expected);
	}
}

static void digits_become_numbers(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(20000); n++) {
		uint8_t digits[32];
		bp_v16 half[2];
		bp_v4 number, portable;

		for (unsigned i = 0; i < 32; i++)
			digits[i] = n == 0 ? 9 : (uint8_t)(next_random(&seed) % 10);
		memcpy(half, digits, sizeof(digits));
		number = bp_v16_join_digits(half[0], half[1]);
		portable = bp_v16_join_digits_portable(half[0], half[1]);
		for (unsigned i = 0; i < 4; i++) {
			uint32_t expected = 0;

			for (unsigned k = 0; k < 8; k++)
				expected = expected * 10 + digits[8 * i + k];
			assert_int_equal(number[i], expected);
			assert_int_equal(portable[i], expected);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mask_has_the_top_bits_of_bytes),
		cmocka_unit_test(mask_has_the_top_bits_of_numbers),
		cmocka_unit_test(equal_words_are_found),
		cmocka_unit_test(digits_become_numbers),
	};

	return cmocka_run_group_tests_name("vec16", tests, NULL, NULL);
}
