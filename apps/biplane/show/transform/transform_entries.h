/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_TRANSFORM_TRANSFORM_ENTRIES_H
#define BP_APPS_BIPLANE_SHOW_TRANSFORM_TRANSFORM_ENTRIES_H

#include <jansson.h>
#include <stdint.h>

#include "shm/layout.h"

/*
 * `show transform` without the sources, as JSON:
 *   generation   of the active rules; null: no section transform; 0: no rules are active yet
 *   matrices     their number and the maximum
 *   transform    one object for each entry: its settings and counters
 * NULL: out of memory.
 */
json_t *bp_transform_entries(const struct bp_shm *m);
/* Prints the same as tables. */
void bp_transform_entries_print(const json_t *entries, FILE *out);

/* The active bank; each number of entries is at most the size of its array. The member `bank` is
 * NULL if no bank is active or the bank is damaged. */
struct bp_transform_view bp_transform_view_now(const struct bp_shm *m, uint64_t *active);

#endif
