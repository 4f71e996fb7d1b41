/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_WORKERS_H
#define BP_DATAPLANE_WORKERS_WORKERS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "dataplane/workers/pools.h"
#include "dataplane/ports/ports.h"
#include "dataplane/ports/queue_plan.h"
#include "dataplane/workers/worker.h"
#include "dataplane/workers/worker_loop.h"
#include "shm/layout.h"

struct bp_config;

/* All workers of a process; worker w runs on lcore w + 1. */
struct bp_workers {
	unsigned n;
	struct bp_worker *worker[BP_MAX_WORKERS];
	struct bp_worker_args args[BP_MAX_WORKERS];
	struct bp_sleep *sleep[BP_MAX_WORKERS]; /* NULL: the worker does not sleep */
	struct bp_fdb fdb;
	struct bp_ruleset_copies *ruleset_copies;
	struct bp_capture_sets *captures;
	void *shared[BP_SERVICE_COUNT]; /* NULL: the service has no shared state */
};

/*
 * Creates the workers with their graphs and services. `exception` NULL: no port is routed. Returns
 * 0, or -1 with a message in `err`.
 */
int bp_workers_create(struct bp_workers *ws, const struct bp_config *c, const struct bp_port *ports,
	const struct bp_queue_plan *plan, const struct bp_pools *pools,
	struct bp_exception *exception, struct bp_shm *shm, char *err, size_t err_size);
/* `cpus`: the CPUs that workers may use which sleep; NULL: each has the CPU of its lcore. */
void bp_workers_launch(struct bp_workers *ws, const struct bp_clock *clock, const cpu_set_t *cpus);
/* Wakes the workers that sleep, after something that they read was changed. */
void bp_workers_ring(struct bp_workers *ws);
/* Drains the workers, and waits until they have stopped. */
void bp_workers_stop(struct bp_workers *ws);
void bp_workers_free(struct bp_workers *ws);

/*
 * Creates one worker without a graph: the bridges, tables and rules that it uses. NULL on error,
 * with a message in `err`.
 */
struct bp_worker *bp_worker_create(const struct bp_config *c, struct bp_shm *shm, unsigned index,
	const struct bp_fdb *fdb, bool record_mirrored, char *err, size_t err_size);
void bp_worker_free(struct bp_worker *w);

#endif
