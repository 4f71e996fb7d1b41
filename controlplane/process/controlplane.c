/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/controlplane.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "controlplane/fleet/state.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"
#include "controlplane/process/peer.h"
#include "controlplane/process/plane.h"
#include "controlplane/process/privileges.h"
#include "controlplane/process/ring_events.h"
#include "controlplane/process/segment_open.h"
#include "daemon/notify.h"
#include "shm/events/plane_events.h"
#include "shm/plane_dirs.h"

/* Time at shutdown for the broker to acknowledge alarms in flight, and for Redis to acknowledge
 * changes. */
#define DRAIN_NS 1000000000ull

static void drained(void *arg)
{
	struct bp_plane *cp = arg;

	event_base_loopexit(cp->x.base, NULL);
}

/* After the services: their last changes are in the queue. */
static void services_drained(void *arg)
{
	struct bp_plane *cp = arg;

	if (cp->x.fleet == NULL)
		drained(cp);
	else
		bp_fleet_state_drain(cp->x.fleet, DRAIN_NS, drained, cp);
}

static void stop(struct bp_plane *cp, int status)
{
	if (cp->stopping)
		return;
	cp->stopping = true;
	bp_notify_stopping();
	cp->status = status;
	bp_cp_services_drain(&cp->x, DRAIN_NS, services_drained, cp);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	bp_log(BP_LOG_INFO, "%s: stopping", number == SIGINT ? "SIGINT" : "SIGTERM");
	stop(arg, 0);
}

static void on_hup(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	bp_plane_reload(arg);
}

/* ---- heartbeats ---- */

/* A new data plane has started with the file, whatever configuration was active before. */
static void on_dataplane_restart(struct bp_plane *cp)
{
	const uint64_t started =
		atomic_load_explicit(&cp->shm.global->dp_started_ns, memory_order_relaxed);

	if (started == cp->dataplane_started_ns)
		return;
	cp->dataplane_started_ns = started;
	bp_cp_services_republish(&cp->x);
}

/* Publishes the state of this plane for `biplane show` and the other plane. */
static void announce(struct bp_plane *cp)
{
	struct bp_shm_control *c = cp->shm.control;

	atomic_store_explicit(&c->cp_started_ns, cp->started_ns, memory_order_relaxed);
	atomic_store_explicit(&c->cp_heartbeat_ns, bp_unix_ns(), memory_order_relaxed);
	atomic_store_explicit(&c->cp_pid, (uint64_t)getpid(), memory_order_release);
}

static bool restored(struct bp_plane *cp, unsigned part)
{
	if (!bp_segment_restore(cp->shm.segment, part))
		return false;
	atomic_fetch_add_explicit(
		&cp->shm.control->cp_segment_quarantined, 1, memory_order_relaxed);
	bp_log_limited(&cp->log_restored, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("segment", bp_segment_part_path(cp->shm.segment, part))),
		"header of the shared segment was overwritten and is restored");
	return true;
}

/*
 * Another process, a defect or an operator may overwrite the files. A damaged header is restored
 * from the validated copy. Damaged contents cannot be repaired: the next control plane recreates
 * the part. False: restart the control plane.
 */
static bool segment_sound(struct bp_plane *cp)
{
	const struct bp_shm_control *c = cp->shm.control;
	const uint64_t active = atomic_load_explicit(&c->rules_active, memory_order_relaxed);
	const bool again = restored(cp, BP_SEG_CONTROL);

	if (!bp_dataplane_alive(cp->shm.global))
		restored(cp, BP_SEG_SHARED);
	if (memcmp(c->hash_key, cp->hash_key, sizeof(cp->hash_key)) != 0 ||
		bp_shm_rules(&cp->shm, active)->generation != active >> 1 ||
		(again && bp_shm_unsound(&cp->shm, BP_SEG_CONTROL) != NULL))
		return false;
	if (again)
		announce(cp);
	return true;
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct bp_plane *cp = arg;
	char err[1024];

	(void)fd;
	(void)what;
	atomic_store_explicit(
		&cp->shm.control->cp_heartbeat_ns, bp_unix_ns(), memory_order_relaxed);
	bp_process_use_publish(&cp->shm.control->cp_use);
	/* by a data plane that was started with another configuration, or repaired it */
	if (!cp->stopping && bp_segment_replaced(cp->shm.segment)) {
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR("segment", bp_segment_path(cp->shm.segment))),
			"shared segment was replaced; exiting to restart on the new one");
		stop(cp, 1);
	}
	if (!cp->stopping && !segment_sound(cp)) {
		bp_log_event(BP_LOG_ERROR,
			BP_LOG_FIELDS(BP_LOG_STR(
				"segment", bp_segment_part_path(cp->shm.segment, BP_SEG_CONTROL))),
			"contents of the shared segment were overwritten; exiting to restart on a "
			"new one");
		bp_segment_condemn(cp->shm.segment, BP_SEG_CONTROL);
		stop(cp, 1);
	}
	if (!cp->stopping)
		on_dataplane_restart(cp);
	if (cp->x.fleet != NULL) {
		bp_fleet_fault_update(&cp->fleet_fault, cp->x.fleet, cp->shm.cp_faults,
			&cp->shm.main_events, bp_mono_ns(), bp_unix_ns());
		bp_fleet_state_show(cp->x.fleet, &cp->shm.control->fleet);
	}
	bp_fleet_watch_tick(&cp->fleet_agent, cp->reload.running->fleet.config.given,
		&cp->shm.control->fleet_agent, cp->shm.cp_faults, &cp->shm.main_events,
		bp_mono_ns(), bp_unix_ns());
	if (!cp->stopping && bp_cp_services_tick(&cp->x, err, sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s", err);
		stop(cp, 1);
	}
	bp_cp_notifier_update(&cp->notifier, cp->sync, cp->shm.control);
}

/* ---- start and end ---- */

/* Two control planes on one segment would each publish every alarm. */
static int take_lock(struct bp_plane *cp, const struct bp_config *c)
{
	char dir[PATH_MAX], path[PATH_MAX + BP_NAME_MAX + 32];

	if (!bp_control_dir(c->runtime_dir, dir, sizeof(dir))) {
		bp_log(BP_LOG_ERROR, "runtime.directory is longer than a path can be");
		return -1;
	}
	snprintf(path, sizeof(path), "%s/%s.controlplane.lock", dir, c->name);
	cp->lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0640);
	if (cp->lock < 0) {
		bp_log_event(BP_LOG_ERROR, BP_LOG_FIELDS(BP_LOG_STR("file", path)),
			"cannot be created: %s", strerror(errno));
		return -1;
	}
	if (flock(cp->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	bp_log_event(BP_LOG_ERROR,
		BP_LOG_FIELDS(BP_LOG_STR("instance", c->name), BP_LOG_STR("lock", path)),
		"another control plane of this instance is running; stop it, or give this instance "
		"another name");
	return -1;
}

static int open_segment(struct bp_plane *cp)
{
	char err[1024];

	if (bp_controlplane_segment(cp->reload.running, &cp->shm, err, sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return -1;
	}
	cp->x.first_start =
		!bp_dataplane_alive(cp->shm.global) ||
		atomic_load_explicit(&cp->shm.control->cp_started_ns, memory_order_relaxed) <
			atomic_load_explicit(&cp->shm.global->dp_started_ns, memory_order_relaxed);
	/* the synchronisation state of the previous control plane is not valid for this one */
	atomic_store_explicit(&cp->shm.control->cp_sync_state, BP_SYNC_OFF, memory_order_relaxed);
	/* it may have shared state, and this one not */
	atomic_store_explicit(&cp->shm.control->fleet.max_queued, 0, memory_order_relaxed);
	memcpy(cp->hash_key, cp->shm.control->hash_key, sizeof(cp->hash_key));
	cp->started_ns = bp_unix_ns();
	bp_shm_events_begin(&cp->shm, BP_EVENTS_CONTROLPLANE);
	bp_plane_event_started(&cp->shm.main_events, BP_EVENT_CONTROLPLANE, (uint64_t)getpid(),
		atomic_load(&cp->shm.control->cp_pid) != 0, cp->started_ns);
	announce(cp);
	return 0;
}

/* From before the file is read until there is a handler: a SIGHUP of this time, which `biplane run`
 * makes us ignore, says that the file is newer. */
static void hold_sighup(bool hold)
{
	sigset_t hup;

	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &hup, NULL);
}

static int start_events(struct bp_plane *cp)
{
	struct timeval second = {1, 0};

	cp->signals[0] = evsignal_new(cp->x.base, SIGTERM, on_stop_signal, cp);
	cp->signals[1] = evsignal_new(cp->x.base, SIGINT, on_stop_signal, cp);
	cp->signals[2] = evsignal_new(cp->x.base, SIGHUP, on_hup, cp);
	cp->second = event_new(cp->x.base, -1, EV_PERSIST, on_second, cp);
	for (unsigned i = 0; i < 3; i++)
		if (cp->signals[i] == NULL || event_add(cp->signals[i], NULL) != 0)
			return 1;
	return cp->second == NULL || event_add(cp->second, &second) != 0;
}

static struct event_base *new_base(void)
{
	struct event_config *ec = event_config_new();
	struct event_base *base;

	/* The event loop needs timers of one millisecond. */
	if (ec != NULL)
		event_config_set_flag(ec, EVENT_BASE_FLAG_PRECISE_TIMER);
	base = ec == NULL ? NULL : event_base_new_with_config(ec);
	if (ec != NULL)
		event_config_free(ec);
	return base;
}

/* Returns the exit status, or 0 when everything runs. */
static int start(struct bp_plane *cp)
{
	char err[1024];
	int status;

	/* Signals first: a signal during the rest of the start must not kill the process without
	 * cleanup. */
	if (start_events(cp) != 0)
		return 1;
	hold_sighup(false);
	cp->x.rings = bp_ring_events_new(cp->x.base, &cp->shm.control->cp_sleeps,
		cp->reload.running->runtime_dir, cp->reload.running->name);
	if (cp->x.rings == NULL)
		return 1;
	if (cp->reload.running->controlplane_poll_mode == BP_POLL_BUSY)
		bp_ring_events_busy(cp->x.rings);
	status = bp_plane_start_fleet(cp);
	if (status == 0)
		status = bp_plane_start_services(cp);
	if (status == 0)
		status = bp_plane_start_sync(cp);
	if (status != 0)
		return status;
	if (bp_cp_services_start(&cp->x, err, sizeof(err)) == 0)
		return bp_plane_start_control(cp);
	bp_log(BP_LOG_ERROR, "%s", err);
	return 1;
}

static void end(struct bp_plane *cp)
{
	bp_control_free(cp->x.control);
	bp_cp_captures_free(cp->captures);
	bp_publication_free(cp->x.publication);
	bp_ring_events_free(cp->x.rings);
	bp_fleet_state_free(cp->x.fleet);
	cp->x.fleet = NULL;
	bp_cp_services_free(&cp->x);
	bp_sync_free(cp->sync);
	bp_fib_writer_free(cp->fib_writer);
	for (unsigned i = 0; i < 3; i++)
		if (cp->signals[i] != NULL)
			event_free(cp->signals[i]);
	if (cp->second != NULL)
		event_free(cp->second);
	if (cp->x.base != NULL)
		event_base_free(cp->x.base);
	bp_config_free(cp->reload.next);
	if (cp->shm.segment != NULL) {
		bp_plane_event_stopped(&cp->shm.main_events, BP_EVENT_CONTROLPLANE,
			(uint64_t)getpid(), bp_unix_ns());
		atomic_store_explicit(&cp->shm.control->cp_pid, 0, memory_order_release);
		bp_segment_close(cp->shm.segment);
	}
	if (cp->lock >= 0)
		close(cp->lock);
}

static void log_libevent(int severity, const char *text)
{
	bp_log(severity >= EVENT_LOG_ERR     ? BP_LOG_ERROR
		: severity == EVENT_LOG_WARN ? BP_LOG_WARNING
					     : BP_LOG_INFO,
		"libevent: %s", text);
}

/* Takes the sockets that `biplane run` or a service manager has opened, and creates the services.
 * Returns the exit status, or 0. */
static int create_services(struct bp_plane *cp)
{
	char err[1024];

	cp->x = (struct bp_plane_context){.base = new_base(),
		.shm = &cp->shm,
		.config = cp->reload.running,
		.fds = &cp->fds,
		.readers_gone = bp_plane_readers_gone};
	if (cp->x.base == NULL)
		return 1;
	if (bp_listen_fds_take(&cp->fds, err, sizeof(err)) == 0 &&
		bp_cp_services_create(&cp->x, err, sizeof(err)) == 0)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return BP_EXIT_CONFIG;
}

/* Prepares the process: privileges, its directory, the lock against a second control plane, and the
 * segment. */
static int enter(struct bp_plane *cp)
{
	const struct bp_config *c = cp->reload.running;
	char err[512];

	if (bp_controlplane_privileges(&cp->x, err, sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return -1;
	}
	if (mkdir(c->runtime_dir, 0755) != 0 && errno != EEXIST) {
		bp_log_event(BP_LOG_ERROR, BP_LOG_FIELDS(BP_LOG_STR("directory", c->runtime_dir)),
			"runtime.directory cannot be created: %s", strerror(errno));
		return -1;
	}
	if (take_lock(cp, c) != 0 || open_segment(cp) != 0)
		return -1;
	bp_plane_apply_running(cp);
	return 0;
}

int bp_controlplane_run(const char *config_path)
{
	struct bp_plane *cp = calloc(1, sizeof(*cp));
	int status;

	if (cp == NULL)
		return 1;
	cp->lock = -1;
	cp->reload.path = config_path;
	cp->reload.x = &cp->x;
	signal(SIGPIPE, SIG_IGN);
	hold_sighup(true);
	bp_log_begin("controlplane");
	event_set_log_callback(log_libevent);
	cp->reload.running = bp_config_load(config_path, bp_log_stream(BP_LOG_WARNING));
	if (cp->reload.running == NULL) {
		free(cp);
		return BP_EXIT_CONFIG;
	}
	bp_log_set((enum bp_log_level)cp->reload.running->log.level,
		(enum bp_log_format)cp->reload.running->log.format);
	status = create_services(cp);
	if (status == 0)
		status = enter(cp) != 0 ? 1 : start(cp);
	if (status == 0) {
		bp_cp_notifier_init(&cp->notifier);
		bp_cp_notifier_update(&cp->notifier, cp->sync, cp->shm.control);
		event_base_dispatch(cp->x.base);
		status = cp->status;
	}
	end(cp);
	bp_config_free(cp->reload.running);
	free(cp);
	return status;
}
