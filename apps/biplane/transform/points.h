/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TRANSFORM_POINTS_H
#define BP_APPS_BIPLANE_TRANSFORM_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Points in a file of comma-separated values (RFC 4180, each row on one line), for `biplane
 * transform`. The first row names the columns: r (or radius), phi and theta; or from_x, from_y and
 * from_z; or else x, y and z. Names are not case-sensitive. All other columns are copied unchanged,
 * except x, y, z and saturated of an earlier result, which are replaced by those of this one.
 */
#define BP_POINTS_COLUMNS_MAX 1024u

enum bp_points_role { BP_POINTS_KEPT, BP_POINTS_INPUT, BP_POINTS_REPLACED };

struct bp_points {
	FILE *file;
	const char *name; /* in messages; the caller's */
	uint64_t line;    /* of the row read last, from 1 */
	char *row;        /* that row, without its end; NUL terminated */
	size_t capacity;
	bool cartesian;
	bool renamed;       /* x, y, z are the inputs: from_x, from_y, from_z in the output */
	const char *in[3];  /* names of the inputs, for messages */
	unsigned column[3]; /* of the inputs */
	unsigned columns;
	uint8_t role[BP_POINTS_COLUMNS_MAX]; /* enum bp_points_role */
};

/* "-" is standard input. 0, or an exit status after a line on standard error. */
int bp_points_open(struct bp_points *p, const char *path);
/* 1: the numbers of the next row are in v and the row in p->row; 0: end of file; -1: an invalid
 * row, reported on standard error. Empty rows are skipped. */
int bp_points_next(struct bp_points *p, double v[3]);
void bp_points_close(struct bp_points *p);

/* FILE:LINE: and a message on standard error. */
void bp_points_error(const struct bp_points *p, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The header (while it is p->row), and a row with its result: x, y and z as the shortest decimals
 * that convert back exactly, and the saturated ones ("xz", bits 1, 2 and 4), or an empty cell. */
void bp_points_write_header(const struct bp_points *p, FILE *out);
void bp_points_write(const struct bp_points *p, const char *row, const double result[3],
	unsigned saturated, FILE *out);

#endif
