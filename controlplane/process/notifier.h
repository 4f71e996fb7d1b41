/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_NOTIFIER_H
#define BP_CONTROLPLANE_PROCESS_NOTIFIER_H

#include <stdbool.h>

#include "daemon/watchdog.h"
#include "shm/layout.h"

struct bp_sync;

/* What the event loop tells the service manager. That it goes round is its life sign. */
struct bp_cp_notifier {
	struct bp_watchdog watchdog;
	bool rules; /* are in force */
	bool ready, was_connected, told;
};

/* `rules` stays as it is. */
void bp_cp_notifier_init(struct bp_cp_notifier *l);

/* Once a second: ready once the rules are in force and the tables are the kernel's (sync NULL:
 * nothing routes), life signs, and a line of status when the edge broker came or went. */
void bp_cp_notifier_update(
	struct bp_cp_notifier *l, const struct bp_sync *sync, const struct bp_shm_control *g);

#endif
