/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/which.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/instance.h"
#include "apps/biplane/show/instance_view.h"
#include "shm/plane_dirs.h"

/* Names are printed and offered to shells. */
static bool is_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' &&
	       name[strspn(name,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] ==
		       '\0';
}

static void add(char names[BP_INSTANCES_MAX][BP_NAME_MAX + 1], unsigned *n, const char *name)
{
	for (unsigned i = 0; i < *n; i++)
		if (strcmp(names[i], name) == 0)
			return;
	if (*n < BP_INSTANCES_MAX)
		strcpy(names[(*n)++], name);
}

/* The instances whose files NAME`suffix` in `path` are locked. */
static void add_locked(const char *path, const char *suffix,
	char names[BP_INSTANCES_MAX][BP_NAME_MAX + 1], unsigned *n)
{
	DIR *d = opendir(path);
	const struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		const size_t len = strlen(e->d_name), end = strlen(suffix);
		char name[BP_NAME_MAX + 1], text[BP_INSTANCE_PID_TEXT];

		if (len <= end || len - end > BP_NAME_MAX ||
			strcmp(e->d_name + len - end, suffix) != 0)
			continue;
		memcpy(name, e->d_name, len - end);
		name[len - end] = '\0';
		if (is_name(name) && bp_instance_holder(dirfd(d), e->d_name, text) != 0)
			add(names, n, name);
	}
	if (d != NULL)
		closedir(d);
}

unsigned bp_instances_running(char names[BP_INSTANCES_MAX][BP_NAME_MAX + 1])
{
	char dir[PATH_MAX];
	unsigned n = 0;

	if (bp_data_dir(BP_DEFAULT_RUNTIME_DIR, dir, sizeof(dir)))
		add_locked(dir, "-dataplane.pid", names, &n);
	if (bp_control_dir(BP_DEFAULT_RUNTIME_DIR, dir, sizeof(dir)))
		add_locked(dir, "-controlplane.pid", names, &n);
	return n;
}

/* The running instance; BP_EX_USAGE if there are several. */
static int only_one(const struct bp_cli_command *command, char name[BP_NAME_MAX + 1])
{
	char names[BP_INSTANCES_MAX][BP_NAME_MAX + 1], list[512] = "";
	const unsigned n = bp_instances_running(names);
	size_t len = 0;

	strcpy(name, n == 1 ? names[0] : BP_DEFAULT_NAME);
	if (n <= 1)
		return BP_EX_OK;
	for (unsigned i = 0; i < n && len < sizeof(list); i++)
		len += (size_t)snprintf(
			list + len, sizeof(list) - len, "%s%s", i > 0 ? ", " : "", names[i]);
	return bp_cli_usage_error(command,
		"%u instances run: %s; select one with --instance NAME or --config FILE", n, list);
}

int bp_which_instance(const struct bp_cli_command *command, const char *path, const char *name,
	struct bp_config_instance *id)
{
	char err[256], only[BP_NAME_MAX + 1];
	int errors, status;

	if (path != NULL && name != NULL)
		return bp_cli_usage_error(command, "--config and --instance exclude each other");
	if (path == NULL) {
		status = name == NULL ? only_one(command, only) : BP_EX_OK;
		if (status != BP_EX_OK)
			return status;
		if (bp_instance_of_name(id, name != NULL ? name : only, err, sizeof(err)) == 0)
			return BP_EX_OK;
		return bp_cli_usage_error(command, "%s", err);
	}
	errors = bp_config_load_instance(path, id, stderr);
	if (errors < 0)
		return BP_EX_CONFIG;
	if (errors > 0)
		fprintf(stderr,
			"biplane %s: warning: %s has errors, see 'biplane config check -c %s'; "
			"using instance '%s' of %s\n",
			command->name, path, path, id->name, id->runtime_dir);
	return BP_EX_OK;
}
