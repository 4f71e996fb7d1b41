/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EVENTS_EVENT_JSON_H
#define BP_APPS_BIPLANE_EVENTS_EVENT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

/* Records of the segment as JSON objects: docs/reference/events.md. */

/* Who reads, for the fields that each event has. */
struct bp_event_json {
	const char *instance;     /* name */
	const struct bp_shm *shm; /* for names of ports; NULL: none */
};

/* A record of a ring, a copy. NULL: a field has no valid value. */
json_t *bp_event_json(const struct bp_event_json *x, const struct bp_event *e);
/* An entry of the alarm log, a copy with terminated strings. NULL: likewise. */
json_t *bp_event_json_alarm(const struct bp_event_json *x, const struct bp_alarm_log *a);
/* An event of `type` at this time without an object: the caller adds it. */
json_t *bp_event_json_head(const struct bp_event_json *x, unsigned type, uint64_t time_ns);

/* "2026-11-27T03:02:09.123456+00:00": ISO 8601, in UTC. */
#define BP_EVENT_TIME 40
void bp_event_time(uint64_t unix_ns, char out[BP_EVENT_TIME]);

#endif
