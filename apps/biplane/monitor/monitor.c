/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/config/quiet_config.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/monitor/event_log.h"
#include "apps/biplane/monitor/http.h"
#include "apps/biplane/monitor/listen.h"
#include "apps/biplane/monitor_pid.h"
#include "apps/biplane/monitor/sandbox.h"
#include "apps/biplane/monitor/segment_watch.h"
#include "apps/biplane/signals.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "shm/plane_dirs.h"

#define TICK_NS 1000000000ull

struct process {
	struct bp_monitor m;
	struct bp_http *http;
	int signals, listen_fd;
	struct bp_event_log *events;        /* NULL: log.events is off */
	uint64_t tick_at_ns, streams_at_ns; /* UINT64_MAX: there are no streams */
	uint64_t events_at_ns;              /* UINT64_MAX: there is no event log */
	struct bp_instance_lock lock;
	bool stopping;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t bp_monitor_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bp_monitor_unix_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* The server gets a copy of the listening socket: it closes it when it is replaced. */
static int start_http(struct process *p, char *err, size_t err_size)
{
	const int fd = fcntl(p->listen_fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0) {
		snprintf(err, err_size, "no descriptor for the HTTP server: %s", strerror(errno));
		return -1;
	}
	p->http = bp_http_new(&p->m, fd, err, err_size);
	return p->http != NULL ? 0 : -1;
}

/* SIGHUP: the event log, certificate, key and token again. Without a valid certificate, the monitor
 * ends: a service manager starts it again. */
static void reload(struct process *p)
{
	char err[512], token[sizeof(p->m.secrets.token)];

	if (p->events != NULL)
		bp_event_log_reopen(p->events);
	memcpy(token, p->m.secrets.token, sizeof(token));
	if (bp_monitor_secrets_read(&p->m.secrets, &p->m.config->monitoring, err, sizeof(err))) {
		bp_log(BP_LOG_ERROR, "%s; the previous ones are used", err);
		return;
	}
	if (p->http == NULL)
		return;
	if (p->m.secrets.certificate == NULL) {
		if (strcmp(token, p->m.secrets.token) != 0)
			bp_http_end_streams(p->http); /* of the previous token */
		return;
	}
	bp_http_free(p->http);
	if (start_http(p, err, sizeof(err)) == 0) {
		bp_log(BP_LOG_INFO, "TLS certificate and token read again");
		return;
	}
	bp_log(BP_LOG_ERROR, "%s", err);
	p->stopping = true;
}

static void read_signals(struct process *p)
{
	struct signalfd_siginfo info;

	while (read(p->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(p);
		else
			p->stopping = true;
	}
}

static void tick(struct process *p, uint64_t now_ns)
{
	bp_segment_watch(&p->m);
	bp_config_watch(&p->m);
	if (p->http != NULL)
		bp_http_expire(p->http, now_ns);
	bp_notify_alive();
	p->tick_at_ns = now_ns + TICK_NS;
}

static void streams(struct process *p)
{
	const uint64_t now = bp_monitor_mono_ns();
	const bool any = bp_http_streams(p->http, bp_monitor_unix_ns(), now);

	p->streams_at_ns = any ? now + BP_EVENT_POLL_MS * 1000000ull : UINT64_MAX;
}

static uint64_t write_events(struct process *p, uint64_t now_ns)
{
	bp_event_log_tick(p->events, bp_monitor_unix_ns(), now_ns);
	bp_monitor_counters.writes_events = true;
	bp_monitor_counters.event_log = bp_event_log_counts(p->events);
	return now_ns + BP_EVENT_POLL_MS * 1000000ull;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void serve(struct process *p, uint64_t now_ns)
{
	bp_http_run(p->http);
	if (bp_monitor_counters.event_streams == 0)
		p->streams_at_ns = UINT64_MAX;
	else if (now_ns >= p->streams_at_ns || p->streams_at_ns == UINT64_MAX)
		streams(p);
}

/* One thread: HTTP, signals, the event log and the second. */
static void loop(struct process *p)
{
	while (!p->stopping) {
		const uint64_t now = bp_monitor_mono_ns();
		uint64_t next = earliest(p->streams_at_ns, p->tick_at_ns);
		struct pollfd fd[2] = {{.fd = p->signals, .events = POLLIN},
			{.fd = p->http != NULL ? bp_http_fd(p->http) : -1, .events = POLLIN}};
		int wait_ms, http_ms = p->http != NULL ? bp_http_timeout_ms(p->http) : -1;

		if (now >= p->tick_at_ns)
			tick(p, now);
		if (now >= p->events_at_ns)
			p->events_at_ns = write_events(p, now);
		next = earliest(next, p->events_at_ns);
		wait_ms = next > now ? (int)((next - now) / 1000000 + 1) : 0;
		if (http_ms >= 0 && http_ms < wait_ms)
			wait_ms = http_ms;
		if (poll(fd, 2, wait_ms) > 0 && fd[0].revents != 0)
			read_signals(p);
		if (p->stopping)
			return;
		if (p->http != NULL)
			serve(p, now);
	}
}

/* ---- start ---- */

static void instance_of(const struct bp_config *c, struct bp_config_instance *id)
{
	memset(id, 0, sizeof(*id));
	memcpy(id->name, c->name, sizeof(id->name));
	memcpy(id->runtime_dir, c->runtime_dir, sizeof(id->runtime_dir));
	id->no_hugepages = c->hugepages == BP_HUGEPAGES_NEVER;
}

/* Descriptors for all connections, with some for files. */
static void raise_descriptors(unsigned connections)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= connections + 64)
		return;
	limit.rlim_cur = connections + 64 < limit.rlim_max ? connections + 64 : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The directory of an absolute path. */
static const char *directory_of(const char *path, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s", path);
	*strrchr(out, '/') = '\0';
	return out[0] != '\0' ? out : "/";
}

static int enter_sandbox(const struct process *p, char *err, size_t err_size)
{
	const struct bp_config *c = p->m.config;
	char data[PATH_MAX] = "", huge[PATH_MAX] = "", own[PATH_MAX], log[PATH_MAX], pid[PATH_MAX];
	const char *readable[] = {c->runtime_dir, data, huge, NULL};
	const char *writable[4] = {NULL};
	unsigned n = 0;
	const char *mount = p->m.instance.no_hugepages ? NULL : bp_hugepage_dir();

	bp_data_dir(c->runtime_dir, data, sizeof(data));
	if (mount != NULL)
		bp_huge_dir(mount, c->runtime_dir, huge, sizeof(huge));
	if (c->monitoring.listen.kind == BP_LISTEN_UNIX)
		writable[n++] = directory_of(c->monitoring.listen.path, own);
	if (c->log.events.kind == BP_EVENT_LOG_FILE)
		writable[n++] = directory_of(c->log.events.path, log);
	/* not the runtime directory, where the planes have files */
	if (bp_monitor_dir(c->runtime_dir, pid, sizeof(pid)) && strcmp(pid, c->runtime_dir) != 0)
		writable[n++] = pid;
	return bp_sandbox_enter(readable, writable, false, err, err_size);
}

/* While there are privileges: the listening socket, and the event log. An exit status. */
static int open_outputs(struct process *p, char *err, size_t err_size)
{
	const struct bp_config *c = p->m.config;

	if (c->monitoring.listen.kind != BP_LISTEN_OFF) {
		p->listen_fd = bp_listen_open(&c->monitoring.listen, err, err_size);
		if (p->listen_fd < 0)
			return BP_EX_UNAVAILABLE;
	}
	if (c->log.events.kind == BP_EVENT_LOG_OFF)
		return BP_EX_OK;
	p->events = bp_event_log_new(&p->m.instance, &c->log.events);
	if (p->events == NULL) {
		snprintf(err, err_size, "no memory for the event log");
		return BP_EX_OSERR;
	}
	p->events_at_ns = 0;
	return BP_EX_OK;
}

/* For `biplane status`. A monitor that cannot write the file serves without it; two that write one
 * event log would write each event twice. */
static int take_pid_file(struct process *p, char *err, size_t err_size)
{
	const struct bp_config *c = p->m.config;
	char text[BP_LISTEN_TEXT] = "";
	int rc;

	if (c->monitoring.listen.kind != BP_LISTEN_OFF)
		bp_listen_text(&c->monitoring.listen, text);
	rc = bp_monitor_pid_take(
		&p->lock, c->runtime_dir, c->name, bp_monitor_unix_ns(), text, err, err_size);
	if (rc < 0)
		bp_log(BP_LOG_WARNING, "%s; biplane status does not list this monitor", err);
	return rc > 0 ? BP_EX_UNAVAILABLE : BP_EX_OK;
}

/* Returns the exit status, or 0 when it serves. */
static int start(struct process *p)
{
	const struct bp_config_monitoring *c = &p->m.config->monitoring;
	char err[1024] = "", text[BP_LISTEN_TEXT];
	int status = BP_EX_OK;

	raise_descriptors(c->max_connections);
	p->signals = bp_signals_open();
	if (p->signals < 0) {
		snprintf(err, sizeof(err), "signals cannot be blocked: %s", strerror(errno));
		status = BP_EX_OSERR;
	} else if (bp_monitor_secrets_read(&p->m.secrets, c, err, sizeof(err)) != 0) {
		status = BP_EX_CONFIG;
	} else {
		status = take_pid_file(p, err, sizeof(err));
		if (status == BP_EX_OK)
			status = open_outputs(p, err, sizeof(err));
		if (status == BP_EX_OK && enter_sandbox(p, err, sizeof(err)) != 0)
			status = BP_EX_OSERR;
		else if (status == BP_EX_OK && p->listen_fd >= 0 &&
			 start_http(p, err, sizeof(err)) != 0)
			status = BP_EX_CONFIG;
	}
	if (status != BP_EX_OK) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return status;
	}
	bp_monitor_counters.started_unix_s = bp_monitor_unix_ns() / 1000000000u;
	if (p->http != NULL)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_STR("address", bp_listen_text(&c->listen, text)),
				BP_LOG_STR("tls", p->m.secrets.certificate != NULL ? "on" : "off"),
				BP_LOG_STR("token",
					p->m.secrets.token[0] != '\0' ? "required" : "none")),
			"serving metrics and health");
	return BP_EX_OK;
}

static void end(struct process *p)
{
	bp_monitor_pid_release(&p->lock);
	bp_event_log_free(p->events);
	bp_http_free(p->http);
	if (p->listen_fd >= 0) {
		close(p->listen_fd);
		bp_listen_remove(&p->m.config->monitoring.listen);
	}
	if (p->signals >= 0)
		close(p->signals);
	bp_instance_view_close(&p->m.view);
	free(p->m.text.json);
	bp_monitor_secrets_free(&p->m.secrets);
	bp_config_free(p->m.config);
}

int bp_monitor_run(const char *path)
{
	struct process p = {.m = {.path = path},
		.signals = -1,
		.lock = {.fd = -1},
		.listen_fd = -1,
		.streams_at_ns = UINT64_MAX,
		.events_at_ns = UINT64_MAX};
	int status;

	p.m.config = bp_config_load_quietly(path, bp_log_stream(BP_LOG_ERROR));
	if (p.m.config == NULL)
		return BP_EX_CONFIG;
	bp_log_set((enum bp_log_level)p.m.config->log.level,
		(enum bp_log_format)p.m.config->log.format);
	instance_of(p.m.config, &p.m.instance);
	if (p.m.config->monitoring.listen.kind == BP_LISTEN_OFF &&
		p.m.config->log.events.kind == BP_EVENT_LOG_OFF) {
		bp_log_event(BP_LOG_INFO, BP_LOG_FIELDS(BP_LOG_STR("file", path)),
			"monitoring.listen and log.events are off: the monitor has nothing to do");
		bp_notify_ready(); /* a start that succeeds, in the view of systemd */
		end(&p);
		return BP_EX_OK;
	}
	status = start(&p);
	if (status == BP_EX_OK) {
		tick(&p, bp_monitor_mono_ns());
		bp_notify_ready();
		loop(&p);
		bp_notify_stopping();
	}
	end(&p);
	return status;
}
