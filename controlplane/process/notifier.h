/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_NOTIFIER_H
#define BP_CONTROLPLANE_PROCESS_NOTIFIER_H

#include <stdbool.h>

#include "daemon/watchdog.h"
#include "shm/layout.h"

struct bp_sync;

/* Notifications of the event loop to the service manager. Each iteration is a heartbeat. */
struct bp_cp_notifier {
	struct bp_watchdog watchdog;
	bool rules; /* are active */
	bool ready, was_connected, status_sent;
};

/* `rules` stays as it is. */
void bp_cp_notifier_init(struct bp_cp_notifier *l);

/* Once a second: ready once the rules are active and the tables match the kernel's (sync NULL:
 * without routing), heartbeats, and a status line when the connection to the broker changes. */
void bp_cp_notifier_update(
	struct bp_cp_notifier *l, const struct bp_sync *sync, const struct bp_shm_control *g);

#endif
