/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_RATES_H
#define BP_APPS_BIPLANE_SHOW_RATES_H

#include <jansson.h>
#include <stdint.h>

#include "shm/layout.h"

/* Maximum number of points: with more, the step is larger than requested. */
#define BP_RATES_POINTS_MAX 3600u
#define BP_RATES_SINCE_DEFAULT_NS (600 * 1000000000ull)
#define BP_RATES_SINCE_MAX_NS (86400 * 1000000000ull)
#define BP_RATES_STEP_MAX_S 86400u

/*
 * The rates of the last since_ns before mono_ns (CLOCK_MONOTONIC), from the history in the segment:
 * a point for step_s samples, which is step_s seconds unless the data plane missed some. step_s 0:
 * about 60 points. A new reference, or NULL without memory:
 *
 *   {"since_s", "step_s", "history_s", "samples",
 *    "times": [Unix time of the end of each interval, s], "seconds": [its duration],
 *    "missed": [samples that are missing in it], "restarted": [whether the data plane restarted],
 *    "series": [{"name", "unit", "port" or "worker" where it is of one, "values": [...]}]}
 *
 * All arrays have one element for each point. Series are rates, except gauges (the value at the
 * end), shares of time (0 to 1) and percentiles of the alarms that were acknowledged in the
 * interval, in ns. A value is null if it is unknown: over a restart, or without an alarm. Points
 * begin at the same samples in each call, so that two calls agree on the points that both have.
 */
json_t *bp_rates_json(const struct bp_shm *m, uint64_t mono_ns, uint64_t since_ns, uint32_t step_s);

#endif
