/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_ACCURACY_H
#define BP_SERVICES_TRANSFORM_ACCURACY_H

#include <stddef.h>
#include <stdint.h>

#include "services/transform/method.h"

/*
 * The error of a method's results, as in Table I of the paper (Kunze et al. 2021): the mean
 * Euclidean distance from the reference, and the share of points whose error exceeds a limit along
 * any axis (10 um, the requirement of drilling). The reference is computed in long double.
 */
#define BP_TRANSFORM_LIMIT 1e-5 /* metres; the paper's */

struct bp_transform_accuracy {
	uint64_t points;
	uint64_t violations; /* points whose error exceeds the limit along an axis */
	long double sum;     /* of Euclidean distances, in the unit of the radii */
	double worst;        /* the maximum Euclidean distance */
};

/* A point's place in long double. reading: radius, phi, theta. m: column by column, or NULL for the
 * bare point. */
void bp_transform_reference(const double reading[3], const double *m, long double place[3]);
/* As above, for a Cartesian reading. */
void bp_transform_reference_cartesian(const double from[3], const double *m, long double place[3]);

/* Counts one result; one that is no number or infinite is a violation of infinite distance. */
void bp_transform_accuracy_add(struct bp_transform_accuracy *a, const double result[3],
	const long double place[3], double limit);
double bp_transform_accuracy_mean(const struct bp_transform_accuracy *a);  /* 0 without points */
double bp_transform_accuracy_share(const struct bp_transform_accuracy *a); /* of violations, 0..1 */

/*
 * Runs a method over n readings and counts its results, rounded to the paper's 25 fraction bits.
 * `sent` is the input of the method, `meant` that of the reference: equal for the error of the
 * method alone; the measured values before rounding for the total error. matrix: one for each
 * reading, or NULL for points without a matrix.
 */
void bp_transform_accuracy_measure(struct bp_transform_accuracy *a,
	const struct bp_transform_ops *ops, const double (*sent)[3], const double (*meant)[3],
	const double *const matrix[], size_t n, double limit);

/*
 * Readings and matrices as the paper's senders generate them, always the same from the same state:
 * radii 0..20, angles 0..2 pi, both with nine decimals; `sent` is the value in the packet, rounded
 * down to 2^-25. Matrices have entries -1..1 and translations 0..10, nine decimals.
 */
struct bp_transform_draw {
	uint64_t state; /* any */
};
void bp_transform_draw_sample(struct bp_transform_draw *d, double meant[3], double sent[3]);
void bp_transform_draw_matrix(struct bp_transform_draw *d, double m[12]);
/* 0 <= it < 1 */
double bp_transform_draw_uniform(struct bp_transform_draw *d);

#endif
