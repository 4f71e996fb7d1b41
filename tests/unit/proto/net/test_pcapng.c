/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of a pcapng file against the draft; tests/e2e has other readers judge whole files. */
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/net/pcapng.h"

static uint8_t out[2048];

static uint32_t word(size_t at)
{
	uint32_t v;

	memcpy(&v, out + at, sizeof(v));
	return v;
}

/* Type and both lengths of the block. */
static void is_block(size_t n, uint32_t type)
{
	assert_true(n >= 12 && n % 4 == 0);
	assert_int_equal(word(0), type);
	assert_int_equal(word(4), n);
	assert_int_equal(word(n - 4), n);
}

/* The value of an option in the list at `at`; NULL: it is not there. The list must end. */
static const uint8_t *option(size_t at, size_t end, uint16_t code, uint16_t *len)
{
	const uint8_t *found = NULL;

	for (;;) {
		uint16_t c, n;

		assert_true(at + 4 <= end);
		memcpy(&c, out + at, 2);
		memcpy(&n, out + at + 2, 2);
		if (c == code && c != 0) {
			found = out + at + 4;
			*len = n;
		}
		at += 4 + ((size_t)n + 3) / 4 * 4;
		if (c == 0) {
			assert_int_equal(at, end);
			return found;
		}
	}
}

static void section_begins_a_file(void **state)
{
	const size_t n = bp_pcapng_section(out, sizeof(out), "x86_64", "Linux 6.1", "biplane 0.1");
	uint16_t len = 0;

	is_block(n, 0x0a0d0d0a);
	assert_int_equal(word(8), 0x1a2b3c4d);
	assert_int_equal(word(12), 1); /* version 1.0 */
	assert_int_equal(word(16), UINT32_MAX);
	assert_int_equal(word(20), UINT32_MAX);
	assert_memory_equal(option(24, n - 4, 2, &len), "x86_64", 6);
	assert_int_equal(len, 6);
	assert_memory_equal(option(24, n - 4, 3, &len), "Linux 6.1", 9);
	assert_memory_equal(option(24, n - 4, 4, &len), "biplane 0.1", 11);
}

static void interface_has_name_speed_and_resolution(void **state)
{
	const size_t n = bp_pcapng_interface(
		out, sizeof(out), "lan", "0000:03:00.0", 10000000000u, 96, "tcp port 1883");
	uint64_t speed;
	uint16_t len = 0;

	is_block(n, 1);
	assert_int_equal(word(8), 1); /* Ethernet, reserved */
	assert_int_equal(word(12), 96);
	assert_memory_equal(option(16, n - 4, 2, &len), "lan", 3);
	assert_memory_equal(option(16, n - 4, 3, &len), "0000:03:00.0", 12);
	memcpy(&speed, option(16, n - 4, 8, &len), 8);
	assert_int_equal(len, 8);
	assert_true(speed == 10000000000u);
	assert_int_equal(*option(16, n - 4, 9, &len), 9);
	assert_int_equal(len, 1);
	assert_memory_equal(option(16, n - 4, 11, &len), "\0tcp port 1883", 14);
	assert_int_equal(len, 14);
	assert_null(option(16, n - 4, 1, &len));
}

static void unknown_speed_is_left_out(void **state)
{
	const size_t n = bp_pcapng_interface(out, sizeof(out), "lan", NULL, 0, 65535, NULL);
	uint16_t len;

	is_block(n, 1);
	assert_null(option(16, n - 4, 3, &len));
	assert_null(option(16, n - 4, 8, &len));
	assert_null(option(16, n - 4, 11, &len));
}

static void packet_has_time_lengths_direction_and_comment(void **state)
{
	static const uint8_t data[5] = {1, 2, 3, 4, 5};
	const struct bp_pcapng_packet p = {.interface = 3,
		.captured = 5,
		.length = 99,
		.time_ns = 0x1122334455667788,
		.direction = BP_PCAPNG_OUTBOUND,
		.data = data,
		.comment = "dropped: runt"};
	const size_t n = bp_pcapng_packet(out, sizeof(out), &p);
	uint16_t len = 0;

	is_block(n, 6);
	assert_int_equal(word(8), 3);
	assert_int_equal(word(12), 0x11223344);
	assert_int_equal(word(16), 0x55667788);
	assert_int_equal(word(20), 5);
	assert_int_equal(word(24), 99);
	assert_memory_equal(out + 28, "\1\2\3\4\5\0\0\0", 8);
	assert_memory_equal(option(36, n - 4, 1, &len), "dropped: runt", 13);
	assert_int_equal(len, 13);
	assert_memory_equal(option(36, n - 4, 2, &len), "\2\0\0\0", 4);
	assert_int_equal(len, 4);
}

static void statistics_count_received_and_dropped(void **state)
{
	const size_t n = bp_pcapng_statistics(out, sizeof(out), 1, 5, 1000, UINT64_MAX);
	uint64_t v;
	uint16_t len = 0;

	is_block(n, 5);
	assert_int_equal(word(8), 1);
	assert_int_equal(word(16), 5);
	memcpy(&v, option(20, n - 4, 4, &len), 8);
	assert_true(v == 1000);
	memcpy(&v, option(20, n - 4, 5, &len), 8);
	assert_true(v == UINT64_MAX);
}

/* Between characters: the result is valid UTF-8. */
static void long_text_is_cut(void **state)
{
	char text[400];
	uint16_t len = 0;
	size_t n;

	for (unsigned i = 0; i + 2 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	text[399] = '\0';
	n = bp_pcapng_interface(out, sizeof(out), text, text, 0, 1, text);
	is_block(n, 1);
	assert_non_null(option(16, n - 4, 2, &len));
	assert_int_equal(len, 255);
	text[0] = 'x'; /* the limit is now inside of a character */
	text[1] = 'y';
	memmove(text + 2, text + 3, 397);
	n = bp_pcapng_interface(out, sizeof(out), text, NULL, 0, 1, NULL);
	assert_non_null(option(16, n - 4, 2, &len));
	assert_int_equal(len, 254);
}

static void too_small_buffers_are_not_overrun(void **state)
{
	static const uint8_t data[64];
	const struct bp_pcapng_packet p = {
		.captured = 64, .length = 64, .data = data, .comment = "c"};
	const size_t need = bp_pcapng_packet(out, sizeof(out), &p);

	for (size_t size = 0; size < need; size++) {
		memset(out, 0xee, sizeof(out));
		assert_int_equal(bp_pcapng_packet(out, size, &p), 0);
		assert_int_equal(out[size], 0xee);
	}
	assert_int_equal(bp_pcapng_packet(out, need, &p), need);
	assert_true(need <= BP_PCAPNG_BLOCK_MAX(64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(section_begins_a_file),
		cmocka_unit_test(interface_has_name_speed_and_resolution),
		cmocka_unit_test(unknown_speed_is_left_out),
		cmocka_unit_test(packet_has_time_lengths_direction_and_comment),
		cmocka_unit_test(statistics_count_received_and_dropped),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(too_small_buffers_are_not_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
