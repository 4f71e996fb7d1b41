/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config;

/* The matrices in force: all of a file's, by controlplane/mqtt/rules.h, or one of them by a command
 * or the loader. To be called from the event loop alone. */

struct bp_transform_counts {
	uint32_t kept; /* matrices that were set, and still are */
	uint32_t lost; /* whose entry or receiver the file has no more */
	uint32_t sources;
};
/* Puts in force what the file says, with what was set since. Nothing without a section transform.
 * 0, or -1 with a sentence, and the bank in force stays. */
int bp_transform_put(struct bp_shm *m, const struct bp_config *c, struct bp_transform_counts *n,
	char *err, size_t err_size);

/* For which entries a matrix is. */
#define BP_TRANSFORM_EVERY (-1) /* those that have the source */
#define BP_TRANSFORM_LOADER                                                                        \
	(-2) /* those with matrix_loader: true, which get it if they have it not */
struct bp_transform_source_id {
	struct bp_prefix source;
	int entry; /* its number, or one of those */
};

/*
 * Sets a matrix, which is in force then. `add`: a source that the entry does not have comes with
 * one receiver, the entry's; of several entries one must be named. Returns in how many entries it
 * was set, or -1 with a sentence (then in none, but where room ended between two).
 */
int bp_transform_set_matrix(struct bp_shm *m, const struct bp_transform_source_id *w,
	unsigned receiver, const double matrix[12], bool add, char *err, size_t err_size);

/* Marks a source whose matrices are to be the file's again with the next bp_transform_put().
 * Returns of how many entries, or -1 with a sentence. */
int bp_transform_remove_source(
	struct bp_shm *m, const struct bp_transform_source_id *w, char *err, size_t err_size);

#endif
