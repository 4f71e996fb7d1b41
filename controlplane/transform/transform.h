/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config;

/* The active matrices: a publication replaces all of them (like controlplane/mqtt/rules.h), a
 * command or the loader one of them. For the event loop's thread only. */

struct bp_transform_counts {
	uint32_t kept; /* matrices that were set at run time and still are */
	uint32_t lost; /* matrices whose entry or receiver was removed from the file */
	uint32_t sources;
};
/* Activates the file's entries, with the matrices that were set at run time. Does nothing without a
 * section transform. Returns 0, or -1 with a sentence in `err`, and the active bank remains. */
int bp_transform_put(struct bp_shm *m, const struct bp_config *c, struct bp_transform_counts *n,
	char *err, size_t err_size);

/* The entries of a matrix. */
#define BP_TRANSFORM_EVERY (-1)  /* entries that have the source */
#define BP_TRANSFORM_LOADER (-2) /* those with matrix_loader: true; adds the source */
struct bp_transform_source_id {
	struct bp_prefix source;
	int entry; /* number of the entry, or one of the above */
};

/*
 * Sets a matrix, which is then active. `add`: a source that the entry does not have is added with
 * one receiver, that of the entry; of several entries one must be selected. Returns the number of
 * entries in which it was set, or -1 with a sentence in `err` (then in none, except when the table
 * became full between two entries).
 */
int bp_transform_set_matrix(struct bp_shm *m, const struct bp_transform_source_id *w,
	unsigned receiver, const double matrix[12], bool add, char *err, size_t err_size);

/* Marks a source: the next bp_transform_put() restores its matrices from the file. Returns the
 * number of entries, or -1 with a sentence in `err`. */
int bp_transform_remove_source(
	struct bp_shm *m, const struct bp_transform_source_id *w, char *err, size_t err_size);

#endif
