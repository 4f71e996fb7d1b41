/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/transform/transform_matrix.h"

#include <math.h>
#include <string.h>

#include "proto/net/frame.h"

#define LARGE 2147483648.0 /* 2^31 */
#define FLAT 1e-9

const double bp_transform_identity[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};

void bp_transform_matrix_from_rows(const double row[3][4], double m[12])
{
	for (unsigned r = 0; r < 3; r++)
		for (unsigned c = 0; c < 4; c++)
			m[3 * c + r] = row[r][c];
}

void bp_transform_matrix_to_rows(const double m[12], double row[3][4])
{
	for (unsigned r = 0; r < 3; r++)
		for (unsigned c = 0; c < 4; c++)
			row[r][c] = m[3 * c + r];
}

/* A column divided by the absolute value of its largest entry, so that squares neither overflow
 * nor underflow; false: all of it is 0. */
static bool scale_column(const double column[3], double scaled[3])
{
	const double size = fmax(fabs(column[0]), fmax(fabs(column[1]), fabs(column[2])));

	for (unsigned i = 0; i < 3; i++)
		scaled[i] = size > 0 ? column[i] / size : 0;
	return size > 0;
}

static double length(const double c[3])
{
	return sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
}

enum bp_transform_matrix_fault bp_transform_matrix_check(const double m[12])
{
	double a[3], b[3], c[3], determinant;

	for (unsigned i = 0; i < 12; i++)
		if (!isfinite(m[i]))
			return BP_TRANSFORM_MATRIX_NOT_FINITE;
	for (unsigned i = 0; i < 12; i++)
		if (fabs(m[i]) >= LARGE)
			return BP_TRANSFORM_MATRIX_LARGE;
	if (!scale_column(m, a) || !scale_column(m + 3, b) || !scale_column(m + 6, c))
		return BP_TRANSFORM_MATRIX_SINGULAR;
	determinant = a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
		      c[0] * (a[1] * b[2] - a[2] * b[1]);
	if (fabs(determinant) < FLAT * length(a) * length(b) * length(c))
		return BP_TRANSFORM_MATRIX_SINGULAR;
	return BP_TRANSFORM_MATRIX_OK;
}

static double read_double(const uint8_t *p)
{
	const uint64_t word = (uint64_t)bp_be32(p) << 32 | bp_be32(p + 4);
	double v;

	memcpy(&v, &word, sizeof(v));
	return v;
}

static void write_double(uint8_t *p, double v)
{
	uint64_t word;

	memcpy(&word, &v, sizeof(word));
	bp_put_be32(p, (uint32_t)(word >> 32));
	bp_put_be32(p + 4, (uint32_t)word);
}

/* Index of m[i] in the message: nine row by row, then the translation. */
static unsigned place(unsigned i)
{
	return 4 + 8 * (i < 9 ? 3 * (i % 3) + i / 3 : i);
}

void bp_transform_loader_read(
	const uint8_t message[BP_TRANSFORM_LOADER_MESSAGE], uint8_t ip4[4], double m[12])
{
	memcpy(ip4, message, 4);
	for (unsigned i = 0; i < 12; i++)
		m[i] = read_double(message + place(i));
}

void bp_transform_loader_write(
	uint8_t message[BP_TRANSFORM_LOADER_MESSAGE], const uint8_t ip4[4], const double m[12])
{
	memcpy(message, ip4, 4);
	for (unsigned i = 0; i < 12; i++)
		write_double(message + place(i), m[i]);
}
