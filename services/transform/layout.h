/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_LAYOUT_H
#define BP_SERVICES_TRANSFORM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/transform/method.h"

/*
 * Numbers of a payload: read into points, written from them.
 *
 * The paper's packet, 40 octets, big-endian: i32 radius, u32 phi, u32 theta, i32 x, y, z, all with
 * 25 bits of fraction, two time stamps of 64 bits; and the same behind a timing header of 17
 * octets.
 */
extern const struct bp_transform_layout bp_transform_layout_kunze2021;
extern const struct bp_transform_layout bp_transform_layout_kunze2021_timed;

/*
 * Sets what follows from the fields: `length` where it is 0, and `paper`. False: a field is beyond
 * BP_TRANSFORM_OFFSET_MAX or `length`, its type or fraction is none, or inputs overlap each other,
 * or outputs do; *what says which, a static sentence. Outputs may lie over inputs, as where x, y, z
 * replace the reading: a point is read whole before any of it is written.
 */
bool bp_transform_layout_finish(struct bp_transform_layout *l, const char **what);

/* Octets of a number of that type: 4 or 8. */
unsigned bp_transform_type_size(unsigned type);

/* Why a reading can't be taken. */
enum bp_transform_bad {
	BP_TRANSFORM_GOOD,
	BP_TRANSFORM_NOT_FINITE, /* a number that is infinite or none */
	BP_TRANSFORM_ANGLE,      /* an angle beyond BP_TRANSFORM_ANGLE_MAX, once it is radians */
};

/* Reads the point of a payload of at least l->length octets into p's place i. Degrees have become
 * radians. What can't be taken leaves zeros there. */
enum bp_transform_bad bp_transform_layout_read(const struct bp_transform_layout *l,
	const uint8_t *payload, struct bp_transform_points *p, unsigned i);

/*
 * The same of n payloads of one layout, at most BP_TRANSFORM_BURST, into p's places from 0 on; up
 * to the next multiple of 8 there are zeros behind. bad[i] says of each what
 * bp_transform_layout_read() does; returns a bit for each (1 << i) that can't be taken. Quick for
 * the paper's layouts, of which every reading can be taken.
 */
uint64_t bp_transform_layout_read_all(const struct bp_transform_layout *l,
	const uint8_t *const payload[], unsigned n, struct bp_transform_points *p, uint8_t bad[]);

/*
 * Writes place i of p to the payload's outputs, rounded to the nearest (half to even). A number of
 * which the output's type has no nearest becomes the one at its end: for 25 bits of fraction that
 * is below -64 and from 64 on, for ufixed32 below 0, for floats beyond their greatest. What is no
 * number at all (which can be but by overflow: infinity less infinity) becomes the greatest: like
 * any number at the end of the range, no receiver takes it for a place in the room. Returns a bit
 * for each coordinate that was saturated so: 1 x, 2 y, 4 z.
 */
unsigned bp_transform_layout_write(const struct bp_transform_layout *l, uint8_t *payload,
	const struct bp_transform_points *p, unsigned i);

/* The same of p's places from 0 on to n payloads of one layout, at most BP_TRANSFORM_BURST, none
 * twice. saturated[i] says of each what bp_transform_layout_write() does; returns a bit for each
 * (1 << i) of which anything was saturated. */
uint64_t bp_transform_layout_write_all(const struct bp_transform_layout *l,
	uint8_t *const payload[], unsigned n, const struct bp_transform_points *p,
	uint8_t saturated[]);

/* ---- layout_kunze2021.c ---- */

/*
 * The same for the paper's layouts, several payloads at a time: 12 octets of input at `offset` of
 * each payload, or of output.
 */

/* Reads 16 octets of each. Places up to the next multiple of 8 become zeros. */
void bp_transform_kunze2021_read(
	const uint8_t *const payload[], unsigned offset, unsigned n, struct bp_transform_points *p);

/* Writes 12 octets of each. */
uint64_t bp_transform_kunze2021_write(uint8_t *const payload[], unsigned offset, unsigned n,
	const struct bp_transform_points *p, uint8_t saturated[]);

/* For tests and measurements: how that is done with so many readings at a time (8: AVX-512, 4:
 * any); NULL where this processor can't. All give the same, bit by bit. */
struct bp_transform_kunze2021_ops {
	void (*read)(const uint8_t *const payload[], unsigned offset, unsigned n,
		struct bp_transform_points *p);
	uint64_t (*write)(uint8_t *const payload[], unsigned offset, unsigned n,
		const struct bp_transform_points *p, uint8_t saturated[]);
};
const struct bp_transform_kunze2021_ops *bp_transform_kunze2021_ops(unsigned readings);

#endif
