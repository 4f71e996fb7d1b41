/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TRANSFORM_KUNZE2021_H
#define BENCH_TRANSFORM_KUNZE2021_H

#include "services/transform/method.h"

/*
 * The methods of coordinate transformation of Kunze et al. (2021), Coordinate Transformation in
 * Programmable Switches, to compare them with those of the gateway: tables for three layouts
 * (`large`, `medium`, `small`), a polynomial (`chebyshev`), and the authors' server (`userspace`).
 *
 * The first four compute as in the paper: 25 fraction bits and rounding down throughout, for radii,
 * points and matrices up to 64. Inputs that the paper's packet cannot encode are computed as
 * follows: larger radii and matrices are multiplied in double; larger results are returned
 * unchanged (they saturate when they are written); angles between two table entries are rounded to
 * the nearest entry; and angles beyond a full turn (for `chebyshev`, beyond 64 rad, up to which the
 * authors' server reduces angles itself) are reduced exactly. `userspace` rounds the matrix and the
 * result to 2^-25 and no intermediate value: a point without a matrix is rounded when it is
 * written.
 */
#define BENCH_KUNZE2021_METHODS 5u

extern const struct bp_transform_ops bench_kunze2021_large, bench_kunze2021_medium,
	bench_kunze2021_small, bench_kunze2021_chebyshev, bench_kunze2021_userspace;

/* Computes the tables; call it once before the methods are used. */
void bench_kunze2021_init(void);
/* Method i, in the order above. */
const struct bp_transform_ops *bench_kunze2021(unsigned i);
/* Returns the method with this name, such as "kunze2021_large"; NULL: none. */
const struct bp_transform_ops *bench_kunze2021_find(const char *name);

#endif
