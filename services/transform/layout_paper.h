/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_TRANSFORM_LAYOUT_PAPER_H
#define BP_SERVICES_TRANSFORM_LAYOUT_PAPER_H

#include "services/transform/method.h"

/*
 * The paper's numbers of several payloads at a time, for services/transform/layout.c, which says
 * what is read and written: 12 octets of input at `offset` of each payload, or of output.
 */

/* Reads 16 octets of each. Places up to the next multiple of 8 become zeros. */
void bp_transform_paper_read(
	const uint8_t *const payload[], unsigned offset, unsigned n, struct bp_transform_points *p);

/* Writes 12 octets of each. */
uint64_t bp_transform_paper_write(uint8_t *const payload[], unsigned offset, unsigned n,
	const struct bp_transform_points *p, uint8_t saturated[]);

/* For tests and measurements: how that is done with so many readings at a time (8: AVX-512, 4:
 * any); NULL where this processor can't. All give the same, bit by bit. */
struct bp_transform_paper_way {
	void (*read)(const uint8_t *const payload[], unsigned offset, unsigned n,
		struct bp_transform_points *p);
	uint64_t (*write)(uint8_t *const payload[], unsigned offset, unsigned n,
		const struct bp_transform_points *p, uint8_t saturated[]);
};
const struct bp_transform_paper_way *bp_transform_paper_way(unsigned readings);

#endif
