/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "proto/net/crc32c.h"

static void known_values(void **state)
{
	uint8_t bytes[80];

	/* RFC 3720, B.4 */
	assert_int_equal(~bp_crc32c(BP_CRC32C_INIT, (const uint8_t *)"123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(~bp_crc32c(BP_CRC32C_INIT, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(~bp_crc32c(BP_CRC32C_INIT, bytes, 32), 0x62a8ab43);
}

/* The instruction and the portable form, from any register, of any length. */
static void both_forms_agree(void **state)
{
	uint64_t seed = 0x452821e638d01377;
	uint8_t bytes[80];

	for (unsigned i = 0; i < 20000; i++) {
		const size_t len = next_random(&seed) % sizeof(bytes);
		const uint32_t from = (uint32_t)next_random(&seed);
		uint8_t *exact;

		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)next_random(&seed);
		exact = exact_copy(bytes, len);
		assert_int_equal(bp_crc32c(from, exact, len), bp_crc32c_portable(from, exact, len));
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(both_forms_agree),
	};

	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
