/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_TRANSFORM_MATRIX_LIST_H
#define BP_APPS_BIPLANE_SHOW_TRANSFORM_MATRIX_LIST_H

#include <stdbool.h>
#include <stdio.h>

#include "shm/layout.h"

/*
 * The matrices in force, of one source (family 0: of all), each as it is at one moment, to `out`:
 * as text, or as an object whose array `matrices` has an object each with entry, source, receiver,
 * from ("file", "set", "added", or "none" where the bare point is sent) and matrix, three rows of
 * four numbers. Returns how many, or -1 with a sentence.
 */
int bp_matrix_list(const struct bp_shm *m, const struct bp_prefix *source, bool json, FILE *out,
	char *err, size_t err_size);

#endif
