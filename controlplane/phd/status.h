/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PHD_STATUS_H
#define BP_CONTROLPLANE_PHD_STATUS_H

#include <stdint.h>

#include "controlplane/phd/cse_client.h"
#include "controlplane/phd/cse_http.h"
#include "controlplane/phd/events.h"
#include "controlplane/phd/keep.h"
#include "controlplane/phd/ready.h"
#include "controlplane/phd/server.h"
#include "controlplane/phd/slow.h"
#include "controlplane/phd/store.h"
#include "controlplane/phd/tcp.h"
#include "phd/manager.h"
#include "shm/phd.h"

/* Who counts. NULL: there is none. All but the tables begin at 0 with the process. */
struct bp_phd_status_from {
	const struct bp_phd_tables *tables;
	const struct bp_phd_manager_counts *manager;
	const struct bp_slow *slow;
	const struct bp_worker_events *events;
	const struct bp_cse_client *cse[2];
	const struct bp_cse_http *http;
	const struct bp_ready *ready;
	const struct bp_phd_store *store;
	const struct bp_phd_keep *keep;
	const struct bp_phd_server *server;
	const struct bp_phd_tcp *tcp;
};

/* Writes what they count into the segment's words (shm/phd_status.h). */
struct bp_phd_status_writer {
	struct bp_phd_status *status;
	uint64_t before[BP_PHD_S_COUNT]; /* TOTALs of earlier processes */
	uint64_t drops[BP_PHD_SOCKETS];  /* that this one saw */
};

/* Of a process that begins: TOTALs go on from what the words say. */
void bp_phd_status_begin(struct bp_phd_status_writer *w, struct bp_phd_status *status);
/* mono_ns: CLOCK_MONOTONIC. */
void bp_phd_status_write(
	struct bp_phd_status_writer *w, const struct bp_phd_status_from *from, uint64_t mono_ns);

#endif
