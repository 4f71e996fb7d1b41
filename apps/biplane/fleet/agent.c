/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/fleet/follow.h"
#include "apps/biplane/fleet/trial.h"
#include "apps/biplane/instance.h"
#include "apps/biplane/monitor/sandbox.h"
#include "apps/biplane/signals.h"
#include "apps/biplane/text.h"
#include "config/schema.h"
#include "controlplane/process/control.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "shm/plane_dirs.h"
#include "shm/segment.h"

#define TICK_MS 1000
#define ROUND_MS 10000 /* for all requests of a tick: a trial is watched in between */
#define LEASE_S 30u    /* a member is removed from the list after this time without contact */
#define KEEPALIVE_S 10u
#define CONTROL_S 2    /* for a report to the control plane */
#define ERRORS_MAX 16u /* lines in the record of a member */

struct agent {
	struct bp_fleet_follower f;
	struct bp_config *config;
	struct bp_etcd *etcd;
	int signals;
	bool stopping, reread;
	bool unreachable;      /* etcd did not answer the last time */
	bool unheard;          /* the control plane did not accept the last report */
	char error[512];       /* of etcd; "": none */
	uint64_t started_ns;   /* Unix time */
	uint64_t heartbeat_ns; /* CLOCK_MONOTONIC: the last one */
	char lease[BP_ETCD_LEASE];
	uint64_t keepalive_at_ns;
	char *reported; /* the record of this member in etcd; NULL: none */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* A heartbeat a second, also in waits, which are all bounded: a lost one means that the process
 * hangs. */
static void send_heartbeat(void *arg)
{
	struct agent *a = arg;
	const uint64_t now = mono_ns();

	if (now - a->heartbeat_ns < TICK_MS * 1000000ull)
		return;
	a->heartbeat_ns = now;
	bp_notify_alive();
}

static bool read_signals(void *arg)
{
	struct agent *a = arg;
	struct signalfd_siginfo info;

	while (read(a->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			a->reread = true;
		else
			a->stopping = true;
	}
	return a->stopping;
}

static bool wait_for_etcd(void *arg)
{
	send_heartbeat(arg);
	return read_signals(arg);
}

/* ---- the record of this member ---- */

static void add_lines(json_t *list, const char *text)
{
	while (*text != '\0' && json_array_size(list) < ERRORS_MAX) {
		const size_t len = strcspn(text, "\n");

		if (len > 0)
			json_array_append_new(list, json_stringn(text, len));
		text += len + (text[len] == '\n');
	}
}

static char *member_record(const struct agent *a)
{
	const struct bp_fleet_state *s = &a->f.state;
	const struct bp_config_fleet_labels *l = &a->config->fleet.labels;
	json_t *labels = json_object(), *errors = json_array(), *o;
	json_t *health = bp_fleet_health(a->config);
	char since[BP_TEXT_TIME] = "";
	char *text;

	for (uint32_t i = 0; i < l->n; i++)
		json_object_set_new(labels, l->label[i].key, json_string(l->label[i].value));
	add_lines(errors, s->errors);
	add_lines(errors, a->f.delayed);
	add_lines(errors, a->f.notice);
	if (s->since_ns != 0)
		bp_text_time(s->since_ns, since);
	o = json_pack("{ss so sI sI ss ss so sO? ss ss}", "member", a->config->name, "labels",
		labels, "serial", (json_int_t)s->serial, "version", (json_int_t)s->version,
		"sha256", s->sha256, "state", bp_fleet_phase_name(s->phase), "errors", errors,
		"problems", json_object_get(health, "problems"), "since", since, "biplane",
		BP_VERSION);
	text = o != NULL ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	json_decref(o);
	json_decref(health);
	return text;
}

/* For `biplane status`, metrics and events. The planes need no agent, so no answer is no error. */
static void report_here(void *arg)
{
	struct agent *a = arg;
	const struct bp_control_wait wait = {CONTROL_S, send_heartbeat, a};
	const struct bp_fleet_state *s = &a->f.state;
	const char *error = s->errors[0] != '\0'      ? s->errors
			    : a->f.delayed[0] != '\0' ? a->f.delayed
			    : a->f.notice[0] != '\0'  ? a->f.notice
						      : a->error;
	const bool leased =
		a->lease[0] != '\0' &&
		mono_ns() < a->keepalive_at_ns + (LEASE_S - KEEPALIVE_S) * 1000000000ull;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)], err[512];
	json_t *reply = NULL;
	const char *why;
	bool ok;

	if (bp_control_path(a->config->runtime_dir, a->config->name, path, sizeof(path)) != 0)
		return;
	ok = bp_control_call_waiting(path,
		     json_pack("{ss ss sI ss sI sI sI sb sb ss%}", "command", "fleet-report",
			     "member", a->config->name, "started_ns", (json_int_t)a->started_ns,
			     "state", bp_fleet_phase_name(s->phase), "serial",
			     (json_int_t)s->serial, "version", (json_int_t)s->version, "since_ns",
			     (json_int_t)s->since_ns, "connected", (int)!a->unreachable, "leased",
			     (int)leased, "error", error, strcspn(error, "\n")),
		     &wait, &reply, err, sizeof(err)) != 0 ||
	     json_is_true(json_object_get(reply, "ok"));
	why = json_string_value(json_array_get(json_object_get(reply, "errors"), 0));
	if (!ok && !a->unheard)
		bp_log(BP_LOG_WARNING,
			"fleet: the control plane refuses the report of the agent: %s; restart the "
			"older process of both",
			why != NULL ? why : "no reason");
	a->unheard = !ok;
	json_decref(reply);
}

static int hold_lease(struct agent *a, char *err, size_t err_size)
{
	int rc = 1;

	if (a->lease[0] != '\0' && mono_ns() < a->keepalive_at_ns)
		return 0;
	if (a->lease[0] != '\0')
		rc = bp_etcd_lease_keepalive(a->etcd, a->lease, err, err_size);
	if (rc == 0)
		a->lease[0] = '\0';
	if (rc >= 0 && a->lease[0] == '\0') {
		free(a->reported);
		a->reported = NULL;
		rc = bp_etcd_lease_grant(a->etcd, LEASE_S, a->lease, err, err_size);
	}
	if (rc >= 0)
		a->keepalive_at_ns = mono_ns() + KEEPALIVE_S * 1000000000ull;
	return rc < 0 ? -1 : 0;
}

static int report(struct agent *a, char *err, size_t err_size)
{
	char key[BP_FLEET_KEY_MAX];
	char *record;
	struct bp_etcd_write w = {.key = key, .lease = a->lease};

	if (hold_lease(a, err, err_size) != 0)
		return -1;
	record = member_record(a);
	if (record == NULL || (a->reported != NULL && strcmp(record, a->reported) == 0)) {
		free(record);
		return 0;
	}
	bp_fleet_path(a->config->fleet.name, "members", a->config->name, key);
	w.value = record;
	if (bp_etcd_write(a->etcd, &w, 1, err, err_size) < 0) {
		a->lease[0] = '\0'; /* perhaps it is gone */
		free(record);
		return -1;
	}
	free(a->reported);
	a->reported = record;
	return 0;
}

/* ---- the loop ---- */

static void set_unreachable(struct agent *a, bool unreachable, const char *err)
{
	if (unreachable != a->unreachable && unreachable)
		bp_log(BP_LOG_WARNING, "fleet: %s; nothing changes until etcd answers again", err);
	else if (unreachable != a->unreachable)
		bp_log(BP_LOG_INFO, "fleet: etcd answers again");
	a->unreachable = unreachable;
	snprintf(a->error, sizeof(a->error), "%s", unreachable ? err : "");
}

static void tick(struct agent *a)
{
	char err[1024] = "";
	int rc;

	bp_fleet_follow_tick(&a->f);
	bp_etcd_begin(a->etcd, ROUND_MS);
	rc = bp_fleet_follow(&a->f, a->etcd, err, sizeof(err));
	if (rc == 0)
		rc = report(a, err, sizeof(err));
	if (!a->stopping)
		set_unreachable(a, rc != 0, err);
	report_here(a);
	send_heartbeat(a);
}

/* The settings of the local file: a stored bundle with an error must not prevent the start. */
static struct bp_config *read_config(const char *path)
{
	char *errors = NULL, *text;
	size_t n = 0, len = 0;
	FILE *stream = open_memstream(&errors, &n);
	struct bp_config *c = NULL;

	if (stream == NULL)
		return NULL;
	text = bp_config_read_file(path, &len, stream);
	if (text != NULL)
		c = bp_config_parse_with(path, text, len, NULL, stream);
	fclose(stream);
	if (c == NULL && errors != NULL)
		fputs(errors, bp_log_stream(BP_LOG_ERROR));
	free(errors);
	free(text);
	return c;
}

static int open_etcd(struct agent *a, char *err, size_t err_size)
{
	const struct bp_config_fleet_config *c = &a->config->fleet.config;
	struct bp_fleet_keys keys;
	struct bp_etcd *etcd;

	if (bp_fleet_keys_read(&keys, &c->keys, err, err_size) != 0)
		return -1;
	etcd = bp_etcd_new(c, wait_for_etcd, a, err, err_size);
	if (etcd == NULL)
		return -1;
	bp_etcd_free(a->etcd);
	a->etcd = etcd;
	a->f.keys = keys;
	return 0;
}

/* SIGHUP: section fleet again, except the directory, and the files that it names. */
static void reread(struct agent *a)
{
	struct bp_config *c = read_config(a->f.path);
	struct bp_config *before = a->config;
	char err[512];

	a->reread = false;
	if (c == NULL || !c->fleet.config.given) {
		bp_config_free(c);
		return;
	}
	a->config = c;
	if (open_etcd(a, err, sizeof(err)) != 0) {
		bp_log(BP_LOG_ERROR, "%s; the previous settings are used", err);
		a->config = before;
		bp_config_free(c);
		return;
	}
	a->f.config = c;
	a->lease[0] = '\0';
	bp_config_free(before);
}

static void loop(struct agent *a)
{
	struct pollfd fd = {.fd = a->signals, .events = POLLIN};

	while (!a->stopping) {
		tick(a);
		if (!a->stopping && poll(&fd, 1, TICK_MS) > 0)
			read_signals(a);
		if (a->reread && !a->stopping)
			reread(a);
	}
}

/* ---- start ---- */

static int enter_sandbox(const struct bp_config *c, char *err, size_t err_size)
{
	char data[PATH_MAX] = "", control[PATH_MAX] = "", huge[PATH_MAX] = "";
	const char *readable[] = {c->runtime_dir, data, control, huge, NULL};
	const char *writable[] = {c->fleet.config.directory, NULL};
	const char *mount = c->hugepages == BP_HUGEPAGES_NEVER ? NULL : bp_hugepage_dir();

	bp_data_dir(c->runtime_dir, data, sizeof(data));
	bp_control_dir(c->runtime_dir, control, sizeof(control));
	if (mount != NULL)
		bp_huge_dir(mount, c->runtime_dir, huge, sizeof(huge));
	return bp_sandbox_enter(readable, writable, true, err, err_size);
}

static int start(struct agent *a)
{
	char err[1024] = "";
	int status = BP_EX_OK;

	a->signals = bp_signals_open();
	if (a->signals < 0) {
		snprintf(err, sizeof(err), "signals cannot be blocked: %s", strerror(errno));
		status = BP_EX_OSERR;
	} else if (!bp_fleet_store_init(&a->f.store, a->config)) {
		snprintf(err, sizeof(err), "fleet.config.directory is too long");
		status = BP_EX_CONFIG;
	} else if (bp_runtime_dir_make(a->config->fleet.config.directory, err, sizeof(err)) != 0) {
		status = BP_EX_CANTCREAT;
	} else if (open_etcd(a, err, sizeof(err)) != 0) {
		status = BP_EX_CONFIG;
	} else if (enter_sandbox(a->config, err, sizeof(err)) != 0) {
		status = BP_EX_OSERR;
	}
	if (status != BP_EX_OK)
		bp_log(BP_LOG_ERROR, "%s", err);
	return status;
}

static void end(struct agent *a)
{
	bp_fleet_follow_end(&a->f);
	bp_etcd_free(a->etcd);
	if (a->signals >= 0)
		close(a->signals);
	free(a->reported);
	bp_config_free(a->config);
}

int bp_fleet_agent_run(const char *path)
{
	struct agent a = {.f = {.path = path, .entered = report_here, .waiting = send_heartbeat},
		.signals = -1,
		.started_ns = clock_ns(CLOCK_REALTIME)};
	int status;

	a.f.arg = &a;
	a.config = read_config(path);
	if (a.config == NULL)
		return BP_EX_CONFIG;
	a.f.config = a.config;
	bp_log_set(
		(enum bp_log_level)a.config->log.level, (enum bp_log_format)a.config->log.format);
	if (!a.config->fleet.config.given) {
		bp_log(BP_LOG_INFO, "%s has no fleet.config: the agent has nothing to do", path);
		bp_notify_ready(); /* a start that succeeds, in the view of systemd */
		end(&a);
		return BP_EX_OK;
	}
	status = start(&a);
	if (status == BP_EX_OK) {
		bp_fleet_follow_start(&a.f);
		bp_notify_ready();
		loop(&a);
		bp_notify_stopping();
	}
	end(&a);
	return status;
}
