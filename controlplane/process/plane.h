/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_PLANE_H
#define BP_CONTROLPLANE_PROCESS_PLANE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "controlplane/process/control.h"
#include "controlplane/process/life.h"
#include "daemon/log.h"
#include "controlplane/health/phd_service.h"
#include "controlplane/health/sockets.h"
#include "controlplane/process/reload.h"
#include "controlplane/sync/sync.h"
#include "controlplane/transform/transform_loader.h"
#include "shm/fib/fib_writer.h"
#include "shm/layout.h"

/* All of a control plane that runs: what controlplane.c begins and ends, of which
 * plane_services.c starts what works, and plane_commands.c answers who asks for something. */
struct bp_plane {
	struct event_base *base;
	struct bp_shm shm;
	struct bp_reload reload; /* has the running configuration */
	struct bp_control *control;
	struct bp_log_limit log_reloaded, log_refused;
	struct bp_fib_writer *fib_writer; /* NULL: nothing routes */
	struct bp_sync *sync;
	struct bp_phd_service *phd; /* NULL: no section phd, or the port's MAC is not known yet */
	struct bp_phd_sockets phd_sockets; /* that were handed to us, until the service has them */
	struct bp_loader *loader;          /* NULL: nobody may load matrices */
	uint64_t clearing;                 /* client whose matrix-clear is under way */
	int cleared;                       /* entries that it is about */
	struct event *signals[3], *second;
	struct bp_cp_life life;
	struct stat segment_file[BP_SEG_PARTS]; /* as it was when it was opened */
	uint64_t hash_key[2], started_ns;       /* as the control plane wrote them to its part */
	struct bp_log_limit log_restored;
	uint64_t dataplane_started_ns; /* of the data plane that rules were told to */
	bool stopping;
	bool first_start; /* no control plane ran beside this data plane before */
	int status;
	int lock;
	char control_path[512];
};

/* Sockets that `biplane run` or a service manager opened for us. 0 or -1, which has been logged, as
 * is what the next ones refuse. */
int bp_plane_take_sockets(struct bp_plane *cp);

/* Each returns the exit status, or 0. */

/* The rules, and who publishes alarms: what a configuration can get wrong that its validation could
 * not see. */
int bp_plane_start_services(struct bp_plane *cp);
/* The forwarding tables and who fills them. */
int bp_plane_start_sync(struct bp_plane *cp);
/* The manager of health devices, as soon as there is all that it needs: to be called again. */
int bp_plane_start_phd(struct bp_plane *cp);
/* Who may load matrices. */
int bp_plane_start_loader(struct bp_plane *cp);
/* The control socket. */
int bp_plane_start_control(struct bp_plane *cp);

/* The file is read again, as by SIGHUP; how that ends is logged. */
void bp_plane_reload(struct bp_plane *cp);
/* Logs that so many matrices that were set are gone, unless there are none. */
void bp_plane_warn_of_lost(json_int_t n);

#endif
