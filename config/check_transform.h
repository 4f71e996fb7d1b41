/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_CHECK_TRANSFORM_H
#define BP_CONFIG_CHECK_TRANSFORM_H

#include "config/schema.h"

/* For check_transform.c and check_transform_sources.c alone. */

/* An entry of `transform` that was read without an error. */
struct bp_transform_entry {
	const struct bp_transform_rule *rule;
	const struct bp_yaml *node; /* its mapping */
	uint32_t i;
};

#define BP_AT_ERROR(r_, at_, ...) bp_error((r_)->messages, (at_)->line, (at_)->column, __VA_ARGS__)
#define BP_AT_WARNING(r_, at_, ...)                                                                \
	bp_warning((r_)->messages, (at_)->line, (at_)->column, __VA_ARGS__)

/* Where a message about a setting points: at it, or at the mapping. */
static inline const struct bp_yaml *bp_place(const struct bp_yaml *map, const char *path)
{
	const struct bp_yaml *n = bp_yaml_find(map, path);

	return n != NULL ? n : map;
}

/* What a receiver says of where results go; `path` names it in messages, `node` is its mapping. */
void bp_check_receiver(struct bp_reader *r, const struct bp_transform_entry *e,
	const struct bp_transform_receiver *to, const struct bp_yaml *node, const char *path);

void bp_check_sources(struct bp_reader *r, const struct bp_transform_entry *e);

#endif
