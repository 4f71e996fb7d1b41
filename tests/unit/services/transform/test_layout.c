/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <float.h>
#include <math.h>

#include "proto/net/frame.h"
#include "services/transform/layout.h"

static struct bp_transform_points points;

static struct bp_transform_layout of_type(uint8_t type, uint8_t fraction, bool little)
{
	const uint16_t size = (uint16_t)bp_transform_type_size(type);
	struct bp_transform_layout l = {.little_endian = little, .cartesian = true};
	const char *what;

	for (uint16_t i = 0; i < 3; i++) {
		l.in[i] = (struct bp_transform_field){(uint16_t)(i * size), type, fraction};
		l.out[i] = (struct bp_transform_field){(uint16_t)((i + 3) * size), type, fraction};
	}
	assert_true(bp_transform_layout_finish(&l, &what));
	assert_int_equal(l.length, 6 * size);
	return l;
}

/* Bytes of `v` as the layout's first output; *saturated: whether it was. */
static uint64_t written(const struct bp_transform_layout *l, double v, bool *saturated)
{
	uint8_t bytes[48] = {0};
	uint64_t bits = 0;
	unsigned got;

	points.v[0][5] = v;
	points.v[1][5] = points.v[2][5] = 0;
	got = bp_transform_layout_write(l, bytes, &points, 5);
	assert_true(got <= 1);
	*saturated = got != 0;
	for (unsigned i = 0; i < bp_transform_type_size(l->out[0].type); i++)
		bits = bits << 8 | bytes[l->out[0].offset + i];
	return bits;
}

static void holds(const struct bp_transform_layout *l, double v, uint64_t bits)
{
	bool saturated;

	assert_true(written(l, v, &saturated) == bits);
	assert_false(saturated);
}

static void saturates(const struct bp_transform_layout *l, double v, uint64_t bits)
{
	bool saturated;

	assert_true(written(l, v, &saturated) == bits);
	assert_true(saturated);
}

static void kunze2021_packets(void **state)
{
	struct bp_transform_layout l = bp_transform_layout_kunze2021;
	const char *what;

	assert_int_equal(l.length, 40);
	assert_int_equal(bp_transform_layout_kunze2021_timed.length, 57);
	assert_int_equal(bp_transform_layout_kunze2021_timed.in[0].offset, 17);
	assert_int_equal(bp_transform_layout_kunze2021_timed.out[2].offset, 37);
	l.kunze2021 = false;
	assert_true(bp_transform_layout_finish(&l, &what));
	assert_true(l.kunze2021 && l.length == 40 && what == NULL);
	l.kunze2021 = false;
	l.length = 0;
	assert_true(bp_transform_layout_finish(&l, &what));
	assert_true(l.kunze2021 && l.length == 24);
	l = bp_transform_layout_kunze2021_timed;
	l.kunze2021 = false;
	assert_true(bp_transform_layout_finish(&l, &what));
	assert_true(l.kunze2021 && l.length == 57);
}

/* Whatever differs from the paper's numbers is not read as they are. */
static void non_lin2018_aggregates_are_rejected(void **state)
{
	const char *what;

	for (unsigned change = 0; change < 9; change++) {
		struct bp_transform_layout l = bp_transform_layout_kunze2021;

		l.length = 0;
		switch (change) {
		case 0:
			l.cartesian = true;
			break;
		case 1:
			l.little_endian = true;
			break;
		case 2:
			l.degrees = true;
			break;
		case 3:
			l.in[1].fraction = 24;
			break;
		case 4:
			l.in[0].type = BP_TRANSFORM_UFIXED32;
			break;
		case 5:
			l.in[2].type = BP_TRANSFORM_FIXED32;
			break;
		case 6:
			l.out[2].offset += 1;
			break;
		case 7:
			l.in[1].offset = 8;
			l.in[2].offset = 4;
			break;
		default:
			l.out[0].type = BP_TRANSFORM_FLOAT32;
		}
		assert_true(bp_transform_layout_finish(&l, &what));
		assert_false(l.kunze2021);
	}
}

static void refused(struct bp_transform_layout l, const char *says)
{
	const char *what = NULL;

	assert_false(bp_transform_layout_finish(&l, &what));
	assert_non_null(what);
	assert_string_equal(what, says);
}

static void invalid_layouts(void **state)
{
	struct bp_transform_layout l = bp_transform_layout_kunze2021;
	const char *what;

	l.out[1].type = BP_TRANSFORM_TYPES;
	refused(l, "a field has an unknown type");
	l = bp_transform_layout_kunze2021;
	l.in[2].fraction = 32;
	refused(l, "a field has more than 31 bits of fraction");
	l = bp_transform_layout_kunze2021;
	l.length = 0;
	l.out[2].offset = BP_TRANSFORM_OFFSET_MAX;
	assert_true(bp_transform_layout_finish(&l, &what));
	assert_int_equal(l.length, BP_TRANSFORM_OFFSET_MAX + 4);
	l.out[2].offset++;
	refused(l, "a field begins more than 1400 bytes into the payload");
	l = bp_transform_layout_kunze2021;
	l.length = 24;
	assert_true(bp_transform_layout_finish(&l, &what));
	l.length = 23;
	refused(l, "a field reaches beyond the length");
}

static void overlapping_fields(void **state)
{
	struct bp_transform_layout l = bp_transform_layout_kunze2021;
	const char *what;

	l.in[2].offset = 5;
	refused(l, "two inputs overlap");
	l = bp_transform_layout_kunze2021;
	l.out[0].offset = l.out[2].offset;
	refused(l, "two outputs overlap");
	l = bp_transform_layout_kunze2021;
	l.out[0].type = BP_TRANSFORM_FLOAT64;
	refused(l, "two outputs overlap");
	/* x, y, z where the reading was */
	l = of_type(BP_TRANSFORM_FLOAT32, 0, false);
	memcpy(l.out, l.in, sizeof(l.out));
	l.length = 0;
	assert_true(bp_transform_layout_finish(&l, &what));
	assert_int_equal(l.length, 12);
}

static void outputs_in_place_of_inputs(void **state)
{
	struct bp_transform_layout l = of_type(BP_TRANSFORM_FIXED32, 0, false);
	uint8_t bytes[12] = {0, 0, 0, 1, 0, 0, 0, 2, 255, 255, 255, 253};
	const uint8_t expected[12] = {255, 255, 255, 253, 0, 0, 0, 1, 0, 0, 0, 2};
	const char *what;

	l.out[0].offset = 4;
	l.out[1].offset = 8;
	l.out[2].offset = 0;
	l.length = 0;
	assert_true(bp_transform_layout_finish(&l, &what));
	assert_int_equal(bp_transform_layout_read(&l, bytes, &points, 63), BP_TRANSFORM_GOOD);
	assert_int_equal(bp_transform_layout_write(&l, bytes, &points, 63), 0);
	assert_memory_equal(bytes, expected, 12);
}

static void the_ends_of_fixed_point(void **state)
{
	const struct bp_transform_layout l = of_type(BP_TRANSFORM_FIXED32, 25, false);
	const double half = 0x1p-26;

	holds(&l, 0, 0);
	holds(&l, -0.0, 0);
	holds(&l, 1, 0x02000000);
	holds(&l, -64, 0x80000000);
	holds(&l, -64 - half, 0x80000000); /* halfway, to the even one */
	saturates(&l, nextafter(-64 - half, -65), 0x80000000);
	holds(&l, 64 - 2 * half, 0x7fffffff);
	holds(&l, nextafter(64 - half, 0), 0x7fffffff);
	saturates(&l, 64 - half, 0x7fffffff); /* halfway, and 64 is the even one */
	saturates(&l, 64, 0x7fffffff);
	saturates(&l, 1e300, 0x7fffffff);
	saturates(&l, -1e300, 0x80000000);
	saturates(&l, INFINITY, 0x7fffffff);
	saturates(&l, -INFINITY, 0x80000000);
	saturates(&l, NAN, 0x7fffffff);
	saturates(&l, -NAN, 0x7fffffff);
}

static void half_is_rounded_to_even(void **state)
{
	const struct bp_transform_layout l = of_type(BP_TRANSFORM_FIXED32, 0, false);

	holds(&l, 0.5, 0);
	holds(&l, nextafter(0.5, 1), 1);
	holds(&l, 1.5, 2);
	holds(&l, 2.5, 2);
	holds(&l, -0.5, 0);
	holds(&l, -1.5, (uint32_t)-2);
	holds(&l, -2.5, (uint32_t)-2);
	holds(&l, 5e-324, 0);
	holds(&l, 2147483646.5, 2147483646);
}

static void the_ends_of_unsigned_fixed_point(void **state)
{
	const struct bp_transform_layout l = of_type(BP_TRANSFORM_UFIXED32, 31, false);
	const double half = 0x1p-32;

	holds(&l, 0, 0);
	holds(&l, -half, 0);
	saturates(&l, nextafter(-half, -1), 0);
	saturates(&l, -1, 0);
	saturates(&l, -INFINITY, 0);
	holds(&l, 1, 0x80000000);
	holds(&l, nextafter(2 - half, 0), 0xffffffff);
	saturates(&l, 2 - half, 0xffffffff);
	saturates(&l, INFINITY, 0xffffffff);
	saturates(&l, NAN, 0xffffffff);
}

static void the_ends_of_floats(void **state)
{
	const struct bp_transform_layout l = of_type(BP_TRANSFORM_FLOAT32, 0, false);
	const struct bp_transform_layout d = of_type(BP_TRANSFORM_FLOAT64, 0, false);
	const double beyond = 0x1.ffffffp127; /* halfway to 2^128 */

	holds(&l, 1.5, 0x3fc00000);
	holds(&l, -0.0, 0x80000000);
	holds(&l, 0x1p-149, 1);
	holds(&l, 0x1p-150, 0);
	holds(&l, (double)FLT_MAX, 0x7f7fffff);
	holds(&l, nextafter(beyond, 0), 0x7f7fffff);
	saturates(&l, beyond, 0x7f7fffff);
	saturates(&l, INFINITY, 0x7f7fffff);
	holds(&l, nextafter(-beyond, 0), 0xff7fffff);
	saturates(&l, -beyond, 0xff7fffff);
	saturates(&l, -1e300, 0xff7fffff);
	saturates(&l, NAN, 0x7f7fffff);
	holds(&d, -2.5, 0xc004000000000000);
	holds(&d, DBL_MAX, 0x7fefffffffffffff);
	holds(&d, -DBL_MAX, 0xffefffffffffffff);
	saturates(&d, INFINITY, 0x7fefffffffffffff);
	saturates(&d, -INFINITY, 0xffefffffffffffff);
	saturates(&d, NAN, 0x7fefffffffffffff);
}

static void each_coordinate_has_its_bit(void **state)
{
	const struct bp_transform_layout l = of_type(BP_TRANSFORM_FIXED32, 25, true);
	uint8_t bytes[24];

	for (unsigned which = 0; which < 8; which++) {
		for (unsigned c = 0; c < 3; c++)
			points.v[c][0] = which & 1u << c ? 64 : 63;
		assert_int_equal(bp_transform_layout_write(&l, bytes, &points, 0), which);
	}
}

static void either_order_of_bytes(void **state)
{
	const uint8_t big[8] = {0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18};
	const uint8_t little[8] = {0x18, 0x2d, 0x44, 0x54, 0xfb, 0x21, 0x09, 0x40};
	struct bp_transform_layout l = of_type(BP_TRANSFORM_FLOAT64, 0, false);
	uint8_t bytes[48] = {0};

	memcpy(bytes + 8, big, 8);
	assert_int_equal(bp_transform_layout_read(&l, bytes, &points, 2), BP_TRANSFORM_GOOD);
	assert_true(points.v[0][2] == 0 && points.v[1][2] == M_PI && points.v[2][2] == 0);
	l = of_type(BP_TRANSFORM_FLOAT64, 0, true);
	points.v[2][2] = M_PI;
	assert_int_equal(bp_transform_layout_write(&l, bytes, &points, 2), 0);
	assert_memory_equal(bytes + 40, little, 8);
	memcpy(bytes, bytes + 40, 8);
	assert_int_equal(bp_transform_layout_read(&l, bytes, &points, 1), BP_TRANSFORM_GOOD);
	assert_true(points.v[0][1] == M_PI);
}

static void numbers_of_each_type(void **state)
{
	const uint8_t bytes[48] = {0x80, 0, 0, 1, 0x80, 0, 0, 1, 0xbf, 0x80, 0, 0};
	struct bp_transform_layout l = of_type(BP_TRANSFORM_FIXED32, 31, false);

	l.in[1].type = BP_TRANSFORM_UFIXED32;
	l.in[2].type = BP_TRANSFORM_FLOAT32;
	assert_int_equal(bp_transform_layout_read(&l, bytes, &points, 0), BP_TRANSFORM_GOOD);
	assert_true(points.v[0][0] == -1 + 0x1p-31);
	assert_true(points.v[1][0] == 1 + 0x1p-31);
	assert_true(points.v[2][0] == -1);
	l.in[0].fraction = l.in[1].fraction = 0;
	assert_int_equal(bp_transform_layout_read(&l, bytes, &points, 0), BP_TRANSFORM_GOOD);
	assert_true(points.v[0][0] == -2147483647.0);
	assert_true(points.v[1][0] == 2147483649.0);
}

static enum bp_transform_bad read_three(struct bp_transform_layout l, double a, double b, double c)
{
	uint8_t bytes[48] = {0};
	enum bp_transform_bad bad;

	memcpy(bytes, &a, 8);
	memcpy(bytes + 8, &b, 8);
	memcpy(bytes + 16, &c, 8);
	l.little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	points.v[0][7] = 99;
	bad = bp_transform_layout_read(&l, bytes, &points, 7);
	if (bad != BP_TRANSFORM_GOOD)
		for (unsigned i = 0; i < 3; i++)
			assert_true(points.v[i][7] == 0);
	return bad;
}

static void invalid_samples(void **state)
{
	struct bp_transform_layout l = of_type(BP_TRANSFORM_FLOAT64, 0, true);
	const double most = BP_TRANSFORM_ANGLE_MAX, more = nextafter(most, INFINITY);

	for (unsigned cartesian = 0; cartesian < 2; cartesian++) {
		l.cartesian = cartesian == 1;
		assert_int_equal(read_three(l, NAN, 0, 0), BP_TRANSFORM_NOT_FINITE);
		assert_int_equal(read_three(l, 0, INFINITY, 0), BP_TRANSFORM_NOT_FINITE);
		assert_int_equal(read_three(l, 0, 0, -INFINITY), BP_TRANSFORM_NOT_FINITE);
		assert_int_equal(read_three(l, DBL_MAX, most, -most), BP_TRANSFORM_GOOD);
		assert_true(points.v[0][7] == DBL_MAX && points.v[2][7] == -most);
	}
	l.cartesian = true;
	assert_int_equal(read_three(l, 0, more, DBL_MAX), BP_TRANSFORM_GOOD);
	l.cartesian = false;
	assert_int_equal(read_three(l, 0, more, 0), BP_TRANSFORM_ANGLE);
	assert_int_equal(read_three(l, 0, 0, -more), BP_TRANSFORM_ANGLE);
	/* a value that is not finite is reported first, at any position */
	assert_int_equal(read_three(l, 0, more, NAN), BP_TRANSFORM_NOT_FINITE);
}

static void degrees_are_converted(void **state)
{
	struct bp_transform_layout l = of_type(BP_TRANSFORM_FLOAT64, 0, true);
	const double most = BP_TRANSFORM_ANGLE_MAX;

	l.cartesian = false;
	l.degrees = true;
	assert_int_equal(read_three(l, 180, 180, -90), BP_TRANSFORM_GOOD);
	assert_true(points.v[0][7] == 180);
	assert_true(points.v[1][7] == M_PI && points.v[2][7] == -M_PI / 2);
	/* the bound is one of radians */
	assert_int_equal(read_three(l, 0, most * 57, -most * 57), BP_TRANSFORM_GOOD);
	assert_int_equal(read_three(l, 0, most * 58, 0), BP_TRANSFORM_ANGLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kunze2021_packets),
		cmocka_unit_test(non_lin2018_aggregates_are_rejected),
		cmocka_unit_test(invalid_layouts),
		cmocka_unit_test(overlapping_fields),
		cmocka_unit_test(outputs_in_place_of_inputs),
		cmocka_unit_test(the_ends_of_fixed_point),
		cmocka_unit_test(half_is_rounded_to_even),
		cmocka_unit_test(the_ends_of_unsigned_fixed_point),
		cmocka_unit_test(the_ends_of_floats),
		cmocka_unit_test(each_coordinate_has_its_bit),
		cmocka_unit_test(either_order_of_bytes),
		cmocka_unit_test(numbers_of_each_type),
		cmocka_unit_test(invalid_samples),
		cmocka_unit_test(degrees_are_converted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
