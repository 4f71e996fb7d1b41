/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_TRANSFORM_CHECK_TRANSFORM_H
#define BP_CONFIG_TRANSFORM_CHECK_TRANSFORM_H

#include "config/check_place.h"
#include "config/transform/schema.h"

/* For check_transform.c and check_transform_sources.c only. */

#define BP_ENTRY "transform.entries[%u]"

/* An entry that was read without an error. */
struct bp_transform_entry {
	const struct bp_transform_rule *rule;
	const struct bp_yaml *node; /* its YAML mapping */
	uint32_t i;
};

/* Checks the destination of results; `path` is the receiver's name in messages, `node` its
 * mapping. */
void bp_check_receiver(struct bp_reader *r, const struct bp_transform_entry *e,
	const struct bp_transform_receiver *to, const struct bp_yaml *node, const char *path);

void bp_check_sources(struct bp_reader *r, const struct bp_transform_entry *e);

#endif
