/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_LAYOUT_H
#define BP_SERVICES_TRANSFORM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/transform/method.h"

/*
 * The numbers of a payload: read into points, and written from them.
 *
 * The packet of kunze2021, 40 bytes, big-endian: i32 radius, u32 phi, u32 theta, i32 x, y, z, all
 * with 25 fraction bits, two time stamps of 64 bits; and the same after a timing header of 17
 * bytes.
 */
extern const struct bp_transform_layout bp_transform_layout_kunze2021;
extern const struct bp_transform_layout bp_transform_layout_kunze2021_timed;

/*
 * Derives `length` where it is 0, and `paper`, from the fields. False: a field is beyond
 * BP_TRANSFORM_OFFSET_MAX or `length`, its type or fraction is invalid, or inputs overlap each
 * other, or outputs do; *what is the reason, a static sentence. Outputs may overlap inputs, as
 * where x, y, z replace the reading: a point is read completely before any of it is written.
 */
bool bp_transform_layout_finish(struct bp_transform_layout *l, const char **what);

/* Bytes of a number of that type: 4 or 8. */
unsigned bp_transform_type_size(unsigned type);

/* The reason why a reading is rejected. */
enum bp_transform_bad {
	BP_TRANSFORM_GOOD,
	BP_TRANSFORM_NOT_FINITE, /* a number that is infinite or NaN */
	BP_TRANSFORM_ANGLE,      /* an angle beyond BP_TRANSFORM_ANGLE_MAX, once it is radians */
};

/* Reads the point of a payload of at least l->length bytes into element i of p and converts degrees
 * to radians. A rejected reading sets zeros there. */
enum bp_transform_bad bp_transform_layout_read(const struct bp_transform_layout *l,
	const uint8_t *payload, struct bp_transform_points *p, unsigned i);

/*
 * As above, for n payloads of one layout, at most BP_TRANSFORM_BURST, into the elements of p from 0
 * on; the elements after them are zeros up to the next multiple of 8. bad[i] is the result of
 * bp_transform_layout_read() for payload i; returns a bit for each (1 << i) that is rejected. Fast
 * for the layouts of kunze2021, for which no reading is rejected.
 */
uint64_t bp_transform_layout_read_all(const struct bp_transform_layout *l,
	const uint8_t *const payload[], unsigned n, struct bp_transform_points *p, uint8_t bad[]);

/*
 * Writes element i of p to the payload's outputs, rounded to the nearest number of the output's
 * type (half to even). A number outside the range of the type is saturated: for 25 bits of
 * fraction, numbers below -64 and from 64 on; for ufixed32, numbers below 0; for floats, numbers
 * beyond their maximum. NaN (which is possible only after an overflow: infinity minus infinity)
 * becomes the maximum: no receiver accepts a number at the end of the range as a position.
 * Returns a bit for each saturated coordinate: 1 x, 2 y, 4 z.
 */
unsigned bp_transform_layout_write(const struct bp_transform_layout *l, uint8_t *payload,
	const struct bp_transform_points *p, unsigned i);

/* As above, for the elements of p from 0 on and n payloads of one layout, at most
 * BP_TRANSFORM_BURST, none twice. saturated[i] is the result of bp_transform_layout_write() for
 * payload i; returns a bit for each (1 << i) with a saturated coordinate. */
uint64_t bp_transform_layout_write_all(const struct bp_transform_layout *l,
	uint8_t *const payload[], unsigned n, const struct bp_transform_points *p,
	uint8_t saturated[]);

/* ---- layout_kunze2021.c ---- */

/*
 * As above, for the layouts of kunze2021, several payloads at a time: 12 bytes of input, or of
 * output, at `offset` of each payload.
 */

/* Reads 16 bytes of each. The elements up to the next multiple of 8 become zeros. */
void bp_transform_kunze2021_read(
	const uint8_t *const payload[], unsigned offset, unsigned n, struct bp_transform_points *p);

/* Writes 12 bytes of each. */
uint64_t bp_transform_kunze2021_write(uint8_t *const payload[], unsigned offset, unsigned n,
	const struct bp_transform_points *p, uint8_t saturated[]);

/* For tests and measurements: the implementation that processes `readings` readings at a time (8:
 * AVX-512, 4: any processor); NULL where this processor does not support it. All implementations
 * return bit-identical results. */
struct bp_transform_kunze2021_ops {
	void (*read)(const uint8_t *const payload[], unsigned offset, unsigned n,
		struct bp_transform_points *p);
	uint64_t (*write)(uint8_t *const payload[], unsigned offset, unsigned n,
		const struct bp_transform_points *p, uint8_t saturated[]);
};
const struct bp_transform_kunze2021_ops *bp_transform_kunze2021_ops(unsigned readings);

#endif
