/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane dataplane` and `biplane controlplane`: one plane alone. */
#include <stdio.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/instance.h"
#include "apps/biplane/config/quiet_config.h"
#include "controlplane/process/controlplane.h"
#include "dataplane/process/dataplane.h"
#include "daemon/log.h"
#include "shm/plane_dirs.h"

/* The kernel releases the lock of a killed process with a short delay. */
#define PATIENCE_MS 2000

enum { OPT_STATS_PERIOD = BP_CLI_LONG };

static const struct bp_cli_option dataplane_options[] = {
	{'c', "config", "FILE", "the configuration file"},
	{OPT_STATS_PERIOD, "stats-period", "SECONDS", "print rates every SECONDS; default: 0, off"},
	{0, NULL, NULL, NULL},
};

static const struct bp_cli_option controlplane_options[] = {
	{'c', "config", "FILE", "the configuration file"},
	{0, NULL, NULL, NULL},
};

struct plane_args {
	const char *path;
	uint64_t stats_period;
	int eal_argc;
	char **eal_argv;
};

/* Parses into *a; BP_CLI_END, or the exit status. */
static int parse(const struct bp_cli_command *command, int argc, char **argv, struct plane_args *a)
{
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == 'c')
			a->path = cli.value;
		else if (key == BP_CLI_STOP)
			return cli.status;
		else if (!bp_cli_number(cli.value, 0, 86400, &a->stats_period))
			return bp_cli_usage_error(command,
				"--stats-period %s: a number of seconds from 0 to 86400 was "
				"expected",
				cli.value);
	}
	if (bp_cli_just_config(&cli, a->path))
		return BP_EX_USAGE;
	a->eal_argc = cli.rest_argc;
	a->eal_argv = cli.rest;
	return BP_CLI_END;
}

/* Each in the directory that its user may write to. */
static bool role_dir(const struct bp_config *c, const char *role, char *dir, size_t size)
{
	if (strcmp(role, bp_cmd_controlplane.name) == 0)
		return bp_control_dir(c->runtime_dir, dir, size);
	return bp_data_dir(c->runtime_dir, dir, size);
}

/* Two data planes, or two control planes, of one instance would write the same tables. */
static int take_role(const char *path, const char *role, struct bp_instance_lock *lock)
{
	struct bp_config *c = bp_config_load_quietly(path, bp_log_stream(BP_LOG_ERROR));
	char err[PATH_MAX + 256] = "runtime.directory is longer than a path can be";
	char dir[PATH_MAX];
	int status = BP_EX_OK;

	if (!c)
		return BP_EX_CONFIG;
	if (bp_runtime_dir_make(c->runtime_dir, err, sizeof(err)))
		status = BP_EX_CANTCREAT;
	else if (!role_dir(c, role, dir, sizeof(dir)))
		status = BP_EX_CONFIG;
	else if (bp_instance_lock(lock, dir, c->name, role, 0, PATIENCE_MS, err, sizeof(err)))
		status = BP_EX_UNAVAILABLE;
	if (status)
		bp_log(BP_LOG_ERROR, "%s", err);
	bp_config_free(c);
	return status;
}

/* BP_CLI_END if this process is the only such plane of the instance, or the exit status. */
static int begin(const struct bp_cli_command *command, int argc, char **argv, struct plane_args *a,
	struct bp_instance_lock *lock)
{
	int status = parse(command, argc, argv, a);

	if (status != BP_CLI_END)
		return status;
	bp_log_begin(command->name);
	status = take_role(a->path, command->name, lock);
	return status ? status : BP_CLI_END;
}

static int dataplane_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct plane_args a = {0};
	struct bp_instance_lock lock;
	int status = begin(command, argc, argv, &a, &lock);

	if (status != BP_CLI_END)
		return status;
	status = bp_dataplane_run(a.path, a.eal_argc, a.eal_argv, (unsigned)a.stats_period);
	bp_instance_unlock(&lock);
	return status;
}

static int controlplane_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct plane_args a = {0};
	struct bp_instance_lock lock;
	int status = begin(command, argc, argv, &a, &lock);

	if (status != BP_CLI_END)
		return status;
	status = bp_controlplane_run(a.path);
	bp_instance_unlock(&lock);
	return status;
}

const struct bp_cli_command bp_cmd_dataplane = {
	.name = "dataplane",
	.summary = "run only the data plane",
	.synopsis = "-c FILE [--stats-period SECONDS] [-- EAL-OPTION...]",
	.text = "Runs only the data plane, in the foreground, for a service manager. It forwards\n"
		"with or without a control plane. Each EAL-OPTION goes to the EAL of DPDK, after\n"
		"the options that follow from FILE. On SIGTERM, the data plane transmits its\n"
		"queued frames and exits.",
	.example = "  biplane dataplane -c /etc/biplane/plant.yaml -- --log-level=lib.eal:debug",
	.options = dataplane_options,
	.takes_rest = true,
	.main = dataplane_main,
};

const struct bp_cli_command bp_cmd_controlplane = {
	.name = "controlplane",
	.summary = "run only the control plane",
	.synopsis = "-c FILE",
	.text = "Runs only the control plane, in the foreground, for a service manager. The\n"
		"control plane loads the rules, publishes the alarms, stores alarms in the\n"
		"spool, reads the routes of the kernel, and manages the health devices. SIGHUP\n"
		"reloads the configuration, SIGTERM stops the control plane.",
	.example = "  biplane controlplane -c /etc/biplane/plant.yaml",
	.options = controlplane_options,
	.main = controlplane_main,
};
