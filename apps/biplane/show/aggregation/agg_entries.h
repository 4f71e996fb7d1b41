/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_ENTRIES_H
#define BP_APPS_BIPLANE_SHOW_AGGREGATION_AGG_ENTRIES_H

#include <jansson.h>
#include <stdint.h>

#include "shm/layout.h"

/*
 * `show aggregates` without the streams, as JSON:
 *   generation   of the active rules; null: no entry in section aggregation; 0: the control plane
 *                has not published them yet
 *   aggregate, disaggregate   one object for each entry: its settings and counters
 *   workers      one object for each worker
 * NULL: out of memory.
 */
json_t *bp_agg_entries(const struct bp_shm *m);

/* a/b with two decimals; null if b is 0. */
json_t *bp_agg_ratio(double a, double b);
/* "10.1.0.9:5555", "10.1.0.0/24:5000-5999", "[fd00::9]:5555" */
#define BP_TEXT_AGG_TO 80
void bp_text_agg_to(const struct bp_agg_to *to, char out[BP_TEXT_AGG_TO]);

#endif
