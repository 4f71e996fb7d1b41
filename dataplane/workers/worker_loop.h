/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_WORKER_LOOP_H
#define BP_DATAPLANE_WORKERS_WORKER_LOOP_H

#include <sched.h>
#include <stdbool.h>

#include "dataplane/process/clock.h"
#include "dataplane/workers/sleep.h"
#include "dataplane/workers/worker.h"

/*
 * Applies the active rules for the next walk of this worker, and acknowledges them in the segment.
 */
void bp_worker_apply_rules(struct bp_worker *w);
/* Records that this worker reads no rules any more. */
void bp_worker_release_rules(struct bp_worker *w);

/* Work before a walk when the time is already set: rules, aging. Also used by replay. */
void bp_worker_before_walk(struct bp_worker *w);

struct bp_worker_args {
	struct bp_worker *worker;
	const struct bp_clock *clock;
	struct bp_sleep *sleep; /* how it sleeps when no frames arrive; NULL: it does not */
	const cpu_set_t *cpus;  /* CPUs that it may use; NULL: only that of its lcore */
};

/*
 * Runs a worker until its `stop` is set; then drains its queues, for at most 200 ms, so that
 * received frames are sent. For rte_eal_remote_launch().
 */
int bp_worker_run(void *args);

#endif
