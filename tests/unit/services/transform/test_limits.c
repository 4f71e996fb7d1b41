/* SPDX-License-Identifier: BSD-3-Clause */
/* Every method at the ends of every range, against long double. */
#include "tests/unit/services/transform/points.h"

static const double radii[] = {0, -0.0, 1, -1, 20, -20, 63.99999997019768, -64,
	2.9802322387695312e-08, 5e-324, -1e-310, 1e-300};
static const double odd_angles[] = {-0.0, 5e-324, -1e-310, 1e-300, 2.9802322387695312e-08,
	-2.9802322387695312e-08, M_PI_4, -M_PI_4, 63.99999997019768, 64, -64, 127.99999997019768,
	1000.5, 1048575.9999999999, 1048576, -1048575.9999999999, -1048576};

/*
 * What a method may be off by: a part of the radius, and the last places of fixed point. Of the
 * double methods the radius' part is some roundings of 2^-53.
 */
static double allowed(enum bp_transform_method method, double radius)
{
	static const double part[BP_TRANSFORM_METHODS] = {[BP_TRANSFORM_VECTOR] = 6e-16,
		[BP_TRANSFORM_EXACT] = 6e-16,
		[BP_TRANSFORM_USERSPACE] = 6e-16,
		[BP_TRANSFORM_LARGE] = 3e-7,
		[BP_TRANSFORM_MEDIUM] = 3e-7,
		[BP_TRANSFORM_SMALL] = 1.2e-6,
		[BP_TRANSFORM_CHEBYSHEV] = 7e-6};

	return part[method] * fabs(radius) +
	       (method < BP_TRANSFORM_LARGE || method == BP_TRANSFORM_USERSPACE ? 1e-323 : 4 / ONE);
}

static void expect_near(enum bp_transform_method method, double r, double phi, double theta)
{
	const double reading[3] = {r, phi, theta};
	double out[3], off;

	transform_one(bp_transform_ops(method), reading, NULL, out);
	off = off_by(reading, NULL, out);
	if (!(off <= allowed(method, r)))
		fail_msg("%s of %a, %a, %a is off by %g", bp_transform_ops(method)->name, r, phi,
			theta, off);
}

static void with_every_radius(enum bp_transform_method method, double phi, double theta)
{
	for (unsigned i = 0; i < sizeof(radii) / sizeof(radii[0]); i++)
		expect_near(method, radii[i], phi, theta);
}

/* All eighths of a turn up to 128 rad, as double has them, as the packet has them, and a place
 * next to. */
static void quadrants(void **state)
{
	for (int method = 0; method < BP_TRANSFORM_METHODS; method++)
		for (int k = -16; k <= 162; k++) {
			const double angle = k * M_PI_4;

			for (int beside = -1; beside <= 1; beside++) {
				const double place = (rint(angle * ONE) + beside) / ONE;

				with_every_radius((enum bp_transform_method)method, place, M_PI_2);
				with_every_radius((enum bp_transform_method)method, 1, place);
				with_every_radius((enum bp_transform_method)method, place, angle);
			}
		}
}

static void ends(void **state)
{
	const unsigned n = sizeof(odd_angles) / sizeof(odd_angles[0]);

	for (int method = 0; method < BP_TRANSFORM_METHODS; method++)
		for (unsigned i = 0; i < n * n; i++)
			with_every_radius((enum bp_transform_method)method, odd_angles[i / n],
				odd_angles[i % n]);
}

/* Angles of the packet beyond 64 rad, and others up to the largest. */
static void huge_angles(void **state)
{
	struct bp_transform_draw d = {11};

	for (int method = 0; method < BP_TRANSFORM_METHODS; method++)
		for (unsigned i = 0; i < 200000; i++) {
			const double span = i % 2 == 0 ? 128 : BP_TRANSFORM_ANGLE_MAX;
			double phi = uniform(&d, -span, span), theta = uniform(&d, -span, span);

			if (i % 2 == 0) {
				phi = floor(fabs(phi) * ONE) / ONE;
				theta = floor(fabs(theta) * ONE) / ONE;
			}
			expect_near(
				(enum bp_transform_method)method, uniform(&d, -64, 64), phi, theta);
		}
}

/* Nearest doubles to multiples of pi/2: where little of the angle is left. */
static void cancellation_keeps_precision(void **state)
{
	const double most = floor(BP_TRANSFORM_ANGLE_MAX / M_PI_2);
	struct bp_transform_draw d = {12};

	for (unsigned i = 0; i < 200000; i++) {
		const double angle =
			(double)(rint(uniform(&d, -most, most)) * 1.57079632679489661923L);

		expect_near(BP_TRANSFORM_VECTOR, 64, angle, angle);
		expect_near(BP_TRANSFORM_EXACT, 64, angle, angle);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quadrants),
		cmocka_unit_test(ends),
		cmocka_unit_test(huge_angles),
		cmocka_unit_test(cancellation_keeps_precision),
	};

	return cmocka_run_group_tests(tests, methods_up, NULL);
}
