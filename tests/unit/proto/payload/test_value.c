/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <float.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "proto/payload/number.h"
#include "proto/payload/value.h"

static bool text(const char *payload, size_t len, double *value)
{
	uint8_t *p = exact_copy(payload, len);
	bool r = bp_value_text(p, len, value);

	free(p);
	return r;
}

static void a_number_is_a_value(void **state)
{
	static const struct {
		const char *payload;
		double value;
	} cases[] = {{"0", 0}, {"5", 5}, {"81", 81}, {"-7", -7}, {"+7", 7}, {"23.5", 23.5},
		{"-23.57", -23.57}, {".5", 0.5}, {"5.", 5}, {"-.5", -0.5}, {"1234567", 1234567},
		{"12345678", 12345678}, {"123456789", 123456789}, {"1234.567", 1234.567},
		{"12345.678", 12345.678}, {"0.000001", 0.000001}, {"007", 7}, {"1e3", 1000},
		{"1E-3", 0.001}, {"-1.5e+2", -150}, {" 42", 42}, {"42 ", 42}, {"\t42\r\n", 42},
		{"   -42.25   \n", -42.25}, {"23.456789012345678", 23.456789012345678},
		{"99999999", 99999999}, {"-99999999", -99999999},
		{"0000000000000000000000000005", 5}, {"1e-400", 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double v = NAN;

		if (!text(cases[i].payload, strlen(cases[i].payload), &v) || v != cases[i].value)
			fail_msg("\"%s\" gave %.17g", cases[i].payload, v);
	}
}

static void anything_else_is_none(void **state)
{
	static const char *const payloads[] = {"", " ", "\n", "-", "+", ".", "-.", "+.", "e5",
		".e5", "1e", "1e+", "--1", "+-1", "- 1", "1 2", "1,5", "1.2.3", "..", "1..2",
		"0x10", "1f", "nan", "NaN", "inf", "-inf", "Infinity", "23.5C", "C23.5", "\"5\"",
		"5\v", "5\f", "\302\2405", "1_000", "/", ":", "1/", "1:", "12345678x",
		"\xb1\xb2\xb3", "true"};
	double v = 42;

	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		if (text(payloads[i], strlen(payloads[i]), &v))
			fail_msg("\"%s\" is no value, yet gave %.17g", payloads[i], v);
		assert_true(v == 42);
	}
	assert_false(text("5\0", 2, &v));
	assert_false(text("\0", 1, &v));
	assert_false(text("1\0005", 3, &v));
}

/* Every string of up to four of these characters, and longer ones in steps, against strtod. */
static void short_texts_agree_with_strtod(void **state)
{
	static const char alphabet[] = "019.-+e ";
	enum { N = sizeof(alphabet) - 1 };

	for (unsigned len = 1; len <= 9; len++) {
		uint64_t all = 1, step;

		for (unsigned i = 0; i < len; i++)
			all *= N;
		step = all <= 32768 ? 1 : all / 32768 | 1;
		for (uint64_t k = 0; k < all; k += step) {
			char payload[16], *rest;
			double v = NAN, expected;
			uint64_t digits = k;
			size_t blanks, n;
			bool number;

			for (unsigned i = 0; i < len; i++, digits /= N)
				payload[i] = alphabet[digits % N];
			payload[len] = '\0';
			expected = strtod(payload, &rest);
			blanks = strspn(rest, " ");
			n = strlen(rest);
			number = rest != payload && blanks == n && !isnan(expected);
			if (isinf(expected))
				expected = copysign(DBL_MAX, expected);
			if (text(payload, len, &v) != number || (number && v != expected))
				fail_msg("\"%s\" gave %.17g", payload, v);
		}
	}
}

/* The digits of what ends at `text` + 8 + len, of which 8 bytes before it are of something else. */
static void same_digits_before(const char *text, unsigned len)
{
	uint8_t *p = exact_copy(text, 8 + len);
	uint32_t digits = 0, expected_digits = 0;
	unsigned point = 0, expected_point = 0;
	bool number =
		len != 0 && len <= BP_NUMBER_SHORT &&
		bp_number_digits(bp_load_short(p + 8, len), len, &expected_digits, &expected_point);

	if (bp_number_digits_before(p + 8 + len, len, &digits, &point) != number ||
		(number && (digits != expected_digits || point != expected_point)))
		fail_msg("\"%.*s\" gave %u, point %u", (int)len, text + 8, digits, point);
	free(p);
}

/* Similar bytes before them do not count. */
static void digit_runs_are_delimited_consistently(void **state)
{
	static const char alphabet[] = "0159.-/:x";
	enum { N = sizeof(alphabet) - 1 };
	uint64_t s = 42;

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		char text[18];

		for (unsigned i = 0; i < sizeof(text); i++) {
			s = s * 6364136223846793005u + 1442695040888963407u;
			/* mostly digits and points, so that many are numbers */
			text[i] = alphabet[(s >> 33) % (s >> 60 ? 5 : N)];
		}
		same_digits_before(text, round % 10);
	}
}

static bool binary(const void *bytes, size_t len, uint32_t offset, enum bp_binary_type type,
	bool little_endian, double *value)
{
	struct bp_binary_source s = {
		.offset = offset, .type = type, .little_endian = little_endian};
	uint8_t *p = exact_copy(bytes, len);
	bool r = bp_value_binary(p, len, &s, value);

	free(p);
	return r;
}

static void every_width_and_order_is_read(void **state)
{
	static const uint8_t bytes[] = {0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0x78};
	static const struct {
		enum bp_binary_type type;
		double big, little;
	} cases[] = {
		{BP_BIN_INT8, -1, -1},
		{BP_BIN_UINT8, 255, 255},
		{BP_BIN_INT16, -2, -257},
		{BP_BIN_UINT16, 65534, 65279},
		{BP_BIN_INT32, -66052, -50462977},
		{BP_BIN_UINT32, 4294901244, 4244504319},
		{BP_BIN_INT64, -283686952306312., 8717274513940545279.},
		{BP_BIN_UINT64, 18446460386757245304., 8717274513940545279.},
	};
	double v;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(binary(bytes, 8, 0, cases[i].type, false, &v));
		if (v != cases[i].big)
			fail_msg("type %d: %.17g", cases[i].type, v);
		assert_true(binary(bytes, 8, 0, cases[i].type, true, &v));
		if (v != cases[i].little)
			fail_msg("type %d: %.17g", cases[i].type, v);
	}
}

static void floats_are_read_when_finite(void **state)
{
	double v = 42;

	assert_true(binary("\x42\xa2\x00\x00", 4, 0, BP_BIN_FLOAT32, false, &v));
	assert_true(v == 81);
	assert_true(binary("\x00\x00\xa2\x42", 4, 0, BP_BIN_FLOAT32, true, &v));
	assert_true(v == 81);
	assert_true(binary("\x40\x54\x40\x00\x00\x00\x00\x00", 8, 0, BP_BIN_FLOAT64, false, &v));
	assert_true(v == 81);
	assert_true(binary("\x00\x00\x00\x00\x00\x40\x54\x40", 8, 0, BP_BIN_FLOAT64, true, &v));
	assert_true(v == 81);
	v = 42;
	assert_false(binary("\x7f\x80\x00\x00", 4, 0, BP_BIN_FLOAT32, false, &v));
	assert_false(binary("\xff\x80\x00\x00", 4, 0, BP_BIN_FLOAT32, false, &v));
	assert_false(binary("\x7f\xc0\x00\x00", 4, 0, BP_BIN_FLOAT32, false, &v));
	assert_false(binary("\x7f\xf0\x00\x00\x00\x00\x00\x00", 8, 0, BP_BIN_FLOAT64, false, &v));
	assert_false(binary("\x7f\xf8\x00\x00\x00\x00\x00\x00", 8, 0, BP_BIN_FLOAT64, false, &v));
	assert_true(v == 42);
}

static void fields_outside_the_payload_have_no_value(void **state)
{
	static const uint8_t widths[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
	uint8_t bytes[24] = {0};
	double v;

	for (unsigned type = 0; type < sizeof(widths); type++) {
		for (size_t len = 0; len <= sizeof(bytes); len++) {
			for (uint32_t offset = 0; offset <= 26; offset++)
				assert_int_equal(binary(bytes, len, offset,
							 (enum bp_binary_type)type, false, &v),
					offset + widths[type] <= len);
			assert_false(binary(
				bytes, len, UINT32_MAX, (enum bp_binary_type)type, true, &v));
			assert_false(binary(
				bytes, len, UINT32_MAX - 3, (enum bp_binary_type)type, true, &v));
		}
	}
	assert_false(binary(bytes, sizeof(bytes), 0, (enum bp_binary_type)10, false, &v));
	assert_false(binary(bytes, sizeof(bytes), 0, (enum bp_binary_type)255, false, &v));
}

static void extract_uses_the_source_it_is_given(void **state)
{
	struct bp_value_source s;
	const char *error;
	size_t at;
	double v = 0;

	memset(&s, 0, sizeof(s));
	s.kind = BP_VALUE_TEXT;
	assert_true(bp_value_extract((const uint8_t *)"57", 2, &s, &v));
	assert_true(v == 57);
	s.kind = BP_VALUE_JSON;
	assert_int_equal(bp_json_path_compile("$.a", &s.json, &error, &at), 0);
	assert_true(bp_value_extract((const uint8_t *)"{\"a\":9}", 7, &s, &v));
	assert_true(v == 9);
	s.kind = BP_VALUE_BINARY;
	s.binary = (struct bp_binary_source){.offset = 1, .type = BP_BIN_UINT8};
	assert_true(bp_value_extract((const uint8_t *)"57", 2, &s, &v));
	assert_true(v == '7');
	s.kind = 3;
	assert_false(bp_value_extract((const uint8_t *)"57", 2, &s, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_a_value),
		cmocka_unit_test(anything_else_is_none),
		cmocka_unit_test(short_texts_agree_with_strtod),
		cmocka_unit_test(digit_runs_are_delimited_consistently),
		cmocka_unit_test(every_width_and_order_is_read),
		cmocka_unit_test(floats_are_read_when_finite),
		cmocka_unit_test(fields_outside_the_payload_have_no_value),
		cmocka_unit_test(extract_uses_the_source_it_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
