/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_COUNTERS_H
#define BP_APPS_BIPLANE_MONITOR_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/biplane/monitor/event_log.h"

/*
 * Counters of the monitor process itself, rendered by bp_metrics_write() as biplane_monitor_*. One
 * thread writes and reads them.
 */
struct bp_monitor_counters {
	/* gauges */
	uint64_t connections;   /* open now */
	uint64_t event_streams; /* of these, streams of /api/v1/events */
	uint64_t answer_bytes;  /* memory of answers that are not sent yet */
	/* since the start of the process */
	uint64_t accepted;       /* connections */
	uint64_t refused;        /* connections closed in favor of a new one, answer not read */
	uint64_t evicted;        /* idle connections closed in favor of a new one */
	uint64_t timed_out;      /* connections closed at a deadline */
	uint64_t incomplete;     /* connections that ended without a complete request */
	uint64_t requests;       /* requests that were answered */
	uint64_t requests_4xx;   /* of these, with an error of the client */
	uint64_t requests_5xx;   /* of these, that could not be answered */
	uint64_t unauthorized;   /* of these, without a valid token */
	uint64_t throttled;      /* of these, refused to limit CPU time and memory */
	uint64_t aborted;        /* answers that the client did not read to the end */
	uint64_t events_lost;    /* events that slow streams did not get */
	uint64_t segment_opened; /* times that the segment was opened */
	uint64_t answer_ns;      /* time spent on answers */
	uint64_t started_unix_s; /* start of the process, seconds since 1970 */
	bool writes_events;      /* log.events is on */
	struct bp_event_log_counts event_log;
};
extern struct bp_monitor_counters bp_monitor_counters;

#endif
