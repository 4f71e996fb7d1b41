/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/accuracy.h"

#include <math.h>

#define ONE 33554432.0 /* 2^25 */

static void affine(long double place[3], const double *m)
{
	const long double x = place[0], y = place[1], z = place[2];

	for (unsigned row = 0; m != NULL && row < 3; row++)
		place[row] = m[row] * x + m[3 + row] * y + m[6 + row] * z + m[9 + row];
}

void bp_transform_reference(const double reading[3], const double *m, long double place[3])
{
	const long double r = reading[0];
	long double sin_phi, cos_phi, sin_theta, cos_theta;

	sincosl(reading[1], &sin_phi, &cos_phi);
	sincosl(reading[2], &sin_theta, &cos_theta);
	place[0] = r * sin_theta * cos_phi;
	place[1] = r * sin_theta * sin_phi;
	place[2] = r * cos_theta;
	affine(place, m);
}

void bp_transform_reference_cartesian(const double from[3], const double *m, long double place[3])
{
	for (unsigned i = 0; i < 3; i++)
		place[i] = from[i];
	affine(place, m);
}

void bp_transform_accuracy_add(struct bp_transform_accuracy *a, const double result[3],
	const long double place[3], double limit)
{
	long double square = 0, distance;
	bool violation = false;

	for (unsigned i = 0; i < 3; i++) {
		const long double off = result[i] - place[i];

		square += off * off;
		violation |= !(fabsl(off) <= limit);
	}
	distance = isnan(square) ? INFINITY : sqrtl(square);
	a->points++;
	a->violations += violation;
	a->sum += distance;
	if (distance > a->worst)
		a->worst = (double)distance;
}

double bp_transform_accuracy_mean(const struct bp_transform_accuracy *a)
{
	return a->points == 0 ? 0 : (double)(a->sum / a->points);
}

double bp_transform_accuracy_share(const struct bp_transform_accuracy *a)
{
	return a->points == 0 ? 0 : (double)a->violations / (double)a->points;
}

/* At most BP_TRANSFORM_BURST of them. */
static void measure_burst(struct bp_transform_accuracy *a, const struct bp_transform_ops *ops,
	const double (*sent)[3], const double (*meant)[3], const double *const matrix[], unsigned n,
	double limit)
{
	struct bp_transform_points p = {0};

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < 3; k++)
			p.v[k][i] = sent[i][k];
	ops->to_cartesian(&p, n);
	if (matrix != NULL)
		ops->affine(&p, matrix, n);
	for (unsigned i = 0; i < n; i++) {
		long double place[3];
		double result[3];

		bp_transform_reference(meant[i], matrix != NULL ? matrix[i] : NULL, place);
		for (unsigned k = 0; k < 3; k++)
			result[k] = rint(p.v[k][i] * ONE) / ONE;
		bp_transform_accuracy_add(a, result, place, limit);
	}
}

void bp_transform_accuracy_measure(struct bp_transform_accuracy *a,
	const struct bp_transform_ops *ops, const double (*sent)[3], const double (*meant)[3],
	const double *const matrix[], size_t n, double limit)
{
	while (n > 0) {
		const unsigned now = n < BP_TRANSFORM_BURST ? (unsigned)n : BP_TRANSFORM_BURST;

		measure_burst(a, ops, sent, meant, matrix, now, limit);
		sent += now;
		meant += now;
		if (matrix != NULL)
			matrix += now;
		n -= now;
	}
}

/* splitmix64 (Steele, Lea and Flood 2014) */
double bp_transform_draw_uniform(struct bp_transform_draw *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Nine decimals. */
static double draw(struct bp_transform_draw *d, double from, double to)
{
	return rint((from + (to - from) * bp_transform_draw_uniform(d)) * 1e9) / 1e9;
}

void bp_transform_draw_sample(struct bp_transform_draw *d, double meant[3], double sent[3])
{
	meant[0] = draw(d, 0, 20);
	meant[1] = draw(d, 0, 2 * M_PI);
	meant[2] = draw(d, 0, 2 * M_PI);
	for (unsigned i = 0; i < 3; i++)
		sent[i] = floor(meant[i] * ONE) / ONE;
}

void bp_transform_draw_matrix(struct bp_transform_draw *d, double m[12])
{
	for (unsigned i = 0; i < 12; i++)
		m[i] = i < 9 ? draw(d, -1, 1) : draw(d, 0, 10);
}
