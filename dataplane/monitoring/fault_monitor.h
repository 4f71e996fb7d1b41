/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MONITORING_FAULT_MONITOR_H
#define BP_DATAPLANE_MONITORING_FAULT_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/counters.h"
#include "biplane/limits.h"
#include "services/mqtt/flow_show.h"
#include "dataplane/monitoring/fault_tracker.h"
#include "shm/fault.h"

struct bp_config_monitoring;

/*
 * Monitors ports, pools and workers for the data plane's main thread. It receives samples a few
 * times a second and updates counters, rows in the segment and the log, whose rate is limited
 * (daemon/pace.h). It reads neither devices nor a clock, so tests can supply any sample and time.
 */

enum bp_fault_link {
	BP_FAULT_LINK_IS_UP,
	BP_FAULT_LINK_LOST,   /* it was up, and is down */
	BP_FAULT_LINK_NOT_YET /* it has not been up, and the link state of the driver is reliable */
};

/* Cumulative values, as counted by drivers and workers. */
struct bp_fault_samples {
	unsigned n_ports, n_pools, n_workers;
	struct {
		enum bp_fault_link link;
		uint64_t missed, no_mbuf, errors;
	} port[BP_MAX_PORTS];
	struct {
		uint32_t free, size;
	} pool[BP_FAULT_POOLS];
	struct {
		bool runs;             /* otherwise it has no queues, or its thread has ended */
		uint64_t heartbeat_ns; /* time of its last poll, same clock as now_ns; 0: not yet */
		uint64_t overruns, overrun_ns; /* number of overruns, and their total duration */
		uint64_t longest_ns;           /* longest poll gap since the start */
		struct bp_unread unread;
	} worker[BP_MAX_WORKERS];
};

/* The objects that the samples describe. */
struct bp_fault_subjects {
	unsigned n_ports, n_pools, n_workers;
	const char *port[BP_MAX_PORTS], *pool[BP_FAULT_POOLS];
	unsigned worker_cpu[BP_MAX_WORKERS];
};

struct bp_fault_monitor {
	struct bp_fault_sink sink;
	struct bp_fault_row *rows; /* in the segment: bp_fault_rows() rows */
	uint64_t started_ns, looked_ns;
	bool link_was_up[BP_MAX_PORTS];
	unsigned n_ports, n_pools, n_workers, n;
	struct bp_fault_tracker watched[BP_FAULT_ROWS_MAX];
	struct bp_unread_scan unread[BP_MAX_WORKERS]; /* state of bp_fault_monitor_poll() */
};

/* The caller has set `rows`, and counters, log and arg of the sink. `first` holds the initial
 * values of the cumulative counts. */
void bp_fault_monitor_init(struct bp_fault_monitor *w, const struct bp_config_monitoring *settings,
	const struct bp_fault_subjects *subjects, const struct bp_fault_samples *first,
	uint64_t now_ns);
/* Runs one check. now_ns: monotonic; unix_ns: Unix time of the same moment, for display. */
void bp_fault_monitor_check(struct bp_fault_monitor *w, const struct bp_fault_samples *r,
	uint64_t now_ns, uint64_t unix_ns);

#endif
