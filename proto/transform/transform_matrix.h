/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_TRANSFORM_TRANSFORM_MATRIX_H
#define BP_PROTO_TRANSFORM_TRANSFORM_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Matrices, as people write them and as workers use them. */

extern const double bp_transform_identity[12]; /* column by column */

/* Three rows of four, as in the file, to columns. */
void bp_transform_matrix_from_rows(const double row[3][4], double m[12]);
void bp_transform_matrix_to_rows(const double m[12], double row[3][4]);

enum bp_transform_matrix_fault {
	BP_TRANSFORM_MATRIX_OK,
	BP_TRANSFORM_MATRIX_NOT_FINITE,
	BP_TRANSFORM_MATRIX_SINGULAR, /* its determinant is less than 1e-9 of its columns' lengths
				       * multiplied: it flattens space */
	BP_TRANSFORM_MATRIX_LARGE,    /* an entry of 2^31 or more */
};
enum bp_transform_matrix_fault bp_transform_matrix_check(const double m[12]);

/*
 * The message of the loader of the paper's authors: 100 bytes, an IPv4 address and twelve doubles,
 * big endian, the nine of the matrix row by row and then the translation.
 */
#define BP_TRANSFORM_LOADER_MESSAGE 100u
void bp_transform_loader_read(
	const uint8_t message[BP_TRANSFORM_LOADER_MESSAGE], uint8_t ip4[4], double m[12]);
void bp_transform_loader_write(
	uint8_t message[BP_TRANSFORM_LOADER_MESSAGE], const uint8_t ip4[4], const double m[12]);

#endif
