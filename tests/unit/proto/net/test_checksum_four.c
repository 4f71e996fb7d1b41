/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of four frames at a time: each step against what it is by definition, and the ways of this
 * machine against the portable ones. */
#include "tests/unit/proto/exact.h"

#include "proto/net/checksum_four.h"
#include "tests/unit/times.h"

static uint64_t seed = 1;

/* Bytes of all kinds, often those at the ends. */
static bp_v16 some(void)
{
	bp_v16 v;

	for (unsigned i = 0; i < 16; i++) {
		const uint64_t r = next_random(&seed);

		v[i] = r % 4 == 0 ? 0 : r % 4 == 1 ? 255 : (uint8_t)(r >> 8);
	}
	return v;
}

static uint32_t word_of(bp_v16 v, unsigned i)
{
	return (uint32_t)(v[2 * i] | v[2 * i + 1] << 8);
}

static void assert_same(bp_v16 a, bp_v16 b)
{
	assert_memory_equal(&a, &b, sizeof(a));
}

static void checksum_words_are_added_in_pairs(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(20000); n++) {
		const bp_v16 v = some();
		bp_v8_s16 asked;
		bp_v4 sum;

		for (unsigned i = 0; i < 8; i++)
			asked[i] = (int16_t)(next_random(&seed) & 1);
		sum = bp_v4_words(v, asked);
		assert_same((bp_v16)sum, (bp_v16)bp_v4_words_portable(v, asked));
		for (unsigned i = 0; i < 4; i++) {
			uint32_t plain = sum[i];

			for (unsigned k = 2 * i; k < 2 * i + 2; k++)
				if (asked[k] != 0)
					plain += BP_CHECKSUM_LESS - word_of(v, k);
			assert_int_equal(plain, 0);
		}
	}
}

static void bytes_are_picked(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(20000); n++) {
		const bp_v16 v = some();
		bp_v16 at, picked;

		for (unsigned i = 0; i < 16; i++) {
			const uint64_t r = next_random(&seed);

			at[i] = r % 4 == 0 ? 0x80 : (uint8_t)(r >> 8 & 15);
		}
		picked = bp_v16_pick(v, at);
		assert_same(picked, bp_v16_pick_portable(v, at));
		for (unsigned i = 0; i < 16; i++)
			assert_int_equal(picked[i], at[i] == 0x80 ? 0 : v[at[i]]);
	}
}

static void lower_values_are_kept(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(20000); n++) {
		const bp_v16 a = some(), b = some(), least = bp_v8_min(a, b);

		assert_same(least, bp_v8_min_portable(a, b));
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(word_of(least, i),
				word_of(a, i) < word_of(b, i) ? word_of(a, i) : word_of(b, i));
	}
}

static void four_sums_become_one_vector(void **state)
{
	for (unsigned n = 0; n < TEST_TIMES(5000); n++) {
		bp_v4 v[4], sum;

		for (unsigned i = 0; i < 4; i++)
			v[i] = (bp_v4)some();
		sum = bp_v4_sum_four(bp_v4_sum_two(v[0], v[1]), bp_v4_sum_two(v[2], v[3]));
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(sum[i], v[i][0] + v[i][1] + v[i][2] + v[i][3]);
	}
}

/* Every sum up to some, and those around each multiple of 65,535. */
static void multiples_are_right(void **state)
{
	for (uint64_t k = 1; k <= 65536; k++) {
		const uint32_t sum = (uint32_t)(k * 65535);
		const bp_v4 ok = bp_v4_sums_ok((bp_v4){sum - 1, sum, sum + 1, sum + 65534});

		assert_int_equal(ok[0], 0);
		assert_int_equal(ok[1], UINT32_MAX);
		assert_int_equal(ok[2], 0);
		assert_int_equal(ok[3], 0);
	}
	for (uint32_t sum = 0; sum < 200000; sum++)
		assert_int_equal(bp_v4_sums_ok((bp_v4){sum, 0, 0, 0})[0],
			sum != 0 && sum % 65535 == 0 ? UINT32_MAX : 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksum_words_are_added_in_pairs),
		cmocka_unit_test(bytes_are_picked),
		cmocka_unit_test(lower_values_are_kept),
		cmocka_unit_test(four_sums_become_one_vector),
		cmocka_unit_test(multiples_are_right),
	};

	return cmocka_run_group_tests_name("checksum_four", tests, NULL, NULL);
}
