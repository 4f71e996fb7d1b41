/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/plane.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "config/config.h"
#include "controlplane/process/controlplane.h"
#include "daemon/log.h"
#include "controlplane/alarms/publisher.h"
#include "controlplane/mqtt/rules.h"

/* At the start so long is waited for workers that stand still. */
#define AWAIT_WORKERS_MS 500u

static void rules_at_start(void *arg, const struct bp_rules_result *result)
{
	struct bp_plane *cp = arg;

	cp->life.rules = result->ok;
	if (result->ok)
		bp_log(BP_LOG_INFO, "%" PRIu32 " rules in force, generation %" PRIu64,
			result->rules, result->generation);
	else
		bp_log(BP_LOG_ERROR, "%s", result->error);
	bp_plane_warn_of_lost(result->transform.lost);
}

int bp_plane_start_services(struct bp_plane *cp)
{
	const struct bp_config_mqtt *mqtt = &cp->reload.running->mqtt;
	char err[1024];

	if (bp_config_phd_allow_check(&cp->reload.running->phd, err, sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return BP_EXIT_CONFIG;
	}
	/* One that is restarted while it forwards goes on, and the spool is a fault. */
	if (cp->first_start && bp_publisher_spool_in_use(mqtt, err, sizeof(err))) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return BP_EXIT_CONFIG;
	}
	cp->reload.rules = bp_rules_new(cp->base, &cp->shm);
	if (cp->reload.rules == NULL)
		return 1;
	/* The rules that are in force stay untouched when they are the file's. */
	if (bp_rules_apply(cp->reload.rules, cp->reload.running, true, 0, rules_at_start, cp, err,
		    sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return BP_EXIT_CONFIG;
	}
	cp->reload.publisher = bp_publisher_new(cp->base, &cp->shm, mqtt, err, sizeof(err));
	if (cp->reload.publisher == NULL) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return 1;
	}
	return 0;
}

/*
 * What the writer before had free and what it had just unlinked can't be told apart: none of it is
 * used until every worker has begun another walk. That is at once, unless workers share their
 * cores; changes before it would find no room, and their traffic would go to the kernel for a
 * while.
 */
static void await_workers(struct bp_fib_writer *w)
{
	static const struct timespec little = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < AWAIT_WORKERS_MS && bp_fib_settle(w); i++)
		nanosleep(&little, NULL);
}

/* Only what is certain counts: memory that a worker still reads must not be reused, and heartbeats
 * are old, too, after the system's clock was set. A pid that is somebody else's by now makes the
 * tables wait for the next data plane. */
static bool no_readers(void *arg)
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
	cp->fib_writer =
		bp_fib_writer_new(&cp->shm.fib, no_readers, cp->shm.global, err, sizeof(err));
	if (cp->fib_writer != NULL) {
		const struct bp_sync_to to = {.writer = cp->fib_writer,
			.fib = &cp->shm.fib,
			.global = cp->shm.global,
			.control = cp->shm.control,
			.ports = cp->shm.ports,
			.n_ports = cp->reload.running->n_ports};

		await_workers(cp->fib_writer);
		cp->sync = bp_sync_new(cp->base, &to, cp->reload.running, err, sizeof(err));
	}
	if (cp->sync != NULL)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return 1;
}

/* The MAC of the first port that routes; false: the data plane has not told it yet. */
static bool first_mac(const struct bp_plane *cp, uint8_t mac[6])
{
	static const uint8_t none[6];
	const struct bp_config *c = cp->reload.running;

	for (unsigned i = 0; i < c->n_ports; i++) {
		if (!bp_config_port_routes(c, i))
			continue;
		memcpy(mac, cp->shm.ports[i].mac, 6);
		return memcmp(mac, none, 6) != 0;
	}
	return false;
}

int bp_plane_start_phd(struct bp_plane *cp)
{
	const struct bp_config *c = cp->reload.running;
	struct bp_phd_service_setup setup = {.config = c,
		.tables = &cp->shm.phd,
		.fib = &cp->shm.fib,
		.epochs = &cp->shm.fib,
		.readers_gone = no_readers,
		.readers = cp->shm.global,
		.udp = cp->phd_sockets.udp,
		.tcp = cp->phd_sockets.tcp};
	char err[1024];

	if (!c->phd.enabled || cp->phd != NULL ||
		(!first_mac(cp, setup.mac) && !c->phd.has_system_id))
		return 0;
	cp->phd_sockets = (struct bp_phd_sockets){-1, -1};
	cp->phd = bp_phd_service_new(cp->base, &setup, err, sizeof(err));
	if (cp->phd != NULL)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return 1;
}

int bp_plane_start_loader(struct bp_plane *cp)
{
	const struct bp_config *c = cp->reload.running;
	char err[512];

	if (c->transformation.loader.family == 0 || cp->shm.transform.head == NULL)
		return 0;
	cp->loader = bp_loader_new(cp->base, &cp->shm, &c->transformation.loader,
		c->transformation.loader_tcp, c->transformation.loader_connections, err,
		sizeof(err));
	if (cp->loader != NULL)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return 1;
}

int bp_plane_take_sockets(struct bp_plane *cp)
{
	struct bp_listen_fds fds;
	char err[512];

	if (bp_listen_fds_take(&fds, err, sizeof(err)) == 0 &&
		bp_phd_sockets_take(
			&cp->phd_sockets, &fds, &cp->reload.running->phd, err, sizeof(err)) == 0)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return -1;
}
