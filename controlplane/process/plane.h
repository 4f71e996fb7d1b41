/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_PLANE_H
#define BP_CONTROLPLANE_PROCESS_PLANE_H

#include <stdbool.h>
#include <stdint.h>

#include "controlplane/fleet/agent_watch.h"
#include "controlplane/fleet/fault.h"
#include "controlplane/process/captures.h"
#include "controlplane/process/control.h"
#include "controlplane/process/notifier.h"
#include "daemon/log.h"
#include "controlplane/process/publication.h"
#include "controlplane/process/reload.h"
#include "controlplane/service.h"
#include "controlplane/sync/sync.h"
#include "shm/events/event.h"
#include "shm/fib/fib_writer.h"
#include "shm/layout.h"

/* All of a control plane that runs: what controlplane.c begins and ends, of which
 * plane_services.c starts what works, and plane_commands.c answers who asks for something. */
struct bp_plane {
	struct bp_plane_context x; /* of the services; base, control and publication are ours */
	struct bp_shm shm;
	struct bp_listen_fds fds;
	struct bp_reload reload; /* has the running configuration */
	struct bp_log_limit log_reloaded, log_refused;
	char retried[512]; /* the error of the last reload, if it may succeed later; "": none */
	struct bp_fib_writer *fib_writer; /* NULL: nothing routes */
	struct bp_sync *sync;
	struct bp_cp_captures *captures;
	struct event *signals[3], *second;
	struct bp_cp_notifier notifier;
	struct bp_fleet_fault fleet_fault;
	struct bp_fleet_watch fleet_agent;
	uid_t agent_uid;                  /* the user of its service; 0: there is none */
	uint64_t hash_key[2], started_ns; /* as the control plane wrote them to its part */
	struct bp_log_limit log_restored;
	uint64_t dataplane_started_ns; /* of the data plane that has received the rules */
	bool stopping;
	bool first_start; /* the first control plane of this data plane */
	int status;
	int lock;
	char control_path[512];
};

/* Each returns the exit status, or 0; why is logged. */

/* The state of the fleet, if the configuration has it. */
int bp_plane_start_fleet(struct bp_plane *cp);
/* The services: their first publication, and their other work. */
int bp_plane_start_services(struct bp_plane *cp);
/* The forwarding tables and who fills them. */
int bp_plane_start_sync(struct bp_plane *cp);
/* The control socket. */
int bp_plane_start_control(struct bp_plane *cp);

/* Whether no worker can still read the segment; arg: its struct bp_shm_global. */
bool bp_plane_readers_gone(void *arg);

/* The file is read again, as by SIGHUP; how that ends is logged. */
void bp_plane_reload(struct bp_plane *cp);
/* Writes an event of the configuration; error: NULL for none. */
void bp_plane_config_event(struct bp_plane *cp, enum bp_event_config action, const char *error);
/* Both planes log as in the running configuration; the data plane reads the settings from the
 * segment. */
void bp_plane_apply_running(struct bp_plane *cp);
#endif
