/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SEGMENT_DAMAGE_H
#define BP_SHM_SEGMENT_DAMAGE_H

#include <stdbool.h>

#include "shm/segment_file.h"

/* Handling of a segment's damaged files. For shm/segment*.c only, under the segment's lock. */

/* Renames the file. `aside` (PATH_MAX bytes): its new path; "": it was removed. */
void bp_seg_quarantine(const struct bp_seg_place *p, unsigned part, const char *path, char *aside);
/* Copies the contents. "": there is no copy. */
void bp_seg_quarantine_copy(const struct bp_seg_place *p, unsigned part, int fd, char *aside);

/* Locks the file that a data plane runs on, which bp_seg_in_use() sees. Returns a descriptor that
 * holds the lock, or -1. */
int bp_seg_hold(const char *path);
bool bp_seg_in_use(const struct bp_seg_place *p);

#endif
