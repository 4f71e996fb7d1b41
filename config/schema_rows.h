/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SCHEMA_ROWS_H
#define BP_CONFIG_SCHEMA_ROWS_H

#include "config/schema.h"

/* For the files of rows, schema_*.c, only: units, and the location of a row's setting. */

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define US ((uint64_t)1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define MINUTE (60 * S)
#define HOUR (3600 * S)
#define DAY (24 * HOUR)

#define IN(type_, member_)                                                                         \
	.offset = offsetof(struct type_, member_), .size = sizeof(((struct type_ *)0)->member_)
#define GIVEN(type_, member_) .given = 1 + offsetof(struct type_, member_)

extern const struct bp_schema_part bp_schema_gateway, bp_schema_fleet;

/* The rows of a file, by the name that config/schema.c uses. */
#define BP_SCHEMA_PART(name_, rows_)                                                               \
	const struct bp_schema_part name_ = {rows_, sizeof(rows_) / sizeof((rows_)[0])}

#endif
