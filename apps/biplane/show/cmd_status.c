/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/which.h"
#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/show/status_view.h"

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static json_t *collect(const struct bp_show_source *s, const char *name, char *err, size_t err_size)
{
	json_t *all = bp_status_view.collect(s, err, err_size), *view;

	if (all == NULL)
		return NULL;
	view = json_pack("{ss}", "instance", name);
	if (view == NULL || json_object_update(view, all) != 0)
		snprintf(err, err_size, "not enough memory");
	json_decref(all);
	return view;
}

/* Its segment remains after an orderly stop, too. */
static bool runs(const json_t *view)
{
	const json_t *planes = json_object_get(view, "planes");

	for (size_t i = 0; i < json_array_size(planes); i++)
		if (json_is_true(json_object_get(json_array_get(planes, i), "running")))
			return true;
	return false;
}

static int exit_status(const json_t *view)
{
	if (json_is_true(json_object_get(view, "ok")))
		return BP_EX_OK;
	return runs(view) ? BP_EX_FAULTS : BP_EX_UNAVAILABLE;
}

static int status(const struct bp_config_instance *id, bool json)
{
	struct bp_instance_view v;
	char err[PATH_MAX + 512] = "not enough memory";
	json_t *view;
	int rc;

	if (bp_instance_view_open(&v, id, err, sizeof(err)) != 0) {
		fprintf(stderr, "biplane status: %s\n", err);
		return BP_EX_UNAVAILABLE;
	}
	const struct bp_show_source source = {.shm = &v.shm,
		.instance = id,
		.unix_ns = clock_ns(CLOCK_REALTIME),
		.mono_ns = clock_ns(CLOCK_MONOTONIC)};

	view = collect(&source, id->name, err, sizeof(err));
	if (view == NULL) {
		fprintf(stderr, "biplane status: %s\n", err);
		rc = BP_EX_SOFTWARE;
	} else {
		if (json) {
			bp_print_json(view, false, stdout);
		} else {
			bp_status_view.print(view, false, stdout);
		}
		rc = exit_status(view);
	}
	json_decref(view);
	bp_instance_view_close(&v);
	return rc;
}

static int status_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL, *name = NULL;
	struct bp_config_instance id;
	bool json = false;
	struct bp_cli cli;
	int key, rc;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == 'c')
			path = cli.value;
		else if (key == 'i')
			name = cli.value;
		else if (key == OPT_JSON)
			json = true;
		else
			return cli.status;
	}
	if (bp_cli_no_operands(&cli))
		return BP_EX_USAGE;
	rc = bp_which_instance(command, path, name, &id);
	return rc != BP_EX_OK ? rc : status(&id, json);
}

const struct bp_cli_command bp_cmd_status = {
	.name = "status",
	.summary = "planes, ports, publisher, totals and open faults on one screen",
	.synopsis = "[-c FILE | -i NAME] [--json]",
	.text = "Prints the state of an instance on one screen: the planes and the\n"
		"monitor, the links of the ports, the connection of the publisher, the totals of\n"
		"alarms, spool, reloads, netlink and health devices, and every open fault with\n"
		"its duration. Exits with 0 if no fault is open, with 2 if a fault is open, and\n"
		"with 69 if the instance does not run.",
	.example = "  biplane status -i plant || alert",
	.options = options,
	.main = status_main,
};
