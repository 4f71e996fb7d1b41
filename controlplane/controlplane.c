/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/controlplane.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "controlplane/clock.h"
#include "controlplane/control.h"
#include "controlplane/life.h"
#include "controlplane/log.h"
#include "controlplane/phd/command.h"
#include "controlplane/phd/service.h"
#include "controlplane/phd/sockets.h"
#include "controlplane/privileges.h"
#include "controlplane/publisher.h"
#include "controlplane/reload.h"
#include "controlplane/rules.h"
#include "controlplane/segment_open.h"
#include "controlplane/sync/sync.h"
#include "controlplane/transform_command.h"
#include "controlplane/transform_loader.h"
#include "service/journal.h"
#include "service/notify.h"
#include "shm/plane_dirs.h"
#include "shm/fib_writer.h"

/* At the end the broker gets so long to acknowledge what is on its way. */
#define DRAIN_NS 1000000000ull
/* A worker that has not left the bank by then is stuck. */
#define CLEAR_WAIT_NS 10000000000ull
/* At the start so long is waited for workers that stand still. */
#define AWAIT_WORKERS_MS 500u

struct controlplane {
	struct event_base *base;
	struct bp_shm shm;
	struct bp_reload reload; /* has the running configuration */
	struct bp_control *control;
	struct bp_fib_writer *fib_writer; /* NULL: nothing routes */
	struct bp_sync *sync;
	struct bp_phd_service *phd; /* NULL: no section phd, or the port's MAC is not known yet */
	struct bp_phd_sockets phd_sockets; /* that were handed to us, until the service has them */
	struct bp_loader *loader;          /* NULL: nobody may load matrices */
	uint64_t clearing;                 /* client whose matrix-clear is under way */
	int cleared;                       /* entries that it is about */
	struct event *signals[3], *second;
	struct bp_cp_life life;
	struct stat segment_file;      /* as it was when it was opened */
	uint64_t dataplane_started_ns; /* of the data plane that rules were told to */
	bool stopping;
	int status;
	int lock;
	char control_path[512];
};

static void drained(void *arg)
{
	struct controlplane *cp = arg;

	event_base_loopexit(cp->base, NULL);
}

static void stop(struct controlplane *cp, int status)
{
	if (cp->stopping)
		return;
	cp->stopping = true;
	bp_notify_stopping();
	cp->status = status;
	bp_publisher_drain(cp->reload.publisher, DRAIN_NS, drained, cp);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	bp_log(BP_LOG_INFO, "%s: stopping", number == SIGINT ? "SIGINT" : "SIGTERM");
	stop(arg, 0);
}

static void warn_of_lost(json_int_t n)
{
	if (n != 0)
		bp_log(BP_LOG_WARNING,
			"%" JSON_INTEGER_FORMAT
			" matrices that were set while it ran are gone: the file has no such "
			"entry or receiver any more, or refuses them",
			n);
}

static void after_reload(struct controlplane *cp, const json_t *answer)
{
	json_t *errors = json_object_get(answer, "errors"), *line;
	size_t i;

	if (json_is_true(json_object_get(answer, "ok"))) {
		if (cp->sync != NULL)
			bp_sync_reconfigure(cp->sync, cp->reload.running);
		if (cp->phd != NULL)
			bp_phd_service_configure(cp->phd, cp->reload.running);
		bp_log(BP_LOG_INFO,
			"configuration reloaded: generation %" JSON_INTEGER_FORMAT
			", %" JSON_INTEGER_FORMAT " rules, %" JSON_INTEGER_FORMAT " unchanged%s%s",
			json_integer_value(json_object_get(answer, "generation")),
			json_integer_value(json_object_get(answer, "rules")),
			json_integer_value(json_object_get(answer, "unchanged")),
			json_is_true(json_object_get(answer, "aggregation_changed"))
				? "; aggregation begins anew"
				: "",
			json_is_true(json_object_get(answer, "flows_changed"))
				? "; lcl.flows changed"
				: "");
		warn_of_lost(json_integer_value(json_object_get(answer, "matrices_lost")));
		return;
	}
	bp_log(BP_LOG_ERROR, "reload refused, nothing changed:");
	json_array_foreach(errors, i, line) bp_log(BP_LOG_ERROR, "  %s", json_string_value(line));
}

static void signal_reload_done(void *arg, uint64_t tag, json_t *answer)
{
	(void)tag;
	after_reload(arg, answer);
	json_decref(answer);
}

static void on_hup(evutil_socket_t number, short what, void *arg)
{
	struct controlplane *cp = arg;

	(void)number;
	(void)what;
	bp_reload_start(&cp->reload, signal_reload_done, cp, 0);
}

/* ---- control socket ---- */

static void socket_reload_done(void *arg, uint64_t client, json_t *answer)
{
	struct controlplane *cp = arg;

	after_reload(cp, answer);
	bp_control_reply(cp->control, client, answer);
}

static void on_reload_command(void *arg, uint64_t client)
{
	struct controlplane *cp = arg;

	bp_reload_start(&cp->reload, socket_reload_done, cp, client);
}

static json_int_t value(const _Atomic uint64_t *counter)
{
	return (json_int_t)atomic_load_explicit(counter, memory_order_relaxed);
}

static json_t *on_status_command(void *arg)
{
	struct controlplane *cp = arg;
	const struct bp_shm_global *g = cp->shm.global;
	const struct bp_ruleset *rs = bp_shm_rules(
		&cp->shm, atomic_load_explicit(&g->rules_active, memory_order_relaxed));

	return json_pack("{s:b, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "ok", 1, "pid",
		(json_int_t)getpid(), "generation", (json_int_t)rs->generation, "rules",
		(json_int_t)rs->n_rules, "edge_connected",
		atomic_load_explicit(&g->cp_edge_connected, memory_order_relaxed) != 0,
		"alarms_read", value(&g->cp_alarms_read), "alarms_acked",
		value(&g->cp_alarms_acked), "inflight", value(&g->cp_inflight), "spool_rows",
		value(&g->cp_spool_rows), "spool_bytes", value(&g->cp_spool_bytes), "spool_errors",
		value(&g->cp_spool_errors));
}

static json_t *path_to_json(const char *path)
{
	json_t *text = json_string(path);

	return text != NULL ? text : json_string("(a path that is not valid UTF-8)");
}

/* What is in force, which the file may not say any more. */
static json_t *on_config_command(void *arg)
{
	struct controlplane *cp = arg;
	char *yaml = NULL, *file = realpath(cp->reload.path, NULL);
	size_t size = 0;
	FILE *out = open_memstream(&yaml, &size);
	json_t *reply = NULL;

	if (out != NULL) {
		bp_config_dump(cp->reload.running, out);
		if (fclose(out) == 0)
			reply = json_pack("{s:b, s:o, s:s}", "ok", 1, "file",
				path_to_json(file != NULL ? file : cp->reload.path), "config",
				yaml);
	}
	free(yaml);
	free(file);
	return reply;
}

static json_t *on_release_command(void *arg, const char *id)
{
	struct controlplane *cp = arg;

	return bp_phd_release_command(cp->phd, cp->reload.running->phd.enabled, id);
}

static json_t *on_matrix_set_command(void *arg, const json_t *request)
{
	struct controlplane *cp = arg;

	return bp_transform_set_command(&cp->shm, request);
}

static void cleared(void *arg, const struct bp_rules_result *result)
{
	struct controlplane *cp = arg;

	bp_control_reply(cp->control, cp->clearing,
		result->ok ? json_pack("{s:b, s:i}", "ok", 1, "entries", cp->cleared)
			   : bp_control_refusal(result->error));
}

/* The next bank is without what was set: built at once, of the configuration that is in force. */
static void on_matrix_clear_command(void *arg, const json_t *request, uint64_t client)
{
	struct controlplane *cp = arg;
	json_t *refusal;
	char err[512] = "";
	int n = 0;

	/* before anything is marked */
	if (bp_rules_busy(cp->reload.rules))
		refusal = bp_control_refusal("rules are being put in force; try again in a moment");
	else
		refusal = bp_transform_clear_command(&cp->shm, request, &n);
	if (refusal != NULL) {
		bp_control_reply(cp->control, client, refusal);
		return;
	}
	cp->clearing = client;
	cp->cleared = n;
	if (bp_rules_apply(cp->reload.rules, cp->reload.running, true, CLEAR_WAIT_NS, cleared, cp,
		    err, sizeof(err)) != 0)
		bp_control_reply(cp->control, client, bp_control_refusal(err));
}

/* ---- life signs ---- */

/* A data plane that was started with another configuration makes a new segment under this name. */
static bool segment_replaced(const struct controlplane *cp)
{
	const char *path = bp_segment_path(cp->shm.segment);
	struct stat now;

	if (stat(path, &now) != 0)
		return errno == ENOENT;
	return now.st_ino != cp->segment_file.st_ino || now.st_dev != cp->segment_file.st_dev;
}

static int start_phd(struct controlplane *cp);

/* A new data plane has begun with the file, whatever was put in force since that was read. */
static void greet_dataplane(struct controlplane *cp)
{
	const uint64_t started =
		atomic_load_explicit(&cp->shm.global->dp_started_ns, memory_order_relaxed);

	if (started == cp->dataplane_started_ns)
		return;
	cp->dataplane_started_ns = started;
	bp_rules_tell_again(cp->reload.rules);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct controlplane *cp = arg;

	(void)fd;
	(void)what;
	atomic_store_explicit(&cp->shm.global->cp_heartbeat_ns, bp_unix_ns(), memory_order_relaxed);
	if (!cp->stopping && segment_replaced(cp)) {
		bp_log(BP_LOG_WARNING,
			"segment %s was replaced by another; ending, to be started again on that",
			bp_segment_path(cp->shm.segment));
		stop(cp, 1);
	}
	if (!cp->stopping)
		greet_dataplane(cp);
	if (!cp->stopping && start_phd(cp) != 0)
		stop(cp, 1);
	bp_cp_life_tell(&cp->life, cp->sync, cp->shm.global);
}

/* ---- start and end ---- */

/* Two control planes on one segment would each publish every alarm. */
static int take_lock(struct controlplane *cp, const struct bp_config *c)
{
	char dir[PATH_MAX], path[PATH_MAX + BP_NAME_MAX + 32];

	if (!bp_control_dir(c->runtime_dir, dir, sizeof(dir))) {
		bp_log(BP_LOG_ERROR, "runtime.directory is longer than a path can be");
		return -1;
	}
	snprintf(path, sizeof(path), "%s/%s.controlplane.lock", dir, c->name);
	cp->lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0640);
	if (cp->lock < 0) {
		bp_log(BP_LOG_ERROR, "%s cannot be made: %s", path, strerror(errno));
		return -1;
	}
	if (flock(cp->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	bp_log(BP_LOG_ERROR,
		"another control plane of '%s' runs (it holds %s); stop it, or give this instance "
		"another name",
		c->name, path);
	return -1;
}

static int open_segment(struct controlplane *cp)
{
	char err[1024];

	if (bp_controlplane_segment(cp->reload.running, &cp->shm, err, sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return -1;
	}
	if (stat(bp_segment_path(cp->shm.segment), &cp->segment_file) != 0)
		memset(&cp->segment_file, 0, sizeof(cp->segment_file));
	cp->reload.global = cp->shm.global;
	/* what one that was killed said of the tables is not this one's word */
	atomic_store_explicit(&cp->shm.global->cp_sync_state, BP_SYNC_OFF, memory_order_relaxed);
	atomic_store_explicit(&cp->shm.global->cp_started_ns, bp_unix_ns(), memory_order_relaxed);
	atomic_store_explicit(&cp->shm.global->cp_heartbeat_ns, bp_unix_ns(), memory_order_relaxed);
	atomic_store_explicit(&cp->shm.global->cp_pid, (uint64_t)getpid(), memory_order_release);
	return 0;
}

static void rules_at_start(void *arg, const struct bp_rules_result *result)
{
	struct controlplane *cp = arg;

	cp->life.rules = result->ok;
	if (result->ok)
		bp_log(BP_LOG_INFO, "%" PRIu32 " rules in force, generation %" PRIu64,
			result->rules, result->generation);
	else
		bp_log(BP_LOG_ERROR, "%s", result->error);
	warn_of_lost(result->transform.lost);
}

/* What a configuration can get wrong that its validation could not see. Returns the exit status. */
static int start_services(struct controlplane *cp)
{
	const struct bp_config_mqtt *mqtt = &cp->reload.running->mqtt;
	char err[1024];

	if (bp_publisher_check(mqtt, err, sizeof(err)) != 0 ||
		bp_config_phd_allow_check(&cp->reload.running->phd, err, sizeof(err)) != 0) {
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

/* The forwarding tables and who fills them. Returns the exit status. */
static int start_sync(struct controlplane *cp)
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
static bool first_mac(const struct controlplane *cp, uint8_t mac[6])
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

/* The manager of health devices, as soon as there is all that it needs. Returns the exit status. */
static int start_phd(struct controlplane *cp)
{
	const struct bp_config *c = cp->reload.running;
	struct bp_phd_service_setup setup = {.config = c,
		.tables = &cp->shm.phd,
		.fib = &cp->shm.fib,
		.epochs = cp->shm.fib.control,
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

/* Sockets that `biplane run` or a service manager opened for us. */
static int take_sockets(struct controlplane *cp)
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

static int start_control(struct controlplane *cp)
{
	static const struct bp_control_ops ops = {on_reload_command, on_status_command,
		on_config_command, on_release_command, on_matrix_set_command,
		on_matrix_clear_command};
	char err[1024];

	if (bp_control_path(cp->reload.running->runtime_dir, cp->reload.running->name,
		    cp->control_path, sizeof(cp->control_path)) != 0) {
		bp_log(BP_LOG_ERROR, "runtime.directory and name are too long for the path of a "
				     "control socket; choose shorter ones");
		return BP_EXIT_CONFIG;
	}
	cp->control = bp_control_new(cp->base, cp->control_path, &ops, cp, err, sizeof(err));
	if (cp->control != NULL)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return 1;
}

/* Returns the exit status. */
static int start_loader(struct controlplane *cp)
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

static int start_events(struct controlplane *cp)
{
	struct timeval second = {1, 0};

	cp->signals[0] = evsignal_new(cp->base, SIGTERM, on_stop_signal, cp);
	cp->signals[1] = evsignal_new(cp->base, SIGINT, on_stop_signal, cp);
	cp->signals[2] = evsignal_new(cp->base, SIGHUP, on_hup, cp);
	cp->second = event_new(cp->base, -1, EV_PERSIST, on_second, cp);
	for (unsigned i = 0; i < 3; i++)
		if (cp->signals[i] == NULL || event_add(cp->signals[i], NULL) != 0)
			return 1;
	return cp->second == NULL || event_add(cp->second, &second) != 0;
}

/* The exit status, or 0 when everything runs. */
static int start(struct controlplane *cp)
{
	struct event_config *ec = event_config_new();
	int status;

	/* Timers of a millisecond are meant. */
	if (ec != NULL)
		event_config_set_flag(ec, EVENT_BASE_FLAG_PRECISE_TIMER);
	cp->base = ec == NULL ? NULL : event_base_new_with_config(ec);
	if (ec != NULL)
		event_config_free(ec);
	if (cp->base == NULL)
		return 1;
	/* Signals first: one that comes while the rest starts must not just kill. */
	if (start_events(cp) != 0)
		return 1;
	status = start_services(cp);
	if (status == 0)
		status = start_sync(cp);
	if (status == 0)
		status = start_phd(cp);
	if (status == 0)
		status = start_loader(cp);
	return status != 0 ? status : start_control(cp);
}

static void end(struct controlplane *cp)
{
	bp_control_free(cp->control);
	bp_loader_free(cp->loader);
	bp_phd_service_free(cp->phd);
	bp_phd_sockets_close(&cp->phd_sockets);
	bp_sync_free(cp->sync);
	bp_fib_writer_free(cp->fib_writer);
	bp_publisher_free(cp->reload.publisher);
	bp_rules_free(cp->reload.rules);
	for (unsigned i = 0; i < 3; i++)
		if (cp->signals[i] != NULL)
			event_free(cp->signals[i]);
	if (cp->second != NULL)
		event_free(cp->second);
	if (cp->base != NULL)
		event_base_free(cp->base);
	bp_config_free(cp->reload.next);
	if (cp->shm.segment != NULL) {
		atomic_store_explicit(&cp->shm.global->cp_pid, 0, memory_order_release);
		bp_segment_close(cp->shm.segment);
	}
	if (cp->lock >= 0)
		close(cp->lock);
}

int bp_controlplane_run(const char *config_path)
{
	struct controlplane *cp = calloc(1, sizeof(*cp));
	char err[512];
	int status = 1;

	if (cp == NULL)
		return 1;
	cp->lock = -1;
	cp->phd_sockets = (struct bp_phd_sockets){-1, -1};
	cp->reload.path = config_path;
	signal(SIGPIPE, SIG_IGN);
	bp_journal_begin();
	cp->reload.running = bp_config_load(config_path, stderr);
	if (cp->reload.running == NULL) {
		free(cp);
		return BP_EXIT_CONFIG;
	}
	if (take_sockets(cp) != 0)
		status = BP_EXIT_CONFIG;
	else if (bp_controlplane_privileges(
			 cp->reload.running, &cp->phd_sockets, err, sizeof(err)) != 0)
		bp_log(BP_LOG_ERROR, "%s", err);
	else if (mkdir(cp->reload.running->runtime_dir, 0755) != 0 && errno != EEXIST)
		bp_log(BP_LOG_ERROR, "runtime.directory %s cannot be made: %s",
			cp->reload.running->runtime_dir, strerror(errno));
	else if (take_lock(cp, cp->reload.running) == 0 && open_segment(cp) == 0) {
		status = start(cp);
		if (status == 0) {
			bp_cp_life_begin(&cp->life);
			bp_cp_life_tell(&cp->life, cp->sync, cp->shm.global);
			event_base_dispatch(cp->base);
			status = cp->status;
		}
	}
	end(cp);
	bp_config_free(cp->reload.running);
	free(cp);
	return status;
}
