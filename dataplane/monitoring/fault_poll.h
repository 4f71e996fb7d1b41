/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MONITORING_FAULT_POLL_H
#define BP_DATAPLANE_MONITORING_FAULT_POLL_H

#include "dataplane/process/cpus.h"
#include "dataplane/workers/pools.h"
#include "dataplane/ports/ports.h"
#include "dataplane/monitoring/fault_monitor.h"
#include "dataplane/workers/workers.h"
#include "shm/layout.h"

struct bp_config;

/* Sources of the data plane's samples. Driver statistics are read from the segment's ports, where
 * bp_publish_links() has just written them. */
struct bp_fault_sources {
	const struct bp_config *config;
	struct bp_shm *shm;
	const struct bp_port *ports;
	const struct bp_pools *pools;
	const struct bp_workers *workers;
	const struct bp_cpus *cpus;
};

/* Main thread, before the workers run. Log lines are written to stderr. */
void bp_fault_monitor_start(
	struct bp_fault_monitor *w, const struct bp_fault_sources *s, uint64_t now_ns);
/* Main thread, a few times a second, after bp_publish_links(). now_ns: CLOCK_MONOTONIC. */
void bp_fault_monitor_poll(struct bp_fault_monitor *w, const struct bp_fault_sources *s,
	uint64_t now_ns, uint64_t unix_ns);

/* Reads the samples only. */
void bp_fault_samples_read(const struct bp_fault_sources *s, struct bp_fault_samples *out);

#endif
