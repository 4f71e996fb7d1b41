/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/health/token.h"

static const uint64_t key[2] = {0x0123456789abcdefull, 0xfedcba9876543210ull};

/* Each field at its bits: token.h's list, from the top, with the numbers added up by hand. */
static void fields_have_the_documented_offsets(void **state)
{
	static const struct {
		struct bp_phd_token t;
		uint64_t word; /* above the check */
	} cases[] = {
		{{0}, 0},
		{{.slot = 1}, 0x0000020000000000ull},
		{{.slot = 0x7fffff}, 0xfffffe0000000000ull},
		{{.invoke_id = 1}, 0x0000000002000000ull},
		{{.invoke_id = 0xffff}, 0x000001fffe000000ull},
		{{.type = 3}, 0x0000000001800000ull},
		{{.part = 31}, 0x00000000007c0000ull},
		{{.only = true}, 0x0000000000020000ull},
		{{.confirmed = true}, 0x0000000000010000ull},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(bp_phd_token_pack(&cases[i].t, 7, key) >> 16 << 16, cases[i].word);
}

static void records_are_read_as_written(void **state)
{
	uint64_t random = 0x70cede;

	for (int i = 0; i < 100000; i++) {
		const struct bp_phd_token t = {
			.slot = (uint32_t)(next_random(&random) % BP_PHD_TOKEN_SLOTS),
			.invoke_id = (uint16_t)next_random(&random),
			.type = next_random(&random) % 4,
			.part = i % 3 == 0 ? 0 : next_random(&random) % BP_PHD_TOKEN_PARTS,
			.only = i % 3 == 0,
			.confirmed = next_random(&random) % 2 != 0,
		};
		const uint16_t life = (uint16_t)next_random(&random);
		const uint64_t word = bp_phd_token_pack(&t, life, key);
		struct bp_phd_token back;
		uint8_t bytes[8];

		assert_true(bp_phd_token_true(word, life, key));
		assert_true(bp_phd_token_open(word, &back));
		assert_int_equal(back.slot, t.slot);
		assert_int_equal(back.invoke_id, t.invoke_id);
		assert_int_equal(back.type, t.type);
		assert_int_equal(back.part, t.part);
		assert_int_equal(back.only, t.only);
		assert_int_equal(back.confirmed, t.confirmed);
		bp_phd_token_store(bytes, word);
		assert_int_equal(bytes[0], word >> 56);
		assert_int_equal(bytes[7], word & 0xff);
		assert_int_equal(bp_phd_token_load(bytes), word);
	}
}

/* The only part of a report is its part 0. */
static void missing_segment_is_reported(void **state)
{
	const struct bp_phd_token t = {.part = 1, .only = true};
	struct bp_phd_token back;

	assert_false(bp_phd_token_open(bp_phd_token_pack(&t, 7, key), &back));
}

/* Of the 65,536 checks of one token exactly one is true; with another life or key another one. */
static void hash_collides_once_in_65536(void **state)
{
	const struct bp_phd_token t = {.slot = 4711, .invoke_id = 0x1238, .confirmed = true};
	const uint64_t word = bp_phd_token_pack(&t, 9, key), above = word >> 16 << 16;
	const uint64_t other[2] = {key[0], key[1] ^ 1}, another[2] = {key[0] ^ 1, key[1]};
	unsigned good = 0;

	for (uint64_t check = 0; check < 65536; check++)
		good += bp_phd_token_true(above | check, 9, key);
	assert_int_equal(good, 1);
	assert_false(bp_phd_token_true(word, 8, key));
	assert_false(bp_phd_token_true(word, 10, key));
	assert_false(bp_phd_token_true(word, 9, other));
	assert_false(bp_phd_token_true(word, 9, another));
	for (unsigned bit = 0; bit < 64; bit++)
		assert_false(bp_phd_token_true(word ^ (uint64_t)1 << bit, 9, key));
}

/* Tokens of one session in a row: their checks are spread, not counted up. */
static void checks_are_spread(void **state)
{
	static uint8_t seen[65536];
	unsigned different = 0;

	for (unsigned i = 0; i < 65536; i++) {
		const struct bp_phd_token t = {.slot = 1, .invoke_id = (uint16_t)i};
		const uint16_t check = (uint16_t)bp_phd_token_pack(&t, 1, key);

		different += seen[check] == 0;
		seen[check] = 1;
	}
	/* of 65,536 thrown into 65,536, 63.2 % are hit: 41,427, standard deviation 80 */
	assert_in_range(different, 41427 - 500, 41427 + 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_have_the_documented_offsets),
		cmocka_unit_test(records_are_read_as_written),
		cmocka_unit_test(missing_segment_is_reported),
		cmocka_unit_test(hash_collides_once_in_65536),
		cmocka_unit_test(checks_are_spread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
