/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TRANSFORM_LAYOUT_H
#define BP_TRANSFORM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transform/method.h"

/*
 * Numbers of a payload: read into points, written from them.
 *
 * The paper's packet, 40 octets, big-endian: i32 radius, u32 phi, u32 theta, i32 x, y, z, all with
 * 25 bits of fraction, two time stamps of 64 bits; and the same behind a timing header of 17
 * octets.
 */
extern const struct bp_transform_layout bp_transform_layout_paper;
extern const struct bp_transform_layout bp_transform_layout_paper_timed;

/* Sets what follows from the fields: length where it is less than they need, and `paper`. False: an
 * output overlaps an input or another output, or a field is beyond BP_TRANSFORM_OFFSET_MAX; *what
 * says which, a static sentence. */
bool bp_transform_layout_finish(struct bp_transform_layout *l, const char **what);

/* Why a reading can't be taken. */
enum bp_transform_bad {
	BP_TRANSFORM_GOOD,
	BP_TRANSFORM_NOT_FINITE, /* a number that is infinite or none */
	BP_TRANSFORM_ANGLE,      /* an angle beyond BP_TRANSFORM_ANGLE_MAX */
};

/* Reads the point of a payload of at least l->length octets into p's place i. Degrees have become
 * radians. */
enum bp_transform_bad bp_transform_layout_read(const struct bp_transform_layout *l,
	const uint8_t *payload, struct bp_transform_points *p, unsigned i);

/*
 * Writes place i of p to the payload's outputs, rounded to the nearest (half to even). What an
 * output can't hold, and what is not finite (which can be but by overflow), becomes the nearest
 * number that it can. Returns a bit for each coordinate that was saturated: 1 x, 2 y, 4 z. For 25
 * bits of fraction that is |value| >= 64.
 */
unsigned bp_transform_layout_write(const struct bp_transform_layout *l, uint8_t *payload,
	const struct bp_transform_points *p, unsigned i);

#endif
