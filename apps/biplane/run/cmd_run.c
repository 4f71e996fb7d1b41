/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane run`: both planes, kept alive. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/health/settings.h"
#include "config/mqtt/settings.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/instance.h"
#include "apps/biplane/config/quiet_config.h"
#include "apps/biplane/monitor_pid.h"
#include "apps/biplane/run/run_counts.h"
#include "apps/biplane/run/supervisor.h"
#include "controlplane/health/sockets.h"
#include "controlplane/alarms/publisher.h"
#include "daemon/log.h"

#define STOP_TIMEOUT_NS 10000000000ull
/* A second signal from a user who wants an immediate end takes longer; a duplicate signal from a
 * program does not. */
#define SAME_SIGNAL_NS 500000000ull
/* Planes of a killed supervisor end within this time; otherwise the start fails. */
#define PATIENCE_MS 15000

enum { OPT_STATS_PERIOD = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file"},
	{OPT_STATS_PERIOD, "stats-period", "SECONDS", "print rates every SECONDS; default: 0, off"},
	{0, NULL, NULL, NULL},
};

enum { DATA_PLANE, CONTROL_PLANE, N_PLANES, N_PROCESSES = N_PLANES + 2 };

struct run {
	const char *path;
	char stats_period[24];
	int eal_argc;
	char **eal_argv;
	struct bp_config *config;
	struct bp_instance_lock lock;
	/* They queue the data of devices while there is no control plane. */
	struct bp_phd_sockets sockets;
};

static bool store_counts(const struct bp_supervisor *s, void *arg)
{
	const struct run *r = arg;
	struct bp_run_counts counts = {
		.run_pid = (uint64_t)getpid(),
		.dp_restarts = s->planes[DATA_PLANE].restarts,
		.cp_restarts = s->planes[CONTROL_PLANE].restarts,
		.dp_hung = s->planes[DATA_PLANE].hung,
		.cp_hung = s->planes[CONTROL_PLANE].hung,
	};

	return bp_run_counts_store(r->path, r->config, &counts);
}

/* A later process with our number is not a supervisor. */
static void clear_pid(const struct run *r, const struct bp_supervisor *s)
{
	struct bp_run_counts counts = {
		.dp_restarts = s->planes[DATA_PLANE].restarts,
		.cp_restarts = s->planes[CONTROL_PLANE].restarts,
		.dp_hung = s->planes[DATA_PLANE].hung,
		.cp_hung = s->planes[CONTROL_PLANE].hung,
	};

	bp_run_counts_store(r->path, r->config, &counts);
}

/* Runs before each start of the control plane: it uses the current file. An unreadable file
 * changes nothing here; the control plane reports its errors. */
static void prepare_sockets(struct bp_sup_plane *p, void *arg)
{
	struct run *r = arg;
	struct bp_config *c = bp_config_load_quietly(r->path, NULL);
	char err[768];

	if (c && bp_phd_sockets_follow(&r->sockets, bp_config_phd(c), err, sizeof(err)))
		bp_log(BP_LOG_WARNING, "%s; leaving it to the control plane", err);
	bp_config_free(c);
	p->fds = (struct bp_hand_down){0};
	bp_hand_down_add(&p->fds, r->sockets.udp, BP_PHD_UDP_NAME);
	bp_hand_down_add(&p->fds, r->sockets.tcp, BP_PHD_TCP_NAME);
}

/* Sockets that a service manager opened for us. */
static int take_sockets(struct run *r)
{
	struct bp_listen_fds fds;
	char err[512];

	if (bp_listen_fds_take(&fds, err, sizeof(err)) == 0 &&
		bp_phd_sockets_take(
			&r->sockets, &fds, bp_config_phd(r->config), err, sizeof(err)) == 0)
		return BP_EX_OK;
	bp_log(BP_LOG_ERROR, "%s", err);
	return BP_EX_CONFIG;
}

/* Runs before any start: two instances on one spool would take each other's alarms. */
static int check_spool(const struct run *r)
{
	char err[1024];

	if (!bp_publisher_spool_in_use(bp_config_mqtt(r->config), err, sizeof(err)))
		return BP_EX_OK;
	bp_log(BP_LOG_ERROR, "%s", err);
	return BP_EX_CONFIG;
}

/* Whether the configuration has work for the monitor. */
static bool has_monitor(const struct bp_config *c)
{
	return c->monitoring.listen.kind != BP_LISTEN_OFF || c->log.events.kind != BP_EVENT_LOG_OFF;
}

/* A process without which the planes do their work. */
static struct bp_sup_plane optional(const char *name, char **argv)
{
	return (struct bp_sup_plane){.name = name,
		.path = "/proc/self/exe",
		.argv = argv,
		.gets_hup = true,
		.optional = true};
}

static int supervise(struct run *r, char **dp_argv)
{
	char heartbeats[PATH_MAX];
	const char *self = "/proc/self/exe";
	char *cp_argv[] = {"biplane", "controlplane", "-c", (char *)r->path, NULL};
	char *agent_argv[] = {"biplane", "fleet", "agent", "-c", (char *)r->path, NULL};
	char *monitor_argv[] = {"biplane", "monitor", "-c", (char *)r->path, NULL};
	struct bp_sup_plane planes[N_PROCESSES] = {
		[DATA_PLANE] = {.name = "data plane", .path = self, .argv = dp_argv},
		[CONTROL_PLANE] = {.name = "control plane",
			.path = self,
			.argv = cp_argv,
			.gets_hup = true,
			.prepare = prepare_sockets},
	};
	struct bp_supervisor s = {
		.planes = planes,
		.n = N_PLANES,
		.stop_timeout_ns = STOP_TIMEOUT_NS,
		.same_signal_ns = SAME_SIGNAL_NS,
		.heartbeat_limit_ns = r->config->watchdog_ns,
		.heartbeat_path = heartbeats,
		.changed = store_counts,
		.arg = r,
	};

	int status;

	if (has_monitor(r->config))
		planes[s.n++] = optional("monitor", monitor_argv);
	if (r->config->fleet.config.given)
		planes[s.n++] = optional("fleet agent", agent_argv);
	snprintf(heartbeats, sizeof(heartbeats), "%s/%s.heartbeat", r->config->runtime_dir,
		r->config->name);
	status = bp_supervisor_run(&s);

	clear_pid(r, &s);
	bp_monitor_pid_remove(r->config->runtime_dir, r->config->name);
	return status;
}

/* The command line of the data plane, with the arguments after "--". The caller frees it. */
static char **dataplane_argv(struct run *r)
{
	char **argv = calloc((size_t)r->eal_argc + 8, sizeof(*argv));
	int n = 0;

	if (!argv)
		return NULL;
	argv[n++] = "biplane";
	argv[n++] = "dataplane";
	argv[n++] = "-c";
	argv[n++] = (char *)r->path;
	argv[n++] = "--stats-period";
	argv[n++] = r->stats_period;
	argv[n++] = "--";
	for (int i = 0; i < r->eal_argc; i++)
		argv[n++] = r->eal_argv[i];
	return argv;
}

static int take_instance(struct run *r)
{
	char err[PATH_MAX + 256];
	int status = BP_EX_OK;

	if (bp_runtime_dir_make(r->config->runtime_dir, err, sizeof(err)))
		status = BP_EX_CANTCREAT;
	else if (bp_instance_lock(&r->lock, r->config->runtime_dir, r->config->name, "", 1,
			 PATIENCE_MS, err, sizeof(err)))
		status = BP_EX_UNAVAILABLE;
	if (status)
		bp_log(BP_LOG_ERROR, "%s", err);
	return status;
}

static int run(struct run *r)
{
	char **dp_argv;
	int status;

	r->config = bp_config_load_quietly(r->path, bp_log_stream(BP_LOG_ERROR));
	if (!r->config)
		return BP_EX_CONFIG;
	bp_log_set(
		(enum bp_log_level)r->config->log.level, (enum bp_log_format)r->config->log.format);
	status = take_sockets(r);
	if (!status)
		status = take_instance(r);
	if (!status)
		status = check_spool(r);
	dp_argv = status ? NULL : dataplane_argv(r);
	if (dp_argv) {
		status = supervise(r, dp_argv);
		bp_instance_unlock(&r->lock);
	} else if (!status) {
		status = BP_EX_OSERR;
	}
	free(dp_argv);
	bp_phd_sockets_close(&r->sockets);
	bp_config_free(r->config);
	return status;
}

static int run_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct run r = {.stats_period = "0", .sockets = {-1, -1}};
	struct bp_cli cli;
	uint64_t period;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		if (key == 'c') {
			r.path = cli.value;
		} else if (bp_cli_number(cli.value, 0, 86400, &period)) {
			snprintf(r.stats_period, sizeof(r.stats_period), "%u", (unsigned)period);
		} else {
			return bp_cli_usage_error(command,
				"--stats-period %s: a number of seconds from 0 to 86400 was "
				"expected",
				cli.value);
		}
	}
	if (bp_cli_just_config(&cli, r.path))
		return BP_EX_USAGE;
	r.eal_argc = cli.rest_argc;
	r.eal_argv = cli.rest;
	bp_log_begin("run");
	return run(&r);
}

const struct bp_cli_command bp_cmd_run = {
	.name = "run",
	.summary = "run both planes, and restart a plane that dies",
	.synopsis = "-c FILE [--stats-period SECONDS] [-- EAL-OPTION...]",
	.text = "Validates FILE, then runs the data plane and the control plane in the\n"
		"foreground. When a plane dies, or its heartbeats stop for runtime.watchdog, the\n"
		"command reports it, counts it and restarts the plane. The other plane\n"
		"continues. Each EAL-OPTION goes to the EAL of DPDK, after the options that\n"
		"follow from FILE.\n"
		"\n"
		"SIGTERM and SIGINT stop the data plane, which transmits its queued frames, then\n"
		"the control plane. A second signal, at least half a second later, kills both.\n"
		"SIGHUP reloads the configuration. If monitoring.listen or log.events is set, the\n"
		"command also runs the monitor, and if fleet.config is set, the agent of the\n"
		"fleet; neither affects the planes.",
	.example = "  biplane run -c /etc/biplane/plant.yaml --stats-period 5",
	.options = options,
	.takes_rest = true,
	.main = run_main,
};
