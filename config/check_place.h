/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_CHECK_PLACE_H
#define BP_CONFIG_CHECK_PLACE_H

#include "config/schema.h"

/* For the files check_*.c: messages and their positions. */

#define BP_AT_ERROR(r_, at_, ...) bp_error((r_)->messages, (at_)->line, (at_)->column, __VA_ARGS__)
#define BP_AT_WARNING(r_, at_, ...)                                                                \
	bp_warning((r_)->messages, (at_)->line, (at_)->column, __VA_ARGS__)

/* Returns the node for a message about a setting: the setting, or the mapping if it has none. */
static inline const struct bp_yaml *bp_place(const struct bp_yaml *map, const char *path)
{
	const struct bp_yaml *n = bp_yaml_find(map, path);

	return n != NULL ? n : map;
}

/* Returns the node of a setting below `n` that is given and valid, or NULL. */
static inline const struct bp_yaml *bp_good(const struct bp_yaml *n, const char *path)
{
	const struct bp_yaml *v = bp_yaml_find(n, path);

	return v != NULL && !v->bad ? v : NULL;
}

#endif
