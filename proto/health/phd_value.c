/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/phd_value.h"

#include <stdbool.h>
#include <string.h>

#include "proto/net/frame.h"
#include "proto/net/vec16.h"

const char *const bp_phd_special_text[] = {
	[BP_PHD_FINITE] = "",
	[BP_PHD_PLUS_INF] = "+INF",
	[BP_PHD_NAN] = "NaN",
	[BP_PHD_NRES] = "NRes",
	[BP_PHD_RESERVED] = "reserved",
	[BP_PHD_MINUS_INF] = "-INF",
};

/* ---- numbers ---- */

/*
 * The characters of a number are moved from sixteen source bytes to their positions with one
 * shuffle, without a branch on the number of digits or the position of the point, which is
 * unpredictable: measurements differ in both. Source: eight digits with leading zeros, then these
 * three.
 */
#define AT_ZERO 8
#define AT_POINT 9
#define AT_MINUS 10
#define SOURCE_TAIL ((uint64_t)'0' | (uint64_t)'.' << 8 | (uint64_t)'-' << 16)
#define NOTHING 0x80

#define PLAIN_MIN (-8) /* exponents that are written as digits */
#define PLAIN_MAX 7

/*
 * The source index of the byte at position j of a number: its magnitude has n digits (none for
 * zero), its exponent is e, and s is 1 if it is negative. POSITIVE and FRACTION are without the
 * sign.
 */
#define POSITIVE(n, e, k)                                                                          \
	((k) < (n) ? 8 - (n) + (k) : (k) == 0 || ((n) != 0 && (k) < (n) + (e)) ? AT_ZERO : NOTHING)
#define MIXED(n, f, k)                                                                             \
	((k) < (n) - (f)           ? 8 - (n) + (k)                                                 \
		: (k) == (n) - (f) ? AT_POINT                                                      \
		: (k) <= (n)       ? 7 - (n) + (k)                                                 \
				   : NOTHING)
#define BELOW_ONE(n, f, k)                                                                         \
	((k) == 1                     ? AT_POINT                                                   \
		: (k) < 2 + (f) - (n) ? AT_ZERO                                                    \
		: (k) < 2 + (f)       ? 6 + (k) - (f)                                              \
				      : NOTHING)
#define UNSIGNED(n, e, k)                                                                          \
	((e) >= 0 ? POSITIVE(n, e, k) : (n) > -(e) ? MIXED(n, -(e), k) : BELOW_ONE(n, -(e), k))
#define MOVE(s, n, e, j) ((s) == 1 && (j) == 0 ? AT_MINUS : UNSIGNED(n, e, (j) - (s)))
/* The length is stored at an index where no number has a character. */
#define LENGTH(s, n, e)                                                                            \
	((s) + ((e) >= 0 ? ((n) != 0 ? (n) + (e) : 1) : (n) > -(e) ? (n) + 1 : 2 - (e)))
#define BY_PLACE(s, n, e)                                                                          \
	{                                                                                          \
		MOVE(s, n, e, 0), MOVE(s, n, e, 1), MOVE(s, n, e, 2), MOVE(s, n, e, 3),            \
			MOVE(s, n, e, 4), MOVE(s, n, e, 5), MOVE(s, n, e, 6), MOVE(s, n, e, 7),    \
			MOVE(s, n, e, 8), MOVE(s, n, e, 9), MOVE(s, n, e, 10), MOVE(s, n, e, 11),  \
			MOVE(s, n, e, 12), MOVE(s, n, e, 13), MOVE(s, n, e, 14), LENGTH(s, n, e)   \
	}
#define BY_EXPONENT(s, n)                                                                          \
	{                                                                                          \
		BY_PLACE(s, n, -8), BY_PLACE(s, n, -7), BY_PLACE(s, n, -6), BY_PLACE(s, n, -5),    \
			BY_PLACE(s, n, -4), BY_PLACE(s, n, -3), BY_PLACE(s, n, -2),                \
			BY_PLACE(s, n, -1), BY_PLACE(s, n, 0), BY_PLACE(s, n, 1),                  \
			BY_PLACE(s, n, 2), BY_PLACE(s, n, 3), BY_PLACE(s, n, 4),                   \
			BY_PLACE(s, n, 5), BY_PLACE(s, n, 6), BY_PLACE(s, n, 7)                    \
	}
#define BY_DIGITS(s)                                                                               \
	{                                                                                          \
		BY_EXPONENT(s, 0), BY_EXPONENT(s, 1), BY_EXPONENT(s, 2), BY_EXPONENT(s, 3),        \
			BY_EXPONENT(s, 4), BY_EXPONENT(s, 5), BY_EXPONENT(s, 6), BY_EXPONENT(s, 7) \
	}
static const _Alignas(64) uint8_t moves[2][8][PLAIN_MAX - PLAIN_MIN + 1][16] = {
	BY_DIGITS(0), BY_DIGITS(1)};

/* Each of out[0..16) is the source byte that `from` selects; NOTHING: any. */
static inline void move16(char *out, uint64_t digits, const uint8_t from[16])
{
	const bp_v16 moved = bp_v16_pick(bp_v16_of64(digits, SOURCE_TAIL), bp_v16_load(from));

	memcpy(out, &moved, sizeof(moved));
}

/* Four digits of x < 10000 as characters, the first in the lowest byte. */
static inline uint32_t four_digits(uint32_t x)
{
	uint32_t pairs = x / 100 | (x % 100) << 16;
	uint32_t tens = (pairs * 103 >> 10) & 0x000f000f; /* 103 / 1024: exact below 179 */

	return (tens | (pairs - tens * 10) << 8) + 0x30303030;
}

static inline unsigned write_plain(
	char *out, uint64_t digits, bool negative, unsigned n, int exponent)
{
	const uint8_t *from = moves[negative][n][exponent - PLAIN_MIN];

	move16(out, digits, from);
	return from[15];
}

unsigned bp_phd_sfloat_text(uint16_t v, char out[BP_PHD_NUMBER_MAX], enum bp_phd_special *special)
{
	int exponent = (int16_t)v >> 12, mantissa = (int16_t)(v << 4) >> 4;
	uint32_t x = (uint32_t)(mantissa < 0 ? -mantissa : mantissa);
	unsigned n = (x > 0) + (x > 9) + (x > 99) + (x > 999);
	unsigned code = v - 0x07feu; /* the five lie together, with exponent 0 */

	if (__builtin_expect(code < 5, 0)) {
		*special = (enum bp_phd_special)(BP_PHD_PLUS_INF + code);
		return 0;
	}
	*special = BP_PHD_FINITE;
	return write_plain(out, (uint64_t)four_digits(x) << 32, mantissa < 0, n, exponent);
}

/* "e-128" */
static unsigned write_exponent(char *out, int exponent)
{
	unsigned x = (unsigned)(exponent < 0 ? -exponent : exponent), at = 0;

	out[at++] = 'e';
	if (exponent < 0)
		out[at++] = '-';
	if (x >= 100)
		out[at++] = (char)('0' + x / 100);
	if (x >= 10)
		out[at++] = (char)('0' + x / 10 % 10);
	out[at++] = (char)('0' + x % 10);
	return at;
}

unsigned bp_phd_float_text(uint32_t v, char out[BP_PHD_NUMBER_MAX], enum bp_phd_special *special)
{
	int exponent = (int32_t)v >> 24, mantissa = (int32_t)(v << 8) >> 8;
	uint32_t x = (uint32_t)(mantissa < 0 ? -mantissa : mantissa);
	unsigned n =
		(x > 0) + (x > 9) + (x > 99) + (x > 999) + (x > 9999) + (x > 99999) + (x > 999999);
	uint64_t digits = (uint64_t)four_digits(x % 10000) << 32 | four_digits(x / 10000);
	unsigned code = v - 0x007ffffeu, len;

	if (__builtin_expect(code < 5, 0)) {
		*special = (enum bp_phd_special)(BP_PHD_PLUS_INF + code);
		return 0;
	}
	*special = BP_PHD_FINITE;
	if (exponent >= PLAIN_MIN && exponent <= PLAIN_MAX)
		return write_plain(out, digits, mantissa < 0, n, exponent);
	len = write_plain(out, digits, mantissa < 0, n, 0);
	return len + write_exponent(out + len, exponent);
}

/* ---- times ---- */

#define EACH(byte) ((byte)*0x0101010101010101u)
#define TOPS EACH(0x80)
/* The bytes of AbsoluteTime from the century on, the first highest. */
#define EIGHT(cc, yy, mm, dd, h, m, s, f)                                                          \
	((uint64_t)(cc) << 56 | (uint64_t)(yy) << 48 | (uint64_t)(mm) << 40 |                      \
		(uint64_t)(dd) << 32 | (uint64_t)(h) << 24 | (uint64_t)(m) << 16 |                 \
		(uint64_t)(s) << 8 | (uint64_t)(f))
#define SMALLEST EIGHT(0, 0, 1, 1, 0, 0, 0, 0)
#define LARGEST EIGHT(99, 99, 12, 31, 23, 59, 59, 99)

static inline unsigned byte(uint64_t v, unsigned i)
{
	return (unsigned)(v >> (56 - 8 * i)) & 0xff;
}

/* Whether the day exists: `time` has eight numbers, within SMALLEST and LARGEST. */
static inline bool day_exists(uint64_t time)
{
	static const uint8_t days[13] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	unsigned century = byte(time, 0), year = byte(time, 1), month = byte(time, 2);
	bool leap = ((year != 0 ? year : century) & 3) == 0;

	return byte(time, 3) <= days[month] + (leap && month == 2 ? 1u : 0u);
}

static inline void put_pair(char *out, unsigned tens, unsigned ones)
{
	out[0] = (char)('0' + tens);
	out[1] = (char)('0' + ones);
}

#define TIME_FORM "0000-00-00T00:00:00.00"
#define TIME_LENGTH 22u
static const uint8_t pair_at[8] = {0, 2, 5, 8, 11, 14, 17, 20};

unsigned bp_phd_abs_time_text(const uint8_t p[8], char out[BP_PHD_TIME_MAX])
{
	uint64_t v = (uint64_t)bp_be32(p) << 32 | bp_be32(p + 4);
	uint64_t tens = v >> 4 & EACH(0x0f), ones = v & EACH(0x0f), time = tens * 10 + ones;

	/* a digit above 9 carries; the top bit remains if it is neither too small nor too large */
	if ((((tens + EACH(0x06)) | (ones + EACH(0x06))) & EACH(0x10)) != 0 ||
		(((time | TOPS) - SMALLEST) & ((LARGEST | TOPS) - time) & TOPS) != TOPS ||
		!day_exists(time))
		return 0;
	memcpy(out, TIME_FORM, TIME_LENGTH);
	for (unsigned i = 0; i < 8; i++)
		put_pair(out + pair_at[i], byte(tens, i), byte(ones, i));
	return TIME_LENGTH;
}

static void put_number(char *out, unsigned two_digits)
{
	put_pair(out, two_digits / 10, two_digits % 10);
}

#define DAY_SECONDS 86400u
#define DAY_MINUTES 1440
/* Days from 0000-03-01 to 1900-01-01, in the calendar of today continued backwards. */
#define DAYS_TO_1900 693901u
#define CENTURY_DAYS 36524u /* the last of four has one more */
#define ERA_DAYS 146097u    /* four centuries, after which the calendar repeats itself */

/* The day `days` after 0000-03-01; years begin in March, so that the leap day is a year's last. */
static void put_date(char *out, uint32_t days)
{
	uint32_t era = days / ERA_DAYS, day = days % ERA_DAYS;
	uint32_t year = (day - day / 1460 + day / CENTURY_DAYS - day / (ERA_DAYS - 1)) / 365;
	uint32_t month; /* from March on */

	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153; /* 153 days: five months from March or from August on */
	day -= (153 * month + 2) / 5;
	year += 400 * era + (month >= 10);
	put_number(out, year / 100);
	put_number(out + 2, year % 100);
	put_number(out + 5, month < 10 ? month + 3 : month - 9);
	put_number(out + 8, day + 1);
}

unsigned bp_phd_bo_time_text(const uint8_t p[8], char out[BP_PHD_TIME_MAX])
{
	int offset = (int16_t)bp_be16(p + 6);
	unsigned distance = (unsigned)(offset < 0 ? -offset : offset), second;
	uint64_t local;

	if (distance >= DAY_MINUTES)
		return 0;
	/* a day more, so that 1899 is not below zero */
	local = (uint64_t)((int64_t)bp_be32(p) + DAY_SECONDS + (int64_t)offset * 60);
	second = (unsigned)(local % DAY_SECONDS);
	memcpy(out, TIME_FORM "+00:00", TIME_LENGTH + 6);
	put_date(out, (uint32_t)(local / DAY_SECONDS) + DAYS_TO_1900 - 1);
	put_number(out + 11, second / 3600);
	put_number(out + 14, second / 60 % 60);
	put_number(out + 17, second % 60);
	put_number(out + 20, bp_be16(p + 4) * 100u >> 16);
	if (offset < 0)
		out[22] = '-';
	put_number(out + 23, distance / 60);
	put_number(out + 26, distance % 60);
	return TIME_LENGTH + 6;
}
