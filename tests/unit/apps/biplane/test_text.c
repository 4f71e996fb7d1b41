/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

static void times_are_iso_8601(void **state)
{
	char out[BP_TEXT_TIME];

	bp_text_time(0, out);
	assert_string_equal(out, "1970-01-01T00:00:00.000000000Z");
	bp_text_time(1767225599123456789ull, out);
	assert_string_equal(out, "2025-12-31T23:59:59.123456789Z");
	bp_text_time(UINT64_MAX, out);
	assert_string_equal(out, "2554-07-21T23:34:33.709551615Z");
}

static void addresses_have_brackets_for_ipv6(void **state)
{
	char out[BP_TEXT_ADDRESS];
	uint8_t ip[16];

	inet_pton(AF_INET, "192.0.2.1", ip);
	bp_text_address(ip, false, 1883, out);
	assert_string_equal(out, "192.0.2.1:1883");
	inet_pton(AF_INET6, "2001:db8:1111:2222:3333:4444:5555:6666", ip);
	bp_text_address(ip, true, 65535, out);
	assert_string_equal(out, "[2001:db8:1111:2222:3333:4444:5555:6666]:65535");
}

static void conditions_are_printed_as_in_the_configuration(void **state)
{
	char out[BP_TEXT_CONDITION];

	bp_text_condition(&(struct bp_condition){.op = BP_COND_GT, .a = 80}, out);
	assert_string_equal(out, "> 80");
	bp_text_condition(&(struct bp_condition){.op = BP_COND_NE, .a = -0.1}, out);
	assert_string_equal(out, "!= -0.1");
	bp_text_condition(&(struct bp_condition){.op = BP_COND_INSIDE, .a = 1, .b = 2.5}, out);
	assert_string_equal(out, "inside 1..2.5");
	bp_text_condition(&(struct bp_condition){.op = 200, .a = 1, .b = 2.5}, out);
	assert_string_equal(out, "unknown (200)");
}

static void value_sources_are_printed_as_in_the_configuration(void **state)
{
	struct bp_value_source v = {.kind = BP_VALUE_TEXT};
	char out[BP_TEXT_SOURCE];
	const char *error;
	size_t at;

	bp_text_source(&v, out);
	assert_string_equal(out, "text");

	v.kind = BP_VALUE_JSON;
	assert_int_equal(
		bp_json_path_compile("$.sensors[2].celsius['two words'].x", &v.json, &error, &at),
		0);
	bp_text_source(&v, out);
	assert_string_equal(out, "json $.sensors[2].celsius['two words'].x");

	v.kind = BP_VALUE_BINARY;
	v.binary = (struct bp_binary_source){.offset = 4, .type = BP_BIN_INT16};
	bp_text_source(&v, out);
	assert_string_equal(out, "binary int16 at 4, big endian");
	v.binary = (struct bp_binary_source){.type = BP_BIN_FLOAT64, .little_endian = 1};
	bp_text_source(&v, out);
	assert_string_equal(out, "binary float64 at 0, little endian");
	v.binary = (struct bp_binary_source){.offset = 7, .type = BP_BIN_UINT8};
	bp_text_source(&v, out);
	assert_string_equal(out, "binary uint8 at 7");
}

/* Data of another process may have any value. */
static void damaged_sources(void **state)
{
	struct bp_value_source v;
	char out[BP_TEXT_SOURCE];

	for (unsigned fill = 0; fill < 256; fill++) {
		memset(&v, (int)fill, sizeof(v));
		for (v.kind = 0; v.kind < 5; v.kind++) {
			bp_text_source(&v, out);
			assert_true(strnlen(out, sizeof(out)) < sizeof(out));
		}
	}
	memset(&v, 0xff, sizeof(v));
	v.kind = BP_VALUE_JSON;
	for (unsigned i = 0; i < BP_JSON_STEPS_MAX; i++)
		v.json.step[i] = (typeof(v.json.step[i])){.name_off = 0, .name_len = 240};
	bp_text_source(&v, out);
	assert_true(strnlen(out, sizeof(out)) < sizeof(out));
}

static void durations_have_days_and_hours(void **state)
{
	char out[BP_TEXT_DURATION];

	bp_text_duration(59, out);
	assert_string_equal(out, "0:00:59");
	bp_text_duration(86399, out);
	assert_string_equal(out, "23:59:59");
	bp_text_duration(86400 * 12 + 3661, out);
	assert_string_equal(out, "12 d 01:01:01");
}

static void intervals_have_a_suitable_unit(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{472, "472 ns"},
		{15000, "15 us"},
		{13311, "13.31 us"},
		{-1250000, "-1.25 ms"},
		{2000000000, "2 s"},
		{7200000000000, "7200 s"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *text = bp_text_interval(cases[i].ns);

		assert_string_equal(json_string_value(text), cases[i].text);
		json_decref(text);
	}
}

static void check_json(const char *text, size_t max, const char *expected)
{
	json_t *v = bp_text_json(text, max);

	assert_non_null(v);
	assert_string_equal(json_string_value(v), expected);
	json_decref(v);
}

static void strings_of_others(void **state)
{
	check_json("plain", 100, "plain");
	check_json("not terminated", 3, "not");
	check_json("", 0, "");
	check_json("gr\xc3\xbc\xc3\x9f", 100, "gr\xc3\xbc\xc3\x9f");
	/* cut inside a character */
	check_json("gr\xc3\xbc\xc3\x9f", 5, "gr\xc3\xbc\xef\xbf\xbd");
	check_json("a\xff\xfe"
		   "b",
		100,
		"a\xef\xbf\xbd\xef\xbf\xbd"
		"b");
	check_json("\xed\xa0\x80", 100, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
}

static char *printed(const json_t *rows, const struct bp_column *columns)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	bp_table_print(out, columns, rows, "nothing");
	fclose(out);
	return text;
}

static const struct bp_column columns[] = {
	{"name", "NAME", 0},
	{"count", "COUNT", 1},
	{"note", "NOTE", 0},
	{NULL, NULL, 0},
};

static void tables_are_aligned(void **state)
{
	json_t *rows = json_pack("[{ss si ss} {ss sI sb} {ss sf sn} {}]", "name",
		"gr\xc3\xbc\xc3\x9f", "count", 7, "note", "x", "name", "a-longer-name", "count",
		(json_int_t)123456789012, "note", 1, "name", "n", "count", 2.5, "note");
	char *text = printed(rows, columns);

	assert_string_equal(text, "NAME                  COUNT  NOTE\n"
				  "gr\xc3\xbc\xc3\x9f                      7  x\n"
				  "a-longer-name  123456789012  yes\n"
				  "n                       2.5  -\n"
				  "-                         -  -\n");
	free(text);
	json_decref(rows);
}

static void terminals_are_protected(void **state)
{
	json_t *rows = json_pack("[{ss si ss}]", "name", "a\x1b[2J\x7f\nb", "count", 1, "note",
		"\xc2\x9b"
		"31m\xc2\xa0");
	char *text = printed(rows, columns);

	assert_non_null(strstr(text, "a\\x1b[2J\\x7f\\x0ab"));
	assert_non_null(strstr(text, "\\x9b"
				     "31m\xc2\xa0"));
	assert_null(strchr(text, '\x1b'));
	free(text);
	json_decref(rows);
}

static void empty_table_is_reported(void **state)
{
	json_t *rows = json_array();
	char *text = printed(rows, columns);

	assert_string_equal(text, "nothing\n");
	free(text);
	json_decref(rows);
}

static void rates_are_scaled(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"}, {0.254, "0.25"}, {7, "7"}, {9.99, "9.99"}, {12.34, "12.3"},
		{99.96, "100"}, {999, "999"}, {999.6, "1.00k"}, {1000, "1k"}, {1234567, "1.23M"},
		{-1500, "-1.50k"}, {1e21, "1000E"}, {NAN, "-"}, {INFINITY, "-"}};
	char out[BP_TEXT_SCALED];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bp_text_scaled(cases[i].value, out);
		assert_string_equal(out, cases[i].text);
	}
}

static void sparklines_are_from_zero_to_the_largest(void **state)
{
	const double v[] = {0, 1, NAN, 7, 3.5, -2};
	const double zeros[BP_TEXT_SPARKLINE_MAX + 9] = {0};
	char out[3 * BP_TEXT_SPARKLINE_MAX + 1];

	bp_text_sparkline(v, 6, false, out);
	assert_string_equal(out, "_. #-_");
	bp_text_sparkline(v, 4, true, out);
	assert_string_equal(out, "\u2581\u2582 \u2588");
	bp_text_sparkline(zeros, BP_TEXT_SPARKLINE_MAX + 9, true, out);
	assert_int_equal(strlen(out), 3 * BP_TEXT_SPARKLINE_MAX);
	bp_text_sparkline(v, 0, true, out);
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_iso_8601),
		cmocka_unit_test(addresses_have_brackets_for_ipv6),
		cmocka_unit_test(conditions_are_printed_as_in_the_configuration),
		cmocka_unit_test(value_sources_are_printed_as_in_the_configuration),
		cmocka_unit_test(damaged_sources),
		cmocka_unit_test(durations_have_days_and_hours),
		cmocka_unit_test(intervals_have_a_suitable_unit),
		cmocka_unit_test(rates_are_scaled),
		cmocka_unit_test(sparklines_are_from_zero_to_the_largest),
		cmocka_unit_test(strings_of_others),
		cmocka_unit_test(tables_are_aligned),
		cmocka_unit_test(terminals_are_protected),
		cmocka_unit_test(empty_table_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
