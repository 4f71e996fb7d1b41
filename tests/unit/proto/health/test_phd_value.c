/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <stdio.h>
#include <time.h>

#include <jansson.h>

#include "proto/health/phd_value.h"

/*
 * The reference works on strings of decimal digits: a float is a mantissa and an exponent in two's
 * complement, and each is read bit by bit. It uses no machine numbers of that size, and does not
 * round.
 */

#define DIGITS 40

/* digits = 2 * digits + bit, in place. */
static void double_decimal(char *digits, unsigned bit)
{
	size_t n = strlen(digits);
	unsigned carry = bit;

	while (n-- > 0) {
		unsigned d = (unsigned)(digits[n] - '0') * 2 + carry;

		digits[n] = (char)('0' + d % 10);
		carry = d / 10;
	}
	if (carry != 0) {
		memmove(digits + 1, digits, strlen(digits) + 1);
		digits[0] = (char)('0' + carry);
	}
}

/* The `width` bits of v from `low` on as a magnitude in decimal; true: it is negative. */
static bool decimal_of_bits(uint32_t v, unsigned low, unsigned width, char digits[DIGITS])
{
	bool negative = v >> (low + width - 1) & 1, carry = true;
	uint8_t bits[32];

	for (unsigned i = 0; i < width; i++) {
		uint8_t bit = v >> (low + i) & 1;

		if (negative) { /* two's complement: all turned round, and one added */
			bit = !bit;
			bits[i] = bit ^ carry;
			carry = bit && carry;
		} else {
			bits[i] = bit;
		}
	}
	strcpy(digits, "0");
	for (unsigned i = width; i-- > 0;)
		double_decimal(digits, bits[i]);
	return negative;
}

static void insert(char *s, size_t at, const char *what, size_t times)
{
	for (; times > 0; times--) {
		memmove(s + at + strlen(what), s + at, strlen(s + at) + 1);
		memcpy(s + at, what, strlen(what));
	}
}

/* The text that the header promises for a float of `mantissa` and `exponent` bits. */
static void reference(uint32_t v, unsigned mantissa, unsigned exponent, char out[4 * DIGITS])
{
	char e[DIGITS];
	bool minus, e_minus;
	size_t by;

	minus = decimal_of_bits(v, 0, mantissa, out);
	e_minus = decimal_of_bits(v, mantissa, exponent, e);
	by = (size_t)atoi(e);
	if (by > (e_minus ? 8 : 7)) {
		insert(out, strlen(out), "e", 1);
		insert(out, strlen(out), "-", e_minus);
		insert(out, strlen(out), e, 1);
	} else if (e_minus) {
		insert(out, 0, "0", strlen(out) <= by ? by + 1 - strlen(out) : 0);
		insert(out, strlen(out) - by, ".", 1);
	} else if (strcmp(out, "0") != 0) {
		insert(out, strlen(out), "0", by);
	}
	insert(out, 0, "-", minus);
}

/* Text of v in a block of exactly the promised size, terminated; "" with a special value. */
static enum bp_phd_special text_of(uint32_t v, bool wide, char text[BP_PHD_NUMBER_MAX + 1])
{
	enum bp_phd_special special = (enum bp_phd_special)99;
	char *out = malloc(BP_PHD_NUMBER_MAX);
	unsigned n;

	assert_non_null(out);
	n = wide ? bp_phd_float_text(v, out, &special)
		 : bp_phd_sfloat_text((uint16_t)v, out, &special);
	assert_true(n <= BP_PHD_NUMBER_MAX);
	memcpy(text, out, n);
	text[n] = '\0';
	free(out);
	assert_int_equal(n == 0, special != BP_PHD_FINITE);
	return special;
}

static enum bp_phd_special expected_special(uint32_t v, uint32_t plus_inf)
{
	for (unsigned i = 0; i < 5; i++) {
		if (v == plus_inf + i)
			return (enum bp_phd_special)(i + 1);
	}
	return BP_PHD_FINITE;
}

static void check(uint32_t v, bool wide)
{
	char text[BP_PHD_NUMBER_MAX + 1], expected[4 * DIGITS];
	enum bp_phd_special special = text_of(v, wide, text);

	assert_int_equal(special, expected_special(v, wide ? 0x007ffffe : 0x07fe));
	if (special != BP_PHD_FINITE)
		return;
	reference(v, wide ? 24 : 12, wide ? 8 : 4, expected);
	if (strcmp(text, expected) != 0)
		fail_msg("%08x: %s, expected %s", v, text, expected);
}

static void every_sfloat_is_exact(void **state)
{
	unsigned finite = 0;

	(void)state;
	for (uint32_t v = 0; v <= UINT16_MAX; v++) {
		char text[BP_PHD_NUMBER_MAX + 1];

		check(v, false);
		finite += text_of(v, false, text) == BP_PHD_FINITE;
	}
	assert_int_equal(finite, 65536 - 5);
}

static void floats_are_exact_at_the_edges(void **state)
{
	static const int32_t edges[] = {0, 1, 2, 5, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 9999,
		10000, 10001, 99999, 100000, 100001, 999999, 1000000, 1000001, 8388604, 8388605,
		8388606, 8388607, 8388608};

	(void)state;
	for (int exponent = -128; exponent < 128; exponent++) {
		for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
			uint32_t top = (uint32_t)exponent << 24;

			check(top | ((uint32_t)edges[i] & 0xffffff), true);
			check(top | ((uint32_t)-edges[i] & 0xffffff), true);
		}
	}
}

static void random_floats_are_exact(void **state)
{
	uint64_t random = 0x11073;

	(void)state;
	for (unsigned i = 0; i < 400000; i++) {
		uint64_t r = next_random(&random);
		uint32_t v = (uint32_t)r >> (r >> 40 & 15);

		if ((i & 1) != 0) /* exponents that are written as digits, mantissas of all sizes */
			v = (uint32_t)((int32_t)v >> (8 + (r >> 44 & 15))) & 0xffffff;
		if ((i & 3) == 1)
			v |= (uint32_t)((int)(r >> 32 & 15) - 8) << 24;
		check(v, true);
	}
}

/* ---- the collected pairs ---- */

static const json_t *pairs(const json_t *root, const char *type)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)root, key, value)
	{
		if (strncmp(key, type, strlen(type)) == 0)
			return value;
	}
	fail_msg("no %s in the fixture", type);
	return NULL;
}

static void check_pair(const json_t *pair, bool wide)
{
	uint32_t v = (uint32_t)strtoul(json_string_value(json_array_get(pair, 0)), NULL, 16);
	const json_t *value = json_array_get(pair, 1);
	char text[BP_PHD_NUMBER_MAX + 1];
	enum bp_phd_special special = text_of(v, wide, text);
	double number = 0;

	if (json_is_string(value)) {
		assert_string_equal(bp_phd_special_text[special], json_string_value(value));
		return;
	}
	assert_int_equal(special, BP_PHD_FINITE);
	number = strtod(text, NULL);
	/* both are the double nearest to the same decimal */
	assert_true(number >= json_number_value(value) && number <= json_number_value(value));
}

static void collected_floats_have_their_values(void **state)
{
	json_t *root = json_load_file(FIXTURES "/phd-floats.json", JSON_DECODE_INT_AS_REAL, NULL);
	const json_t *pair;
	size_t i, n = 0;

	(void)state;
	assert_non_null(root);
	json_array_foreach(pairs(root, "SFLOAT-Type"), i, pair)
	{
		check_pair(pair, false);
		n++;
	}
	assert_int_equal(n, 18);
	json_array_foreach(pairs(root, "FLOAT-Type"), i, pair)
	{
		check_pair(pair, true);
		n++;
	}
	assert_int_equal(n, 34);
	json_decref(root);
}

/* The output is a JSON number of the same value. */
static void texts_are_json_numbers(void **state)
{
	(void)state;
	for (uint32_t v = 0; v <= UINT16_MAX; v += 7) {
		char text[BP_PHD_NUMBER_MAX + 1];
		json_t *number;

		if (text_of(v, false, text) != BP_PHD_FINITE)
			continue;
		number = json_loads(text, JSON_DECODE_ANY, NULL);
		if (number == NULL)
			fail_msg("%04x: %s is no JSON", v, text);
		json_decref(number);
	}
}

/* ---- times ---- */

static unsigned abs_time(const uint8_t *bytes, char text[BP_PHD_TIME_MAX + 1])
{
	uint8_t *p = exact_copy(bytes, 8);
	char *out = malloc(BP_PHD_TIME_MAX);
	unsigned n;

	assert_non_null(out);
	n = bp_phd_abs_time_text(p, out);
	assert_true(n <= BP_PHD_TIME_MAX);
	memcpy(text, out, n);
	text[n] = '\0';
	free(out);
	free(p);
	return n;
}

static int days_in(int year, int month)
{
	if (month == 2)
		return year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) ? 29 : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* By the hexadecimal digits, which are the decimal ones or wrong. */
static void check_abs_time(const uint8_t *p)
{
	char hex[17], text[BP_PHD_TIME_MAX + 1], expected[64];
	int year, month, day, hour, minute, second, hundredth;
	unsigned n = abs_time(p, text);

	for (unsigned i = 0; i < 8; i++)
		snprintf(hex + 2 * i, 3, "%02x", p[i]);
	if (strspn(hex, "0123456789") != 16) {
		assert_int_equal(n, 0);
		return;
	}
	assert_int_equal(sscanf(hex, "%4d%2d%2d%2d%2d%2d%2d", &year, &month, &day, &hour, &minute,
				 &second, &hundredth),
		7);
	if (month < 1 || month > 12 || day < 1 || day > days_in(year, month) || hour > 23 ||
		minute > 59 || second > 59) {
		assert_int_equal(n, 0);
		return;
	}
	snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d.%02d", year, month, day,
		hour, minute, second, hundredth);
	assert_string_equal(text, expected);
}

static uint8_t bcd(unsigned v)
{
	return (uint8_t)(v / 10 << 4 | v % 10);
}

static void days_of_all_years_are_known(void **state)
{
	(void)state;
	for (unsigned year = 0; year < 10000; year += year % 100 < 9 ? 1 : 7) {
		for (unsigned month = 0; month < 14; month++) {
			for (unsigned day = 0; day < 33; day += day == 1 ? 27 : 1) {
				uint8_t p[8] = {bcd(year / 100), bcd(year % 100), bcd(month),
					bcd(day), 0x12, 0x34, 0x56, 0x78};

				check_abs_time(p);
			}
		}
	}
}

static void every_byte_of_a_time_is_checked(void **state)
{
	static const uint8_t times[][8] = {{0x20, 0x26, 0x01, 0x01, 0x12, 0, 0, 0},
		{0x20, 0x24, 0x02, 0x29, 0x23, 0x59, 0x59, 0x99}, {0, 0, 0, 0, 0, 0, 0, 0},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	uint64_t random = 2448;

	(void)state;
	for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
		for (unsigned at = 0; at < 8; at++) {
			for (unsigned v = 0; v < 256; v++) {
				uint8_t p[8];

				memcpy(p, times[t], 8);
				p[at] = (uint8_t)v;
				check_abs_time(p);
			}
		}
	}
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t r = next_random(&random);
		uint8_t p[8];

		for (unsigned k = 0; k < 8; k++)
			p[k] = (i & 1) != 0 ? (uint8_t)(r >> (8 * k))
					    : bcd((r >> (8 * k) & 0xff) % (k == 2 ? 14 : 61));
		check_abs_time(p);
	}
}

static void check_bo_time(uint32_t s, uint16_t fraction, int16_t offset)
{
	const uint8_t bytes[8] = {(uint8_t)(s >> 24), (uint8_t)(s >> 16), (uint8_t)(s >> 8),
		(uint8_t)s, (uint8_t)(fraction >> 8), (uint8_t)fraction,
		(uint8_t)((uint16_t)offset >> 8), (uint8_t)offset};
	uint8_t *p = exact_copy(bytes, 8);
	char *out = malloc(BP_PHD_TIME_MAX), expected[64], day[32];
	/* 25,567 days from 1900 to 1970 */
	time_t local = (time_t)s - (time_t)25567 * 86400 + offset * 60;
	unsigned n;
	struct tm tm;

	assert_non_null(out);
	n = bp_phd_bo_time_text(p, out);
	assert_true(n <= BP_PHD_TIME_MAX);
	if (abs(offset) >= 24 * 60) {
		assert_int_equal(n, 0);
	} else {
		assert_non_null(gmtime_r(&local, &tm));
		assert_true(strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) > 0);
		snprintf(expected, sizeof(expected), "%s.%02d%c%02d:%02d", day,
			(int)((double)fraction / 65536 * 100), offset < 0 ? '-' : '+',
			abs(offset) / 60, abs(offset) % 60);
		assert_int_equal(n, strlen(expected));
		if (memcmp(out, expected, n) != 0)
			fail_msg("%u s: %.*s, expected %s", s, (int)n, out, expected);
	}
	free(out);
	free(p);
}

static void base_offset_times_agree_with_the_library(void **state)
{
	static const int16_t offsets[] = {0, 1, -1, 60, -60, 330, 345, -210, 840, -720, 1439, -1439,
		1440, -1440, INT16_MAX, INT16_MIN};
	uint64_t random = 2690;

	(void)state;
	for (uint32_t day = 0; day < 49710; day++) /* all that there are */
		check_bo_time(day * 86400 + 86399, 0, 0);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		check_bo_time(0, 0, offsets[i]);
		check_bo_time(UINT32_MAX, UINT16_MAX, offsets[i]);
		check_bo_time(3976214400u, 0x8000, offsets[i]); /* 2026-01-01 */
	}
	for (unsigned f = 0; f <= UINT16_MAX; f++)
		check_bo_time(3976214400u, (uint16_t)f, 0);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t r = next_random(&random);

		check_bo_time((uint32_t)r, (uint16_t)(r >> 32), (int16_t)((int)(r >> 48) % 1500));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sfloat_is_exact),
		cmocka_unit_test(floats_are_exact_at_the_edges),
		cmocka_unit_test(random_floats_are_exact),
		cmocka_unit_test(collected_floats_have_their_values),
		cmocka_unit_test(texts_are_json_numbers),
		cmocka_unit_test(days_of_all_years_are_known),
		cmocka_unit_test(every_byte_of_a_time_is_checked),
		cmocka_unit_test(base_offset_times_agree_with_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
