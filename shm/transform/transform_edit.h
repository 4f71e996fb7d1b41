/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_TRANSFORM_TRANSFORM_EDIT_H
#define BP_SHM_TRANSFORM_TRANSFORM_EDIT_H

#include "shm/transform/transform.h"

/* Functions shared by building a bank and changing the active one
 * (shm/transform/transform_set.c). */

/* Source numbers wrap around after 2^32; 0 is no number. */
uint32_t bp_transform_new_uid(_Atomic uint32_t *next_uid);

/*
 * Fills a row without readers from the configuration. `otherwise` (NULL: none) supplies the fields
 * that r lacks: the destination as a whole (address with MAC, or back), unless r itself has an
 * address or `reply_to_sender`, and the port.
 */
void bp_transform_row_fill(struct bp_transform_row *row, const struct bp_transform_receiver *r,
	const struct bp_transform_receiver *otherwise);

/* Sets another matrix in a row that may be read concurrently, and the flags in addition to
 * BP_TRANSFORM_MATRIX. */
void bp_transform_row_set(struct bp_transform_row *row, const double m[12], unsigned flags);

/*
 * Appends a source with its receivers; n 0: one receiver without fields. A reader sees the complete
 * source or none. NULL: no space, and *full is the table that is full.
 */
struct bp_transform_source_row *bp_transform_append(const struct bp_transform_view *v,
	uint32_t rule, const struct bp_prefix *address,
	const struct bp_transform_receiver *receivers, uint32_t n, uint8_t flags, uint32_t uid,
	const char **full);

#endif
