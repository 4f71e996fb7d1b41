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

/* What a data plane's watch reads: what drivers said is taken from the segment's ports, where
 * bp_publish_links() has just written it. */
struct bp_trouble_sources {
	const struct bp_config *config;
	struct bp_shm *shm;
	const struct bp_port *ports;
	const struct bp_pools *pools;
	const struct bp_workers *workers;
	const struct bp_cpus *cpus;
};

/* Main thread, before the workers run. Lines go to stderr. */
void bp_trouble_start(
	struct bp_trouble_watch *w, const struct bp_trouble_sources *s, uint64_t now_ns);
/* Main thread, a few times a second, after bp_publish_links(). now_ns: CLOCK_MONOTONIC. */
void bp_trouble_poll(struct bp_trouble_watch *w, const struct bp_trouble_sources *s,
	uint64_t now_ns, uint64_t unix_ns);

/* The readings alone. */
void bp_trouble_readings_take(const struct bp_trouble_sources *s, struct bp_trouble_readings *out);

#endif
