/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_NOTIFIER_H
#define BP_DATAPLANE_PROCESS_NOTIFIER_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/exception/thread.h"
#include "dataplane/workers/workers.h"
#include "daemon/watchdog.h"

/*
 * Reports the state of the workers and the exception thread to the service manager, from the main
 * thread.
 */
struct bp_dp_notifier {
	struct bp_watchdog watchdog;
	const struct bp_workers *workers;
	const struct bp_exception_thread *exception; /* NULL: none */
	bool ready;
	uint64_t links; /* bit per port that was up at the last report */
};

/* Called when the workers are running, or are about to be started. */
void bp_dp_notifier_init(struct bp_dp_notifier *l, const struct bp_workers *workers,
	const struct bp_exception_thread *exception, uint64_t now_ns);

/*
 * Called about every 100 ms. Reports ready once all threads run, then a heartbeat while they run,
 * and a status line after a link change.
 */
void bp_dp_notifier_update(struct bp_dp_notifier *l, const struct bp_shm *shm, uint64_t now_ns);

#endif
