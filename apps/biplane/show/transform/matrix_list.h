/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_TRANSFORM_MATRIX_LIST_H
#define BP_APPS_BIPLANE_SHOW_TRANSFORM_MATRIX_LIST_H

#include <stdbool.h>
#include <stdio.h>

#include "shm/layout.h"

/*
 * Writes the active matrices of one source (family 0: of all) to `out`. Each matrix is consistent.
 * The format is text, or an object with the array `matrices`: objects with entry, source, receiver,
 * from ("file", "set", "added", or "none": the point is sent without a matrix) and matrix, three
 * rows of four numbers. Returns the number of matrices, or -1 with a sentence.
 */
int bp_matrix_list(const struct bp_shm *m, const struct bp_prefix *source, bool json, FILE *out,
	char *err, size_t err_size);

#endif
