/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_LCL_SCHEMA_H
#define BP_CONFIG_LCL_SCHEMA_H

#include "config/lcl/settings.h"
#include "config/schema.h"

extern const struct bp_schema_part bp_schema_lcl;
extern const struct bp_type bp_type_lcl_out;

/* check_lcl.c: checks section lcl after it is read */
void bp_check_lcl(struct bp_reader *r);

#endif
