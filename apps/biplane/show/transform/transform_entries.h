/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_TRANSFORM_TRANSFORM_ENTRIES_H
#define BP_APPS_BIPLANE_SHOW_TRANSFORM_TRANSFORM_ENTRIES_H

#include <jansson.h>
#include <stdint.h>

#include "shm/layout.h"

/*
 * `show transform` but for the sources, as JSON:
 *   generation   of the rules in force; null: no section transform; 0: none are in force yet
 *   matrices     how many there are, and how many there may be
 *   transform    an object an entry, what the file says of it and what was counted
 * NULL without memory.
 */
json_t *bp_transform_entries(const struct bp_shm *m);
/* Sets that as tables. */
void bp_transform_entries_print(const json_t *entries, FILE *out);

/* The bank that is in force now; its numbers of entries are at most what the arrays hold. The bank
 * member is NULL where none is in force or it is not sound. */
struct bp_transform_view bp_transform_view_now(const struct bp_shm *m, uint64_t *active);

#endif
