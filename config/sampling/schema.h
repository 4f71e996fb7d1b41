/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SAMPLING_SCHEMA_H
#define BP_CONFIG_SAMPLING_SCHEMA_H

#include "config/schema.h"

extern const struct bp_schema_part bp_schema_sampling;

/* Checks the entries after they are read. */
void bp_check_sampling(struct bp_reader *r);

#endif
