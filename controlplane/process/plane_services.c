/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/plane.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "config/config.h"
#include "controlplane/fleet/state.h"
#include "controlplane/process/clock.h"
#include "controlplane/process/controlplane.h"
#include "daemon/log.h"
#include "shm/events/plane_events.h"

/* Time at the start to wait for workers that make no progress. */
#define AWAIT_WORKERS_MS 500u

void bp_plane_config_event(struct bp_plane *cp, enum bp_event_config action, const char *error)
{
	const uint64_t active =
		atomic_load_explicit(&cp->shm.control->rules_active, memory_order_relaxed);

	bp_config_event(&cp->shm.main_events, action, active >> 1, error, bp_unix_ns());
}

static void published_at_start(void *arg, const char *error, bool retry)
{
	struct bp_plane *cp = arg;

	(void)retry;
	cp->notifier.rules = error == NULL;
	bp_plane_config_event(
		cp, error == NULL ? BP_EVENT_CONFIG_LOADED : BP_EVENT_CONFIG_REFUSED, error);
	if (error != NULL)
		bp_log(BP_LOG_ERROR, "%s", error);
}

int bp_plane_start_fleet(struct bp_plane *cp)
{
	const struct bp_config_fleet *c = &cp->reload.running->fleet;
	char err[1024];

	if (!c->state.enabled)
		return 0;
	cp->x.fleet = bp_fleet_state_new(cp->x.base, c, err, sizeof(err));
	if (cp->x.fleet != NULL)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return BP_EXIT_CONFIG;
}

int bp_plane_start_services(struct bp_plane *cp)
{
	const struct bp_config *c = cp->reload.running;
	char err[1024];

	cp->x.publication = bp_publication_new(&cp->x);
	if (cp->x.publication == NULL)
		return 1;
	/* The active rules are unchanged when they equal those of the file. */
	if (bp_cp_services_check(&cp->x, c, err, sizeof(err)) != 0 ||
		bp_publication_start(cp->x.publication, c, true, 0, published_at_start, cp, err,
			sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return BP_EXIT_CONFIG;
	}
	return 0;
}

/*
 * Lines that the previous writer had free and lines that it had just unlinked are
 * indistinguishable: none is reused until every worker has begun another pass. That takes
 * microseconds, unless workers share their cores. Changes before that would find no free lines, and
 * their traffic would go to the kernel for some time.
 */
static void await_workers(struct bp_fib_writer *w)
{
	static const struct timespec little = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < AWAIT_WORKERS_MS && bp_fib_settle(w); i++)
		nanosleep(&little, NULL);
}

/*
 * Returns true only when it is certain: memory that a worker still reads must not be reused, and
 * heartbeats also appear stale after the system clock was set. If another process now has the pid,
 * the tables wait for the next data plane.
 */
bool bp_plane_readers_gone(void *arg)
{
	const struct bp_shm_global *g = arg;
	const uint64_t pid = atomic_load_explicit(&g->dp_pid, memory_order_acquire);

	return pid == 0 || pid > INT_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

int bp_plane_start_sync(struct bp_plane *cp)
{
	char err[512];

	if (!bp_config_routes(cp->reload.running))
		return 0;
	cp->fib_writer = bp_fib_writer_new(
		&cp->shm.fib, bp_plane_readers_gone, cp->shm.global, err, sizeof(err));
	if (cp->fib_writer != NULL) {
		const struct bp_sync_to to = {.writer = cp->fib_writer,
			.fib = &cp->shm.fib,
			.global = cp->shm.global,
			.control = cp->shm.control,
			.ports = cp->shm.ports,
			.n_ports = cp->reload.running->n_ports};

		await_workers(cp->fib_writer);
		cp->sync = bp_sync_new(cp->x.base, &to, cp->reload.running, err, sizeof(err));
	}
	if (cp->sync != NULL)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return 1;
}
