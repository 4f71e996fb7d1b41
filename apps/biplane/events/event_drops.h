/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EVENTS_EVENT_DROPS_H
#define BP_APPS_BIPLANE_EVENTS_EVENT_DROPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

/* Summaries of dropped frames, from the counters: by reason, what was added in an interval. */
struct bp_event_drops {
	bool begun;
	uint64_t last_ns, dataplane_started_ns;
	uint64_t before[BP_C_COUNT];
};

/* The object `drops` if an interval has passed and frames were dropped in it, else NULL. */
json_t *bp_event_drops(
	struct bp_event_drops *d, const struct bp_shm *m, uint64_t interval_ns, uint64_t now_ns);

#endif
