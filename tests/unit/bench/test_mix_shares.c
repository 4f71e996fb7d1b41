/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of shares, and their distribution in a pattern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bench/mix/mix_shares.h"

static char err[256];

static struct bench_mix_shares read_shares(const char *text)
{
	struct bench_mix_shares s = {{0}};

	assert_int_equal(bench_mix_shares_read(text, &s, err, sizeof(err)), 0);
	return s;
}

static void refuse(const char *text, const char *sentence)
{
	struct bench_mix_shares s = {{7, 7, 7, 7, 7, 7}};

	assert_int_equal(bench_mix_shares_read(text, &s, err, sizeof(err)), -1);
	assert_non_null(strstr(err, sentence));
	/* and nothing was half read */
	assert_int_equal(bench_mix_length(&s), 7 * BENCH_MIX_PARTS);
}

static void test_all_contains_each_part(void **state)
{
	const struct bench_mix_shares s = read_shares("all");

	(void)state;
	assert_int_equal(bench_mix_length(&s), 100);
	for (unsigned i = 0; i < BENCH_MIX_PARTS; i++)
		assert_int_not_equal(s.of[i], 0);
}

static void test_parts_are_read(void **state)
{
	struct bench_mix_shares s = read_shares("lcl");

	(void)state;
	assert_int_equal(s.of[BENCH_MIX_LCL], 1);
	assert_int_equal(bench_mix_length(&s), 1);
	s = read_shares("mqtt=3,plain,phd=996");
	assert_int_equal(s.of[BENCH_MIX_MQTT], 3);
	assert_int_equal(s.of[BENCH_MIX_PLAIN], 1);
	assert_int_equal(s.of[BENCH_MIX_PHD], 996);
	assert_int_equal(bench_mix_length(&s), BENCH_MIX_PATTERN);
}

static void test_contradictory_options_are_rejected(void **state)
{
	(void)state;
	refuse("", "expected all, or of mqtt");
	refuse("mqt", "'mqt'");
	refuse("mqtt,", "''");
	refuse("mqtt,all", "'all'");
	refuse("mqtt=", "share of mqtt: expected a whole number from 1 to 1000");
	refuse("mqtt=0", "share of mqtt");
	refuse("mqtt=-1", "share of mqtt");
	refuse("mqtt=2x", "share of mqtt");
	refuse("mqtt=1=2", "share of mqtt");
	refuse("mqtt=1001", "share of mqtt");
	refuse("mqtt=4294967297", "share of mqtt");
	refuse("phd=2,mqtt,phd=3", "phd: expected once");
	refuse("phd=600,lcl=401", "1001 together; expected at most 1000");
}

/* Each part as often as its share says, and never two places from where it would be evenly. */
static void check_pattern(const char *text)
{
	const struct bench_mix_shares s = read_shares(text);
	const uint32_t length = bench_mix_length(&s);
	uint8_t pattern[BENCH_MIX_PATTERN];
	uint32_t seen[BENCH_MIX_PARTS] = {0};

	assert_int_equal(bench_mix_pattern(&s, pattern), length);
	for (uint32_t at = 0; at < length; at++) {
		assert_in_range(pattern[at], 0, BENCH_MIX_PARTS - 1);
		seen[pattern[at]]++;
		for (unsigned i = 0; i < BENCH_MIX_PARTS; i++) {
			const double even = (double)s.of[i] * (at + 1) / length;

			assert_true(seen[i] < even + 2 && seen[i] + 2 > even);
		}
	}
	assert_memory_equal(seen, s.of, sizeof(seen));
}

static void test_patterns_are_even(void **state)
{
	(void)state;
	check_pattern("all");
	check_pattern("plain");
	check_pattern("mqtt=999,lcl=1");
	check_pattern("mqtt=1,phd=2,messages=3,readings=5,lcl=7,plain=11");
	check_pattern("mqtt=500,phd=100,messages=100,readings=100,lcl=100,plain=100");
}

static void test_no_burst_is_of_one_part(void **state)
{
	const struct bench_mix_shares s = read_shares("all");
	uint8_t pattern[BENCH_MIX_PATTERN];
	const uint32_t length = bench_mix_pattern(&s, pattern);

	(void)state;
	for (uint32_t at = 0; at < length; at++) /* also over the end, where it begins again */
		assert_true(pattern[at] != pattern[(at + 1) % length] ||
			    pattern[at] != pattern[(at + 2) % length]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_contains_each_part),
		cmocka_unit_test(test_parts_are_read),
		cmocka_unit_test(test_contradictory_options_are_rejected),
		cmocka_unit_test(test_patterns_are_even),
		cmocka_unit_test(test_no_burst_is_of_one_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
