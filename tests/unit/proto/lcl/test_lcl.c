/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "proto/lcl/lcl.h"

#define TYPE 0x88b5

/* Byte by byte: to 02:00:00:00:00:01 from ..:02, n = 3, d = 15000 ns, flow 513, sequence
 * 0x01020304, and VLAN 5 behind it. */
static const uint8_t example[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 1, 3, 0, 0, 0x3a,
	0x98, 2, 1, 1, 2, 3, 4, 0x81, 0, 0, 5, 8, 0};

static enum bp_lcl_verdict read(const uint8_t *bytes, size_t len, struct bp_lcl_label *out)
{
	uint8_t *exact = exact_copy(bytes, len);
	const enum bp_lcl_verdict v = bp_lcl_read(exact, len, TYPE, out);

	free(exact);
	return v;
}

/* The example with other bytes from `at` on. */
static enum bp_lcl_verdict read_with(unsigned at, uint64_t value, unsigned bytes)
{
	const struct bp_lcl_label before = {.d = 1, .sequence = 2, .flow = 3, .n = 4};
	struct bp_lcl_label got = before;
	uint8_t frame[sizeof(example)];
	enum bp_lcl_verdict v;

	memcpy(frame, example, sizeof(frame));
	for (unsigned i = 0; i < bytes; i++)
		frame[at + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	v = read(frame, sizeof(frame), &got);
	if (v != BP_LCL_GOOD)
		assert_memory_equal(&got, &before, sizeof(got));
	return v;
}

static void the_example(void **state)
{
	uint8_t frame[sizeof(example)];
	struct bp_lcl_label got;

	assert_int_equal(read(example, sizeof(example), &got), BP_LCL_GOOD);
	assert_int_equal(got.n, 3);
	assert_int_equal(got.d, 15000);
	assert_int_equal(got.flow, 513);
	assert_int_equal(got.sequence, 0x01020304);
	memset(frame, 0xee, sizeof(frame));
	bp_lcl_write(frame + BP_LCL_AT, TYPE, &got);
	assert_memory_equal(frame + BP_LCL_AT, example + BP_LCL_AT, BP_LCL_LABEL);
	assert_int_equal(frame[BP_LCL_AT - 1], 0xee);
	assert_int_equal(frame[BP_LCL_AT + BP_LCL_LABEL], 0xee);
	/* the delay alone */
	memcpy(frame, example, sizeof(frame));
	bp_lcl_set_delay(frame, -2);
	assert_memory_equal(frame + 16, "\xff\xff\xff\xfe", 4);
	memcpy(frame + 16, example + 16, 4);
	assert_memory_equal(frame, example, sizeof(frame));
}

static void bad_labels(void **state)
{
	assert_int_equal(read_with(12, 0x88b6, 2), BP_LCL_NONE);
	assert_int_equal(read_with(12, 0x0800, 2), BP_LCL_NONE);
	assert_int_equal(read_with(14, 0, 1), BP_LCL_BAD_VERSION);
	assert_int_equal(read_with(14, 2, 1), BP_LCL_BAD_VERSION);
	for (unsigned n = 0; n < 256; n++)
		assert_int_equal(read_with(15, n, 1),
			n >= 1 && n <= BP_LCL_HOPS_MAX ? BP_LCL_GOOD : BP_LCL_BAD_HOPS);
	assert_int_equal(read_with(16, 1000000000, 4), BP_LCL_GOOD);
	assert_int_equal(read_with(16, 1000000001, 4), BP_LCL_BAD_DELAY);
	assert_int_equal(read_with(16, 0x7fffffff, 4), BP_LCL_BAD_DELAY);
	assert_int_equal(read_with(16, (uint32_t)-1000000000, 4), BP_LCL_GOOD);
	assert_int_equal(read_with(16, (uint32_t)-1000000001, 4), BP_LCL_BAD_DELAY);
	assert_int_equal(read_with(16, 0x80000000, 4), BP_LCL_BAD_DELAY);
	assert_int_equal(read_with(20, 0, 6), BP_LCL_GOOD);
	assert_int_equal(read_with(20, 0xffffffffffff, 6), BP_LCL_GOOD);
	/* the first error is reported */
	assert_int_equal(read_with(14, 0x0200, 2), BP_LCL_BAD_VERSION);
	assert_int_equal(read_with(15, 0x007fffffff, 5), BP_LCL_BAD_HOPS);
}

static void truncated_at_every_length(void **state)
{
	struct bp_lcl_label got;

	for (size_t len = 0; len <= sizeof(example); len++)
		assert_int_equal(read(example, len, &got), len < 14   ? BP_LCL_NONE
							   : len < 28 ? BP_LCL_TRUNCATED
								      : BP_LCL_GOOD);
}

/* Whatever is written is read again, and whatever is read is written as it was. */
static void random_labels(void **state)
{
	uint64_t seed = 0x51ed270b;
	unsigned good = 0;

	for (unsigned i = 0; i < 100000; i++) {
		uint8_t frame[BP_LCL_FRAME_MIN] = {0}, again[BP_LCL_LABEL];
		const uint64_t r = next_random(&seed);
		struct bp_lcl_label label = {
			.d = (int32_t)(next_random(&seed) % 2000000001) - 1000000000,
			.sequence = (uint32_t)r,
			.flow = (uint16_t)(r >> 32),
			.n = (uint8_t)(1 + (r >> 48) % BP_LCL_HOPS_MAX),
		};
		struct bp_lcl_label got = {0};

		bp_lcl_write(frame + BP_LCL_AT, TYPE, &label);
		assert_int_equal(read(frame, sizeof(frame), &got), BP_LCL_GOOD);
		assert_true(got.d == label.d && got.sequence == label.sequence &&
			    got.flow == label.flow && got.n == label.n);
		for (unsigned k = 2; k < BP_LCL_LABEL; k++)
			if (r >> 56 & 1 || k > 7)
				frame[BP_LCL_AT + k] = (uint8_t)next_random(&seed);
		frame[BP_LCL_AT + 2] = BP_LCL_VERSION;
		frame[BP_LCL_AT + 4] &= 0x3f;
		if (read(frame, sizeof(frame), &got) != BP_LCL_GOOD)
			continue;
		bp_lcl_write(again, TYPE, &got);
		assert_memory_equal(again, frame + BP_LCL_AT, BP_LCL_LABEL);
		good++;
	}
	assert_true(good > 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example),
		cmocka_unit_test(bad_labels),
		cmocka_unit_test(truncated_at_every_length),
		cmocka_unit_test(random_labels),
	};

	return cmocka_run_group_tests_name("lcl", tests, NULL, NULL);
}
