/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_AGGREGATION_SCHEMA_H
#define BP_CONFIG_AGGREGATION_SCHEMA_H

#include "config/aggregation/settings.h"
#include "config/schema.h"

extern const struct bp_schema_part bp_schema_aggregation;

/* check_aggregation.c: checks section aggregation after all of it is read */
void bp_check_aggregation(struct bp_reader *r);

#endif
