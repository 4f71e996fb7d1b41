/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EVENTS_EVENT_SOURCE_H
#define BP_APPS_BIPLANE_EVENTS_EVENT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

/* One ring of the segment, as a reader of events sees it: its next record, and what was lost. */
struct bp_event_source {
	struct bp_event_cursor cursor;
	unsigned part;     /* of the segment, BP_SEG_DATA ... */
	bool alarms;       /* the alarm log */
	bool has;          /* `is` is the next record */
	bool reset;        /* the ring was recreated or is damaged, which was not reported yet */
	bool wrapped;      /* at the start, the ring had overwritten records */
	bool gap;          /* of these, some may be later than since_ns: not reported yet */
	bool settled;      /* a record was read since the last reset */
	uint64_t since_ns; /* earlier records of the backlog are skipped */
	uint64_t lost;     /* records that were lost and not reported yet */
	uint64_t damaged;  /* the same, of records without valid fields */
	union {
		struct bp_event event;
		struct bp_alarm_log alarm; /* strings are terminated */
	} is;
};

/* Reads the next record of one of the types (BP_EVENT_BIT) into `is`, if there is one. */
void bp_event_source_fill(struct bp_event_source *s, unsigned types);
uint64_t bp_event_source_time(const struct bp_event_source *s);
/* "worker 0", "data plane", "control plane", "health devices", "alarms": source i of a segment with
 * `workers`. */
#define BP_EVENT_SOURCE_NAME 24
void bp_event_source_name(unsigned i, unsigned workers, char out[BP_EVENT_SOURCE_NAME]);

/* Opens all sources of a segment; returns their number. */
#define BP_EVENT_SOURCES_OTHER (BP_EVENTS_OTHERS + 1u) /* than workers */
#define BP_EVENT_SOURCES_MAX (BP_MAX_WORKERS + BP_EVENT_SOURCES_OTHER)
unsigned bp_event_sources_open(
	struct bp_event_source *s, const struct bp_shm *m, uint64_t backlog, uint64_t since_ns);

#endif
