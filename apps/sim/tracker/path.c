/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/tracker/path.h"

#include <math.h>

#define ROUND 500u /* readings of a round */

/* 0 <= u < 1; splitmix64 */
static double uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double positive_angle(double a)
{
	return a < 0 ? a + 2 * M_PI : a;
}

void tracker_path_at(enum tracker_path path, uint64_t number, uint64_t count, uint64_t *random,
	struct tracker_sample *r)
{
	const double turn = 2 * M_PI * (double)(number % ROUND) / ROUND;
	const double x = 6 + 2 * cos(turn), y = 2 * sin(turn);
	const double z = path == TRACKER_HELIX && count > 1
				 ? 2 * (double)number / (double)(count - 1) - 1
				 : 0;

	if (path == TRACKER_RANDOM) {
		r->radius = 20 * uniform(random);
		r->phi = 2 * M_PI * uniform(random);
		r->theta = 2 * M_PI * uniform(random);
		return;
	}
	r->radius = sqrt(x * x + y * y + z * z);
	r->phi = positive_angle(atan2(y, x));
	r->theta = acos(z / r->radius);
}
