/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_TRANSFORM_TYPE_TRANSFORM_H
#define BP_CONFIG_TRANSFORM_TYPE_TRANSFORM_H

#include "config/transform/schema.h"

/* For config/transform/schema_transform.c: the intermediate form of a layout's mapping, and the
 * locations of the lists of section transform. */

struct bp_layout_draft {
	struct bp_transform_field in[3], from[3], out[3];
	bool has_in[3], has_from[3], has_out[3];
	uint32_t length;
	uint8_t order, angles;
};

/* The `unfold` function of bp_type_transform_layout. */
bool bp_transform_layout_unfold(const void *field, void *draft);

const void *bp_transform_sources_of(const struct bp_config *c, const void *rule, uint32_t *n);
const void *bp_transform_receivers_of(const struct bp_config *c, const void *source, uint32_t *n);

#endif
