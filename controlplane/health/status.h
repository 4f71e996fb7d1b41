/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STATUS_H
#define BP_CONTROLPLANE_HEALTH_STATUS_H

#include <stdint.h>

#include "controlplane/health/cse/cse_client.h"
#include "controlplane/health/cse/cse_http.h"
#include "controlplane/health/events.h"
#include "controlplane/health/store/persist.h"
#include "controlplane/health/ready.h"
#include "controlplane/health/server.h"
#include "controlplane/health/slow.h"
#include "controlplane/health/store/store.h"
#include "controlplane/health/tcp.h"
#include "services/health/manager.h"
#include "shm/health/phd.h"

/* The sources of the counters. NULL: not present. All except the tables start at 0 with the
 * process. */
struct bp_phd_status_from {
	const struct bp_phd_tables *tables;
	const struct bp_phd_manager_counts *manager;
	const struct bp_slow *slow;
	const struct bp_worker_events *events;
	const struct bp_cse_client *cse[2];
	const struct bp_cse_http *http;
	const struct bp_ready *ready;
	const struct bp_phd_store *store;
	const struct bp_phd_persist *keep;
	const struct bp_phd_server *server;
	const struct bp_phd_tcp *tcp;
};

/* Writes the counters into the segment (shm/health/phd_status.h). */
struct bp_phd_status_writer {
	struct bp_phd_status *status;
	uint64_t before[BP_PHD_S_COUNT]; /* TOTALs of earlier processes */
	uint64_t drops[BP_PHD_SOCKETS];  /* counted by this process */
};

/* Call it at the start of a process: TOTALs continue from the segment's values. */
void bp_phd_status_begin(struct bp_phd_status_writer *w, struct bp_phd_status *status);
/* mono_ns: CLOCK_MONOTONIC. */
void bp_phd_status_write(
	struct bp_phd_status_writer *w, const struct bp_phd_status_from *from, uint64_t mono_ns);

#endif
