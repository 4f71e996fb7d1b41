/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/payload/number.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/payload/value.h"

const double bp_pow10[BP_POW10_EXACT + 1] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
	1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

const double bp_number_scale[BP_NUMBER_SHORT + 1] = {1e0, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};

/* Index of n characters without the k-th that moves to position j of eight; 0x80: none, zero. */
#define AHEAD(n, k, j) ((j) - (8 - ((n) - ((k) < (n)))))
#define MOVE(n, k, j) (AHEAD(n, k, j) < 0 ? 0x80 : AHEAD(n, k, j) + (AHEAD(n, k, j) >= (k)))
#define ROW(n, k)                                                                                  \
	{                                                                                          \
		MOVE(n, k, 0), MOVE(n, k, 1), MOVE(n, k, 2), MOVE(n, k, 3), MOVE(n, k, 4),         \
			MOVE(n, k, 5), MOVE(n, k, 6), MOVE(n, k, 7)                                \
	}
#define ROWS(n)                                                                                    \
	{                                                                                          \
		ROW(n, 0), ROW(n, 1), ROW(n, 2), ROW(n, 3), ROW(n, 4), ROW(n, 5), ROW(n, 6),       \
			ROW(n, 7), ROW(n, 8)                                                       \
	}
const uint8_t bp_number_moves[BP_NUMBER_SHORT + 1][BP_NUMBER_SHORT + 1][8] = {
	ROWS(0), ROWS(1), ROWS(2), ROWS(3), ROWS(4), ROWS(5), ROWS(6), ROWS(7), ROWS(8)};

#if defined(__SSE4_1__)
const uint8_t bp_number_last[2 * BP_NUMBER_SHORT] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
#endif

#define MANTISSA_DIGITS 19 /* maximum that always fits in 64 bits */
#define INT_POW10_MAX 19   /* and the largest power of ten that does */
/*
 * No decimal longer than 767 digits is exactly between two doubles, so beyond these it only matters
 * whether a digit is not zero.
 */
#define KEPT_DIGITS 780
#define EXPONENT_MAX 1000000000000000 /* saturates; far beyond the effect of the digits */

struct decimal {
	const uint8_t *digits, *digits_end; /* digits with at most one point among them */
	uint64_t mantissa;                  /* the first MANTISSA_DIGITS significant digits */
	int64_t exponent;                   /* of ten, for `mantissa` */
	int64_t written;                    /* the exponent that the text gives */
	bool more;                          /* digits were left out of `mantissa` */
};

static inline bool is_digit(const uint8_t *p, const uint8_t *end)
{
	return p != end && (uint8_t)(*p - '0') < 10;
}

/* Adds the digits at [p, end) to `d`; each decrements the decimal exponent by `fraction`. */
static inline const uint8_t *read_digits(const uint8_t *p, const uint8_t *end, int fraction,
	unsigned *significant, struct decimal *d)
{
	for (; is_digit(p, end); p++) {
		if (*significant < MANTISSA_DIGITS) {
			d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
			*significant += d->mantissa != 0;
			d->exponent -= fraction;
		} else {
			d->more = true;
			d->exponent += 1 - fraction;
		}
	}
	return p;
}

/* The part after 'e'; NULL when it has no digit. */
static const uint8_t *read_exponent(const uint8_t *p, const uint8_t *end, int64_t *exponent)
{
	bool negative = false;
	int64_t e = 0;

	if (p != end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (!is_digit(p, end))
		return NULL;
	for (; is_digit(p, end); p++) {
		if (e < EXPONENT_MAX)
			e = e * 10 + (*p - '0');
	}
	*exponent = negative ? -e : e;
	return p;
}

static inline const uint8_t *read_decimal(
	const uint8_t *p, const uint8_t *end, bool lenient, struct decimal *d)
{
	unsigned significant = 0;
	const uint8_t *q;
	ptrdiff_t whole, fraction = 0;

	memset(d, 0, sizeof(*d));
	d->digits = p;
	q = read_digits(p, end, 0, &significant, d);
	whole = q - p;
	if (q != end && *q == '.') {
		p = q + 1;
		q = read_digits(p, end, 1, &significant, d);
		fraction = q - p;
		if (fraction == 0 && !lenient)
			return NULL;
	}
	if (lenient ? whole + fraction == 0 : whole == 0 || (whole > 1 && *d->digits == '0'))
		return NULL;
	d->digits_end = q;
	if (q != end && (*q | 0x20) == 'e') {
		q = read_exponent(q + 1, end, &d->written);
		d->exponent += d->written;
	}
	return q;
}

/* Both operands exact in a double: one rounding (Clinger's fast path). */
static inline bool convert_exact(const struct decimal *d, double *v)
{
	if (d->mantissa > (uint64_t)1 << DBL_MANT_DIG || d->exponent > BP_POW10_EXACT ||
		d->exponent < -BP_POW10_EXACT)
		return false;
	if (d->exponent < 0)
		*v = (double)(int64_t)d->mantissa / bp_pow10[-d->exponent];
	else
		*v = (double)(int64_t)d->mantissa * bp_pow10[d->exponent];
	return true;
}

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 u128;

/*
 * 17 to 19 digits, as programs print a double: exact in 128-bit integers. The mantissa is over
 * 2^53, so the quotient below has its top bit at 63 or above and the remainder is a sticky bit well
 * below the rounding position.
 */
static bool convert_u128(const struct decimal *d, double *v)
{
	uint64_t ten = 1;
	int64_t power = d->exponent < 0 ? -d->exponent : d->exponent;
	int shift = __builtin_clzll(d->mantissa);
	u128 n, q;

	if (power > INT_POW10_MAX)
		return false;
	for (int64_t i = 0; i < power; i++)
		ten *= 10;
	if (d->exponent >= 0) {
		*v = (double)((u128)d->mantissa * ten);
		return true;
	}
	n = (u128)(d->mantissa << shift) << 64;
	q = n / ten;
	*v = ldexp((double)(q | (q * ten != n)), -64 - shift);
	return true;
}
#else
static bool convert_u128(const struct decimal *d, double *v)
{
	return false;
}
#endif

/*
 * All other numbers: strtod() converts the digits without a point, independent of the locale. The
 * buffer is bounded for any length of the text.
 */
static double convert_any(const struct decimal *d)
{
	char text[KEPT_DIGITS + 32];
	int64_t exponent = d->written;
	unsigned kept = 0;
	bool point = false, sticky = false;
	int saved = errno;
	double v;

	for (const uint8_t *p = d->digits; p != d->digits_end; p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		if (kept < KEPT_DIGITS) {
			if (kept != 0 || *p != '0')
				text[kept++] = (char)*p;
			exponent -= point;
		} else {
			sticky |= *p != '0';
			exponent += !point;
		}
	}
	if (sticky) {
		text[kept++] = '1';
		exponent--;
	}
	if (exponent > 99999)
		exponent = 99999;
	if (exponent < -99999)
		exponent = -99999;
	snprintf(text + kept, sizeof(text) - kept, "e%d", (int)exponent);
	v = strtod(text, NULL);
	errno = saved;
	return v;
}

const uint8_t *bp_number_end(const uint8_t *p, const uint8_t *end)
{
	struct decimal d;

	if (p != end && *p == '-')
		p++;
	return read_decimal(p, end, false, &d);
}

const uint8_t *bp_number_parse(const uint8_t *p, const uint8_t *end, bool lenient, double *value)
{
	struct decimal d;
	bool negative = false;
	double v;

	if (p != end && (*p == '-' || (lenient && *p == '+')))
		negative = *p++ == '-';
	p = read_decimal(p, end, lenient, &d);
	if (p == NULL)
		return NULL;
	if (d.mantissa == 0)
		v = 0;
	else if (d.more || !(convert_exact(&d, &v) || convert_u128(&d, &v)))
		v = convert_any(&d);
	if (isfinite(v))
		*value = negative ? -v : v;
	return p;
}

#define DIGITS_MAX 17 /* enough for every double */

struct digits {
	char d[DIGITS_MAX + 1];
	int count;
	int exponent; /* of the first digit */
};

/* |v| correctly rounded to `count` digits, trailing zeros removed. */
static void to_digits(double v, int count, struct digits *out)
{
	char text[40];
	const char *p = text;

	snprintf(text, sizeof(text), "%.*e", count - 1, fabs(v));
	out->count = 0;
	for (; *p != 'e'; p++) { /* others: the locale's decimal point */
		if (*p >= '0' && *p <= '9')
			out->d[out->count++] = *p;
	}
	out->exponent = (int)strtol(p + 1, NULL, 10);
	while (out->count > 1 && out->d[out->count - 1] == '0')
		out->count--;
}

static bool reads_back(const struct digits *g, double v)
{
	char text[40];
	double back = -1;
	int n = snprintf(text, sizeof(text), "%.*se%d", g->count, g->d, g->exponent - g->count + 1);

	bp_number_parse((const uint8_t *)text, (const uint8_t *)text + n, false, &back);
	return back == fabs(v);
}

/*
 * Below a power of two doubles are twice as dense as above, so the nearest decimal of some length
 * may be too low, while the next higher one is converted back exactly.
 */
static bool next_up_reads_back(struct digits *g, int count, double v)
{
	int i = count - 1;

	while (g->count < count)
		g->d[g->count++] = '0';
	while (i >= 0 && g->d[i] == '9')
		g->d[i--] = '0';
	if (i < 0)
		return false; /* all nines: the sum is shorter and was tried before */
	g->d[i]++;
	return reads_back(g, v);
}

/*
 * |v| as an integer of at most 15 digits over a power of ten, as measurements usually are. The
 * division is exact to the last bit, so the decimal is converted back to v; and no other decimal of
 * up to 15 digits is, so with the lowest power it is the shortest. Returns false for other values.
 */
static bool short_decimal(double v, struct digits *g)
{
	static const double power[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
	const double a = fabs(v);
	char text[DIGITS_MAX];
	uint64_t m = 0;
	unsigned k;
	int n = 0;

	for (k = 0; k < sizeof(power) / sizeof(power[0]); k++) {
		if (a * power[k] >= 1e15)
			return false;
		m = (uint64_t)(a * power[k] + 0.5);
		if ((double)m / power[k] == a)
			break;
	}
	if (k == sizeof(power) / sizeof(power[0]) || m >= 1000000000000000u)
		return false;
	for (; m != 0; m /= 10)
		text[n++] = (char)('0' + m % 10);
	g->exponent = n - 1 - (int)k;
	for (g->count = 0; n > 0; g->count++)
		g->d[g->count] = text[--n];
	while (g->count > 1 && g->d[g->count - 1] == '0')
		g->count--;
	return true;
}

static void shortest(double v, struct digits *g)
{
	if (short_decimal(v, g))
		return;
	/*
	 * Any decimal of up to 15 digits is preserved by the conversion to a normal double and
	 * back, so shorter ones need not be tried; a subnormal double has less precision.
	 */
	for (int n = fabs(v) < DBL_MIN ? 1 : DBL_DIG; n < DIGITS_MAX; n++) {
		to_digits(v, n, g);
		if (reads_back(g, v) || next_up_reads_back(g, n, v))
			return;
	}
	to_digits(v, DIGITS_MAX, g);
}

/* d.ddd: the point after digit exponent + 1, with zeros after the last digit. */
static int put_positional(const struct digits *g, char *out)
{
	int n = 0, at = g->exponent + 1;

	if (at <= 0) {
		out[n++] = '0';
		out[n++] = '.';
		for (; at < 0; at++)
			out[n++] = '0';
		at = -1; /* written */
	}
	for (int i = 0; i < g->count; i++) {
		if (i == at)
			out[n++] = '.';
		out[n++] = g->d[i];
	}
	for (int i = g->count; i < at; i++)
		out[n++] = '0';
	return n;
}

static int put_exponent(const struct digits *g, char *out)
{
	int n = 0;

	out[n++] = g->d[0];
	if (g->count > 1) {
		out[n++] = '.';
		memcpy(out + n, g->d + 1, (size_t)(g->count - 1));
		n += g->count - 1;
	}
	return n + sprintf(out + n, "e%d", g->exponent);
}

int bp_number_format(double v, char *out)
{
	struct digits g;
	int n = 0;

	if (!isfinite(v)) {
		out[0] = '\0';
		return 0;
	}
	if (signbit(v))
		out[n++] = '-';
	if (v == 0) {
		out[n++] = '0';
	} else {
		shortest(v, &g);
		if (g.exponent > -6 && g.exponent < DIGITS_MAX)
			n += put_positional(&g, out + n);
		else
			n += put_exponent(&g, out + n);
	}
	out[n] = '\0';
	return n;
}
