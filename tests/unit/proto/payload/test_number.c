/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <math.h>
#include <stdio.h>

#include "proto/payload/value.h"

/* Parses the whole of `text`; returns false when it is no number or does not end at its end. */
static bool parse(const char *text, size_t len, bool lenient, double *value)
{
	uint8_t *p = exact_copy(text, len);
	const uint8_t *end = bp_number_parse(p, p + len, lenient, value);
	bool whole = end == p + len;

	free(p);
	return whole;
}

static uint64_t bits(double v)
{
	uint64_t b;

	memcpy(&b, &v, sizeof(b));
	return b;
}

static void assert_as_strtod(const char *text)
{
	double expected = strtod(text, NULL), v = NAN;

	if (!parse(text, strlen(text), true, &v))
		fail_msg("%s is a number", text);
	if (!isfinite(expected)) {
		if (!isnan(v))
			fail_msg("%s is not finite, yet gave %.17g", text, v);
		return;
	}
	if (bits(v) != bits(expected))
		fail_msg("%s: %.17g (%a), expected %.17g (%a)", text, v, v, expected, expected);
}

static void same_double_as_strtod(void **state)
{
	static const char *const texts[] = {"0", "-0", "0.0", "1", "-1", "9", "10", "23.5",
		"-23.57", "81", "99999999", "9999999.9", "0.0000001", "12345678", "123456789",
		"1e5", "1E+5", "1e-5", "0e999999999999", "0.000e-5", "9007199254740992",
		"9007199254740993", "9007199254740991", "9007199254740993.0",
		"18446744073709551615", "18446744073709551616", "9999999999999999999",
		"22.299999999999997", "0.30000000000000004", "1.7976931348623157e308",
		"1.7976931348623158e308", "1.7976931348623159e308", "1e308", "1e309", "-1e309",
		"1e400", "1e99999999999999999999", "1e-99999999999999999999", "4.9e-324",
		"2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308",
		"2.2250738585072014e-308", "5e-324", "1e-325", "1e22", "1e23",
		"9007199254740992e22", "123e-22", "123e-23", "3.141592653589793",
		"3.14159265358979323846264338327950288419716939937510582097",
		"1.00000000000000011102230246251565404236316680908203125",
		"1.00000000000000011102230246251565404236316680908203124",
		"1.00000000000000011102230246251565404236316680908203126", "6.02214076e23",
		"1.602176634e-19", "0.1e1", "00012", "007.5", ".5", "5.", "+5", "-.5e1"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_as_strtod(texts[i]);
}

static void same_double_for_random_digits(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	for (int i = 0; i < 300000; i++) {
		char text[80];
		int n = 0, whole = (int)(next_random(&seed) % 21),
		    fraction = (int)(next_random(&seed) % 21);

		if (next_random(&seed) % 4 == 0)
			text[n++] = '-';
		for (int k = 0; k < whole; k++)
			text[n++] = (char)('0' + next_random(&seed) % 10);
		if (fraction != 0)
			text[n++] = '.';
		for (int k = 0; k < fraction; k++)
			text[n++] = (char)('0' + next_random(&seed) % 10);
		if (whole + fraction == 0)
			text[n++] = '0';
		if (next_random(&seed) % 3 == 0)
			n += sprintf(text + n, "e%d", (int)(next_random(&seed) % 700) - 350);
		text[n] = '\0';
		assert_as_strtod(text);
	}
}

static void same_double_for_random_bits(void **state)
{
	uint64_t seed = 0x123456789abcdef;

	for (int i = 0; i < 100000; i++) {
		uint64_t b = next_random(&seed);
		char text[64];
		double v;

		memcpy(&v, &b, sizeof(v));
		if (!isfinite(v))
			continue;
		for (int digits = 15; digits <= 20; digits++) {
			snprintf(text, sizeof(text), "%.*e", digits, v);
			assert_as_strtod(text);
		}
	}
}

/* Half way between two doubles and a digit thousands of places on, which alone decides. */
static void long_digit_strings_are_rounded_right(void **state)
{
	enum { LEN = 5000 };
	static const char half[] = "1.00000000000000011102230246251565404236316680908203125";
	char *text = malloc(LEN + 16);

	memset(text, '0', LEN);
	memcpy(text, half, sizeof(half) - 1);
	text[LEN] = '\0';
	assert_as_strtod(text); /* to even */
	text[LEN - 1] = '1';
	assert_as_strtod(text); /* above the half */

	memset(text, '9', LEN);
	text[1] = '.';
	assert_as_strtod(text);

	memset(text, '0', LEN); /* 0.000...01e5000 */
	text[1] = '.';
	sprintf(text + LEN - 1, "1e%d", LEN - 2);
	assert_as_strtod(text);

	memset(text, '0', LEN); /* 1000...e-4999 */
	text[0] = '1';
	sprintf(text + LEN, "e-%d", LEN - 1);
	assert_as_strtod(text);

	memset(text, '7', LEN);
	sprintf(text + LEN, "e-%d", LEN + 300);
	assert_as_strtod(text);
	text[LEN] = '\0'; /* 5,000 digits are no finite double */
	assert_as_strtod(text);
	free(text);
}

static void json_form_is_strict(void **state)
{
	static const char *const good[] = {"0", "-0", "10", "0.5", "1.25e3", "1E5", "1e+5", "1e-5",
		"-12.5", "123456789012345678901234567890"};
	static const char *const bad[] = {"", "-", "+1", "01", "-01", "00", ".5", "5.", "1.e5",
		"1e", "1e+", "--1", "e5", "a", " 1", "0x10", "NaN", "Infinity", "-Infinity", "1 ",
		"1_0", "1.5.5", "1e5.5"};
	double v;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(parse(good[i], strlen(good[i]), false, &v));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], strlen(bad[i]), false, &v))
			fail_msg("\"%s\" is no JSON number", bad[i]);
	}
}

static void position_after_the_number_is_returned(void **state)
{
	const uint8_t text[] = "12.5,7";
	double v = 0;

	assert_ptr_equal(bp_number_parse(text, text + 6, false, &v), text + 4);
	assert_true(v == 12.5);
}

static void infinite_numbers_leave_the_value_alone(void **state)
{
	double v = 42;

	assert_true(parse("1e999", 5, false, &v));
	assert_true(v == 42);
}

/* ---- bp_number_format ---- */

static void assert_round_trip(double v)
{
	char text[40];
	double back = NAN;
	int n;

	memset(text, '#', sizeof(text));
	n = bp_number_format(v, text);
	assert_in_range(n, 1, 31);
	assert_int_equal(text[n], '\0');
	assert_int_equal(strlen(text), n);
	assert_int_equal(text[32], '#');
	if (!parse(text, (size_t)n, false, &back) || bits(back) != bits(v))
		fail_msg("%a gave %s, which reads as %a", v, text, back);
	assert_true(bits(strtod(text, NULL)) == bits(v));
}

/* Significant digits of `text`. */
static int digit_count(const char *text)
{
	char d[40];
	int n = 0;

	for (; *text != '\0' && *text != 'e'; text++) {
		if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0'))
			d[n++] = *text;
	}
	while (n > 1 && d[n - 1] == '0')
		n--;
	return n;
}

/*
 * No shorter decimal reads back as `v`: with one digit fewer, the nearest below and above are the
 * only candidates.
 */
static void assert_shortest(double v)
{
	char text[40], shorter[40];
	int n;

	bp_number_format(v, text);
	n = digit_count(text);
	if (n < 2)
		return;
	snprintf(shorter, sizeof(shorter), "%.*e", n - 2, v);
	if (bits(strtod(shorter, NULL)) == bits(v))
		fail_msg("%s is longer than %s", text, shorter);
	for (int up = -1; up <= 1; up += 2) { /* the neighbors of the rounded one */
		char exact[40];
		char *e = strchr(shorter, 'e');
		long long digits = 0;

		for (char *p = shorter; p < e; p++) {
			if (*p >= '0' && *p <= '9')
				digits = digits * 10 + (*p - '0');
		}
		snprintf(exact, sizeof(exact), "%llde%d", digits + up, atoi(e + 1) - (n - 2));
		if (bits(strtod(exact, NULL)) == bits(fabs(v)))
			fail_msg("%s is longer than %s", text, exact);
	}
}

static void assert_format(double v, const char *expected)
{
	char text[40];

	assert_int_equal(bp_number_format(v, text), strlen(expected));
	assert_string_equal(text, expected);
}

static void numbers_are_formatted_for_display(void **state)
{
	char text[40];

	assert_format(0, "0");
	assert_format(-0.0, "-0");
	assert_format(81, "81");
	assert_format(23.5, "23.5");
	assert_format(-0.001, "-0.001");
	assert_format(0.1 + 0.2, "0.30000000000000004");
	assert_format(1e16, "10000000000000000");
	assert_format(1e17, "1e17");
	assert_format(1.5e-7, "1.5e-7");
	assert_format(1.5e-5, "0.000015");
	assert_format(123456789012345680, "1.2345678901234568e17");
	assert_format(5e-324, "5e-324");
	assert_format(-1.7976931348623157e308, "-1.7976931348623157e308");
	assert_format(0x1p-44, "5.684341886080802e-14"); /* nearest 16 digits do not read back */
	assert_int_equal(bp_number_format(NAN, text), 0);
	assert_int_equal(bp_number_format(INFINITY, text), 0);
}

/* Values as sensors send them: an integer over a power of ten. */
static void decimals_are_formatted_exactly(void **state)
{
	uint64_t seed = 2463534242;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		const uint64_t r = next_random(&seed);
		const int places = (int)(r % 9);
		const long long m = (long long)(r >> (12 + r / 16 % 50)) % 1000000000000000;
		char decimal[40], text[40];
		double v;

		snprintf(decimal, sizeof(decimal), "%s%llde-%d", r & 16 ? "-" : "", m, places);
		v = strtod(decimal, NULL);
		assert_round_trip(v);
		assert_shortest(v);
		bp_number_format(v, text);
		/* no zeros that say nothing */
		if (strchr(text, '.') != NULL && strchr(text, 'e') == NULL)
			assert_int_not_equal(text[strlen(text) - 1], '0');
	}
}

static void formatted_numbers_read_back(void **state)
{
	uint64_t seed = 88172645463325252;

	for (int i = 0; i < 50000; i++) {
		uint64_t b = next_random(&seed);
		double v;

		memcpy(&v, &b, sizeof(v));
		if (isfinite(v))
			assert_round_trip(v);
		assert_round_trip((double)(int64_t)(b >> 40) / 100);
	}
}

static void formatted_numbers_are_shortest(void **state)
{
	uint64_t seed = 2463534242;

	for (int e = -1074; e < 1024; e++) {
		double v = ldexp(1, e);

		assert_round_trip(v);
		assert_round_trip(nextafter(v, 0));
		if (v >= 0x1p-1022) { /* below, one digit more or less is another double's */
			assert_shortest(v);
			assert_shortest(nextafter(v, INFINITY));
		}
	}
	for (int i = 0; i < 20000; i++) {
		uint64_t b = next_random(&seed) & ~((uint64_t)1 << 63);
		double v;

		memcpy(&v, &b, sizeof(v));
		if (isnormal(v))
			assert_shortest(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_double_as_strtod),
		cmocka_unit_test(same_double_for_random_digits),
		cmocka_unit_test(same_double_for_random_bits),
		cmocka_unit_test(long_digit_strings_are_rounded_right),
		cmocka_unit_test(json_form_is_strict),
		cmocka_unit_test(position_after_the_number_is_returned),
		cmocka_unit_test(infinite_numbers_leave_the_value_alone),
		cmocka_unit_test(numbers_are_formatted_for_display),
		cmocka_unit_test(decimals_are_formatted_exactly),
		cmocka_unit_test(formatted_numbers_read_back),
		cmocka_unit_test(formatted_numbers_are_shortest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
