/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane clean`: removes the state that a stopped instance keeps for its next start. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/instance.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/config/quiet_config.h"
#include "apps/biplane/monitor_pid.h"
#include "shm/doorbell.h"
#include "shm/plane_dirs.h"
#include "shm/segment.h"

enum { RUN, DATA_PLANE, CONTROL_PLANE, N_ROLES };

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file of the instance"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static bool role_dir(const struct bp_config *c, unsigned role, char *dir, size_t size)
{
	return role == DATA_PLANE      ? bp_data_dir(c->runtime_dir, dir, size)
	       : role == CONTROL_PLANE ? bp_control_dir(c->runtime_dir, dir, size)
				       : snprintf(dir, size, "%s", c->runtime_dir) < (int)size;
}

static void let_go(struct bp_instance_lock lock[N_ROLES], unsigned n)
{
	while (n-- > 0)
		bp_instance_unlock(&lock[n]);
}

/* Ensures that no process of the instance runs or starts. */
static int take_all(const struct bp_config *c, struct bp_instance_lock lock[N_ROLES])
{
	static const char *const suffix[N_ROLES] = {"", "dataplane", "controlplane"};

	for (unsigned i = 0; i < N_ROLES; i++) {
		char err[PATH_MAX + 256] = "runtime.directory is longer than a path can be";
		char dir[PATH_MAX];

		if (role_dir(c, i, dir, sizeof(dir)) &&
			bp_instance_lock(
				&lock[i], dir, c->name, suffix[i], 0, 0, err, sizeof(err)) == 0)
			continue;
		fprintf(stderr, "biplane clean: %s\n", err);
		let_go(lock, i);
		return BP_EX_UNAVAILABLE;
	}
	return BP_EX_OK;
}

/* DPDK's own files of this instance; every start creates them again. */
static void remove_eal_files(const struct bp_config *c)
{
	char data[PATH_MAX], dir[PATH_MAX], path[2 * PATH_MAX];
	const struct dirent *e;
	DIR *d;

	if (geteuid() == 0)
		snprintf(data, sizeof(data), "/var/run");
	else if (!bp_data_dir(c->runtime_dir, data, sizeof(data)))
		return;
	if (snprintf(dir, sizeof(dir), "%s/dpdk/biplane-%s", data, c->name) >= (int)sizeof(dir))
		return;
	d = opendir(dir);
	if (!d)
		return;
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
			unlink(path);
		}
	closedir(d);
	rmdir(dir);
}

/* The heartbeat socket of a killed supervisor, the doorbell and the control plane's lock. No
 * process runs: this one holds their roles. */
static void remove_files(const struct bp_config *c)
{
	char dir[PATH_MAX], path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.heartbeat", c->runtime_dir, c->name);
	unlink(path);
	bp_monitor_pid_remove(c->runtime_dir, c->name);
	if (bp_doorbell_path(c->runtime_dir, c->name, path, sizeof(path)) == 0)
		unlink(path);
	if (!bp_control_dir(c->runtime_dir, dir, sizeof(dir)))
		return;
	snprintf(path, sizeof(path), "%s/%s.controlplane.lock", dir, c->name);
	unlink(path);
}

/* missing: what the instance does not have, if nothing was removed. */
static void report(const struct bp_config *c, const char *missing, bool json)
{
	if (json)
		bp_print_json_new(json_pack("{ss sb}", "instance", c->name, "segment_removed",
					  (int)(missing == NULL)),
			false, stdout);
	else if (missing == NULL)
		printf("the segment of %s is removed\n", c->name);
	else
		printf("%s has no %s\n", c->name, missing);
}

static int remove_segment(const struct bp_config *c, bool json)
{
	const char *huge = c->hugepages == BP_HUGEPAGES_NEVER ? NULL : bp_hugepage_dir();

	if (bp_segment_unlink(c->name, huge, c->runtime_dir) == 0) {
		report(c, NULL, json);
		return BP_EX_OK;
	}
	if (errno == ENOENT) {
		report(c, "segment", json);
		return BP_EX_OK;
	}
	fprintf(stderr, "biplane clean: cannot remove the segment of %s: %s\n", c->name,
		strerror(errno));
	return BP_EX_CANTCREAT;
}

static int clean(const char *path, bool json)
{
	struct bp_config *c = bp_config_load_quietly(path, stderr);
	struct bp_instance_lock lock[N_ROLES];
	int status;

	if (!c)
		return BP_EX_CONFIG;
	status = access(c->runtime_dir, F_OK) == 0 ? take_all(c, lock) : BP_EX_OK;
	if (status == BP_EX_OK && access(c->runtime_dir, F_OK) != 0) {
		report(c, "runtime directory", json);
	} else if (status == BP_EX_OK) {
		status = remove_segment(c, json);
		remove_eal_files(c);
		remove_files(c);
		let_go(lock, N_ROLES);
	}
	bp_config_free(c);
	return status;
}

static int clean_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL;
	bool json = false;
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		if (key == OPT_JSON)
			json = true;
		else
			path = cli.value;
	}
	if (bp_cli_just_config(&cli, path))
		return BP_EX_USAGE;
	return clean(path, json);
}

const struct bp_cli_command bp_cmd_clean = {
	.name = "clean",
	.summary = "remove the data of a stopped instance from memory",
	.synopsis = "-c FILE [--json]",
	.text = "Removes the data that a stopped instance keeps in memory: the shared segment\n"
		"with its hugepages, its lock, its damaged files in quarantine, and the runtime\n"
		"files of DPDK. Normally, the segment remains after a stop, and the next start\n"
		"finds the sessions, alarm states and tables in it. Files on disk (spool, health\n"
		"store) remain. The command fails while a process of the instance runs.",
	.example = "  biplane clean -c /etc/biplane/plant.yaml",
	.options = options,
	.main = clean_main,
};
