/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TRANSFORM_MATRIX_FILE_H
#define BP_APPS_BIPLANE_TRANSFORM_MATRIX_FILE_H

#include <stdbool.h>

/*
 * A matrix from a YAML file: three rows of four numbers, of which the fourth is the translation, as
 * in the configuration; alone, or as `matrix`. Or three rows of three as `matrix`, with the three
 * numbers of `translation`, or none. Column by column into m. `flat`: a singular matrix is
 * accepted. 0, or an exit status after lines on standard error.
 */
int bp_matrix_file_read(const char *path, bool flat, double m[12]);

#endif
