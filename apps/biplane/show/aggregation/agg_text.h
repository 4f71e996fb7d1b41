/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_TEXT_H
#define BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* What bp_agg_entries() collected, for people: tables, reasons, delays as bars, warnings. */
void bp_agg_entries_print(const json_t *entries, FILE *out);

#endif
