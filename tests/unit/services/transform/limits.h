/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_TRANSFORM_LIMITS_H
#define TESTS_TRANSFORM_LIMITS_H

/* A method at the ends of every range, against long double. */
#include "tests/unit/services/transform/points.h"

static const double radii[] = {0, -0.0, 1, -1, 20, -20, 63.99999997019768, -64,
	2.9802322387695312e-08, 5e-324, -1e-310, 1e-300};
static const double odd_angles[] = {-0.0, 5e-324, -1e-310, 1e-300, 2.9802322387695312e-08,
	-2.9802322387695312e-08, M_PI_4, -M_PI_4, 63.99999997019768, 64, -64, 127.99999997019768,
	1000.5, 1048575.9999999999, 1048576, -1048575.9999999999, -1048576};

/* A method, and what it may be off by: a part of the radius, and the last places of fixed point. */
struct limits_method {
	const struct bp_transform_ops *ops;
	double part, places;
};

static void expect_near(const struct limits_method *m, double r, double phi, double theta)
{
	const double reading[3] = {r, phi, theta};
	double out[3], off;

	transform_one(m->ops, reading, NULL, out);
	off = off_by(reading, NULL, out);
	if (!(off <= m->part * fabs(r) + m->places))
		fail_msg("%s of %a, %a, %a is off by %g", m->ops->name, r, phi, theta, off);
}

static void with_every_radius(const struct limits_method *m, double phi, double theta)
{
	for (unsigned i = 0; i < sizeof(radii) / sizeof(radii[0]); i++)
		expect_near(m, radii[i], phi, theta);
}

/* All eighths of a turn up to 128 rad, as double has them, as the packet has them, and a place
 * next to. */
static inline void expect_quadrants(const struct limits_method *m)
{
	for (int k = -16; k <= 162; k++) {
		const double angle = k * M_PI_4;

		for (int next = -1; next <= 1; next++) {
			const double place = (rint(angle * ONE) + next) / ONE;

			with_every_radius(m, place, M_PI_2);
			with_every_radius(m, 1, place);
			with_every_radius(m, place, angle);
		}
	}
}

static inline void expect_ends(const struct limits_method *m)
{
	const unsigned n = sizeof(odd_angles) / sizeof(odd_angles[0]);

	for (unsigned i = 0; i < n * n; i++)
		with_every_radius(m, odd_angles[i / n], odd_angles[i % n]);
}

/* Angles of the packet beyond 64 rad, and others up to the largest. */
static inline void expect_huge_angles(const struct limits_method *m, struct bp_transform_draw *d)
{
	for (unsigned i = 0; i < 200000; i++) {
		const double span = i % 2 == 0 ? 128 : BP_TRANSFORM_ANGLE_MAX;
		double phi = uniform(d, -span, span), theta = uniform(d, -span, span);

		if (i % 2 == 0) {
			phi = floor(fabs(phi) * ONE) / ONE;
			theta = floor(fabs(theta) * ONE) / ONE;
		}
		expect_near(m, uniform(d, -64, 64), phi, theta);
	}
}

#endif
