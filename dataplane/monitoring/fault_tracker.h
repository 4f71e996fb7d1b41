/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MONITORING_FAULT_TRACKER_H
#define BP_DATAPLANE_MONITORING_FAULT_TRACKER_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/counters.h"
#include "config/config.h"
#include "dataplane/monitoring/fault_message.h"
#include "daemon/pace.h"
#include "shm/fault.h"

/*
 * One kind of fault of one port, pool or worker: when it is raised and cleared, its counter, and
 * its log lines. A fault is either a state (a link that is down) or a series of events (lost
 * frames); a series is cleared after log_interval without an event.
 */

/* Writes an event to the log. */
typedef void bp_fault_log_fn(void *arg, const struct bp_fault_event *event);

/* The destinations of the reports. */
struct bp_fault_sink {
	struct bp_config_monitoring settings;
	struct bp_counters *counters; /* of the main thread */
	struct bp_event_ring *events; /* NULL: none */
	bp_fault_log_fn *log;
	void *arg;
};

struct bp_fault_tracker {
	struct bp_fault_record is; /* as in the segment */
	uint64_t began_ns;         /* monotonic, start of the current or last fault */
	uint64_t ended_ns;         /* end of the last fault, monotonic */
	uint64_t done;             /* total duration of the faults that ended, ns */
	uint64_t before;           /* the last sample of a cumulative value */
	uint64_t before_ns;        /* overruns: the last sample of their duration */
	/* state of the log */
	struct bp_pace pace;
	bool logged;                    /* the active state was logged */
	uint64_t unlogged_spells;       /* times raised since the last line */
	uint64_t unlogged, unlogged_ns; /* events since the last line, and their duration */
	/* events of the current or last fault, and their duration */
	uint64_t of_spell, of_spell_ns;
	uint64_t worst_of_spell;
	unsigned cpu; /* of the worker */
};

/* The time of a check, and the destination of its reports. */
struct bp_fault_check {
	const struct bp_fault_sink *sink;
	uint64_t now_ns, unix_ns; /* monotonic; Unix time for display */
	uint64_t before_ns;       /* time of the check before, monotonic */
};

void bp_fault_tracker_init(struct bp_fault_tracker *t, const struct bp_fault_sink *sink,
	enum bp_fault_kind kind, const char *subject, uint64_t now_ns);
/* A state: `bad` is its value now; if this check raises it, it began `ago_ns` ago. */
void bp_fault_tracker_state(
	const struct bp_fault_check *l, struct bp_fault_tracker *t, bool bad, uint64_t ago_ns);
/* Events: `n` since the last check, with a total duration of `ns`. */
void bp_fault_tracker_event(
	const struct bp_fault_check *l, struct bp_fault_tracker *t, uint64_t n, uint64_t ns);
/* Adds to the counter of its kind. */
void bp_fault_tracker_count(
	const struct bp_fault_check *l, const struct bp_fault_tracker *t, uint64_t n);
/* Writes a log line if there is a change and the rate limit permits it. `s`: fields that the caller
 * sets: free, size, never. */
void bp_fault_tracker_log(
	const struct bp_fault_check *l, struct bp_fault_tracker *t, struct bp_fault_message *s);

#endif
