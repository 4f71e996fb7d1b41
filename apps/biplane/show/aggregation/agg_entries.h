/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_ENTRIES_H
#define BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_ENTRIES_H

#include <jansson.h>
#include <stdint.h>

#include "shm/layout.h"

/*
 * `show aggregates` but for the streams, as JSON:
 *   generation   of the rules in force; null: no entry in section aggregation; 0: the control
 *                plane has not published them yet
 *   aggregate, disaggregate   an object an entry, what the file says of it and what was counted
 *   workers      an object a worker
 * NULL without memory.
 */
json_t *bp_agg_entries(const struct bp_shm *m);

/* a/b to two decimals, more would be noise; null when b is 0. */
json_t *bp_agg_ratio(double a, double b);
/* "10.1.0.9:5555", "10.1.0.0/24:5000-5999", "[fd00::9]:5555" */
#define BP_TEXT_AGG_TO 80
void bp_text_agg_to(const struct bp_agg_to *to, char out[BP_TEXT_AGG_TO]);

#endif
