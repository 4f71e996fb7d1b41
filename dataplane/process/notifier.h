/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_NOTIFIER_H
#define BP_DATAPLANE_PROCESS_NOTIFIER_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/exception/thread.h"
#include "dataplane/workers/workers.h"
#include "daemon/watchdog.h"

/* What the main thread tells the service manager of the workers and the exception thread. */
struct bp_dp_notifier {
	struct bp_watchdog watchdog;
	const struct bp_workers *workers;
	const struct bp_exception_thread *exception; /* NULL: none */
	bool ready;
	uint64_t links; /* bit per port that was up when it was said last */
};

/* Workers are to be launched already or just then. */
void bp_dp_notifier_init(struct bp_dp_notifier *l, const struct bp_workers *workers,
	const struct bp_exception_thread *exception, uint64_t now_ns);

/* Once in some 100 ms: ready once all threads go round, then a life sign while they do, and a line
 * of status when a link has changed. */
void bp_dp_notifier_update(struct bp_dp_notifier *l, const struct bp_shm *shm, uint64_t now_ns);

#endif
