/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/transform/random_number.h"

#include "tests/unit/times.h"
#include "services/transform/layout.h"

/*
 * Random numbers of random types, against arithmetic that is written down from the definitions:
 * long double and whole numbers, one step after the other.
 */
static uint64_t seed = 20210531;

struct number {
	uint64_t bits;
	bool saturated;
};

/* A double times a power of two is exact in a long double, and so is its floor below 2^63. */
static struct number slow_fixed(double v, unsigned fraction, int64_t least, int64_t greatest)
{
	const long double s = ldexpl((long double)v, (int)fraction);
	long double below, rest;
	int64_t n;

	if (isnan(v) || s >= 0x1p40L)
		return (struct number){(uint32_t)greatest, true};
	if (s <= -0x1p40L)
		return (struct number){(uint32_t)least, true};
	below = floorl(s);
	rest = s - below;
	n = (int64_t)below;
	if (rest > 0.5L || (rest == 0.5L && n % 2 != 0))
		n++;
	if (n > greatest)
		return (struct number){(uint32_t)greatest, true};
	if (n < least)
		return (struct number){(uint32_t)least, true};
	return (struct number){(uint32_t)n, false};
}

/* Sign, exponent and fraction from those of the double: 52 bits become 23. */
static struct number slow_float(double v)
{
	uint64_t bits, mantissa, kept, rest, half, sign;
	int exponent, drop = 29;

	memcpy(&bits, &v, sizeof(bits));
	sign = bits >> 63 << 31;
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	mantissa = (bits & 0xfffffffffffff) | 1ull << 52;
	if (exponent == 1024)
		return (struct number){(isnan(v) ? 0 : sign) | 0x7f7fffff, true};
	if (exponent < -126) { /* a subnormal float: fewer bits stay */
		drop += -126 - exponent;
		exponent = -127;
	}
	if (drop > 54)
		return (struct number){sign, false};
	kept = mantissa >> drop;
	rest = mantissa & ((1ull << drop) - 1);
	half = 1ull << (drop - 1);
	if (rest > half || (rest == half && kept % 2 != 0))
		kept++;
	/* 24 bits of which the highest is not written; a carry goes into the exponent */
	if (exponent == -127)
		bits = kept;
	else
		bits = ((uint64_t)(exponent + 127) << 23) + (kept - (1u << 23));
	if (bits > 0x7f7fffff)
		return (struct number){sign | 0x7f7fffff, true};
	return (struct number){sign | bits, false};
}

static struct number slow_double(double v)
{
	uint64_t bits;

	if (!isfinite(v)) {
		v = v < 0 ? -0x1.fffffffffffffp1023 : 0x1.fffffffffffffp1023;
		memcpy(&bits, &v, sizeof(bits));
		return (struct number){bits, true};
	}
	memcpy(&bits, &v, sizeof(bits));
	return (struct number){bits, false};
}

static struct number slow(const struct bp_transform_field *f, double v)
{
	switch (f->type) {
	case BP_TRANSFORM_FIXED32:
		return slow_fixed(v, f->fraction, INT32_MIN, INT32_MAX);
	case BP_TRANSFORM_UFIXED32:
		return slow_fixed(v, f->fraction, 0, UINT32_MAX);
	case BP_TRANSFORM_FLOAT32:
		return slow_float(v);
	default:
		return slow_double(v);
	}
}

/* Three fields side by side in any order, behind up to 20 bytes. */
static void random_fields(struct bp_transform_field f[3], uint16_t *at)
{
	const unsigned first = (unsigned)(next_random(&seed) % 3);
	const unsigned turn = 1 + (unsigned)(next_random(&seed) % 2);

	*at = (uint16_t)(*at + next_random(&seed) % 20);
	for (unsigned i = 0; i < 3; i++) {
		struct bp_transform_field *g = &f[(first + i * turn) % 3];

		g->type = (uint8_t)(next_random(&seed) % BP_TRANSFORM_TYPES);
		g->fraction = (uint8_t)(next_random(&seed) % 32);
		g->offset = *at;
		*at = (uint16_t)(*at + bp_transform_type_size(g->type));
	}
}

static struct bp_transform_layout random_layout(void)
{
	struct bp_transform_layout l = {0};
	const char *what;
	uint16_t at = 0;

	random_fields(l.in, &at);
	if (next_random(&seed) % 4 == 0)
		at = l.in[0].offset; /* on the inputs, maybe on a part of them */
	random_fields(l.out, &at);
	l.little_endian = next_random(&seed) % 2;
	l.cartesian = next_random(&seed) % 2;
	l.degrees = next_random(&seed) % 2;
	assert_true(bp_transform_layout_finish(&l, &what));
	return l;
}

static uint64_t bits_at(const uint8_t *p, const struct bp_transform_field *f, bool little)
{
	const unsigned size = bp_transform_type_size(f->type);
	uint64_t bits = 0;

	for (unsigned i = 0; i < size; i++)
		bits = bits << 8 | p[f->offset + (little ? size - 1 - i : i)];
	return bits;
}

static bool inside(const struct bp_transform_field f[3], unsigned byte)
{
	for (unsigned c = 0; c < 3; c++)
		if (byte - f[c].offset < bp_transform_type_size(f[c].type))
			return true;
	return false;
}

static void numbers_are_written_as_defined(void **state)
{
	static struct bp_transform_points p;
	uint8_t before[128], saturated[BP_TRANSFORM_BURST];

	for (unsigned round = 0; round < TEST_TIMES(20000); round++) {
		const struct bp_transform_layout l = random_layout();
		const unsigned n = (unsigned)(next_random(&seed) % (BP_TRANSFORM_BURST + 1));
		uint8_t *payload[BP_TRANSFORM_BURST];
		uint64_t any;

		for (unsigned i = 0; i < sizeof(before); i++)
			before[i] = (uint8_t)next_random(&seed);
		for (unsigned i = 0; i < n; i++) {
			payload[i] = exact_copy(before, l.length);
			for (unsigned c = 0; c < 3; c++)
				p.v[c][i] = random_number(&seed, l.out[c].fraction);
		}
		any = bp_transform_layout_write_all(&l, payload, n, &p, saturated);
		for (unsigned i = 0; i < n; i++) {
			uint8_t *alone = exact_copy(before, l.length);
			unsigned expected = 0;

			for (unsigned c = 0; c < 3; c++) {
				const struct number s = slow(&l.out[c], p.v[c][i]);

				assert_true(
					bits_at(payload[i], &l.out[c], l.little_endian) == s.bits);
				expected |= (unsigned)s.saturated << c;
			}
			assert_int_equal(saturated[i], expected);
			assert_int_equal(any >> i & 1, expected != 0);
			for (unsigned o = 0; o < l.length; o++)
				if (!inside(l.out, o))
					assert_int_equal(payload[i][o], before[o]);
			assert_int_equal(bp_transform_layout_write(&l, alone, &p, i), expected);
			assert_memory_equal(alone, payload[i], l.length);
			free(alone);
			free(payload[i]);
		}
		assert_true(n == 64 || any >> n == 0);
	}
}

static long double slow_read(const uint8_t *p, const struct bp_transform_field *f, bool little)
{
	const uint64_t bits = bits_at(p, f, little);
	const uint64_t fraction = bits & 0x7fffff, exponent = bits >> 23 & 0xff;
	long double v;
	double d;

	switch (f->type) {
	case BP_TRANSFORM_FIXED32:
		return ldexpl((long double)bits - (bits >> 31 ? 0x1p32L : 0), -(int)f->fraction);
	case BP_TRANSFORM_UFIXED32:
		return ldexpl((long double)bits, -(int)f->fraction);
	case BP_TRANSFORM_FLOAT32:
		if (exponent == 255)
			return fraction != 0 ? NAN : INFINITY;
		v = ldexpl((long double)(exponent != 0 ? fraction | 1u << 23 : fraction),
			(exponent != 0 ? (int)exponent : 1) - 150);
		return bits >> 31 ? -v : v;
	default:
		memcpy(&d, &bits, sizeof(d));
		return (long double)d;
	}
}

static enum bp_transform_bad slow_judge(const struct bp_transform_layout *l, long double v[3])
{
	for (unsigned c = 0; c < 3; c++)
		if (!isfinite(v[c]))
			return BP_TRANSFORM_NOT_FINITE;
	for (unsigned c = 1; c < 3 && !l->cartesian; c++) {
		if (l->degrees)
			v[c] *= 3.14159265358979323846264338327950288L / 180;
		if (fabsl(v[c]) > (long double)BP_TRANSFORM_ANGLE_MAX)
			return BP_TRANSFORM_ANGLE;
	}
	return BP_TRANSFORM_GOOD;
}

static void numbers_are_read_as_defined(void **state)
{
	static struct bp_transform_points p, one;
	unsigned reasons[3] = {0};
	uint8_t bad[BP_TRANSFORM_BURST];

	for (unsigned round = 0; round < TEST_TIMES(20000); round++) {
		const struct bp_transform_layout l = random_layout();
		const unsigned n = (unsigned)(next_random(&seed) % (BP_TRANSFORM_BURST + 1));
		uint8_t *payload[BP_TRANSFORM_BURST], bytes[128];
		uint64_t any;

		for (unsigned i = 0; i < n; i++) {
			for (unsigned o = 0; o < sizeof(bytes); o++)
				bytes[o] = (uint8_t)next_random(&seed);
			payload[i] = exact_copy(bytes, l.length);
		}
		memset(&p, 0xff, sizeof(p));
		any = bp_transform_layout_read_all(&l, (const uint8_t *const *)payload, n, &p, bad);
		for (unsigned i = 0; i < n; i++) {
			long double v[3] = {0};
			enum bp_transform_bad expected;

			for (unsigned c = 0; c < 3; c++)
				v[c] = slow_read(payload[i], &l.in[c], l.little_endian);
			expected = slow_judge(&l, v);
			assert_int_equal(bad[i], expected);
			assert_int_equal(any >> i & 1, expected != BP_TRANSFORM_GOOD);
			assert_int_equal(
				bp_transform_layout_read(&l, payload[i], &one, i), expected);
			reasons[expected]++;
			for (unsigned c = 0; c < 3; c++) {
				const double got = p.v[c][i];

				assert_memory_equal(&got, &one.v[c][i], sizeof(got));
				if (expected != BP_TRANSFORM_GOOD)
					assert_true(got == 0);
				else if (c != 0 && l.degrees && !l.cartesian)
					assert_true(fabsl((long double)got - v[c]) <=
						    fabsl(v[c]) * 0x1p-51L + 0x1p-1074L);
				else
					assert_true((long double)got == v[c]);
			}
			free(payload[i]);
		}
		assert_true(n == 64 || any >> n == 0);
		for (unsigned i = n; i % 8 != 0; i++)
			assert_true(p.v[0][i] == 0 && p.v[1][i] == 0 && p.v[2][i] == 0);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_true(reasons[i] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_written_as_defined),
		cmocka_unit_test(numbers_are_read_as_defined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
