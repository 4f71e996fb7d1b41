/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/which.h"
#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"

/* Each plane writes a heartbeat every second. */
#define HEARTBEAT_MAX_S 10

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

static json_t *ports(const struct bp_shm *m)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < bp_show_ports_in_use(m); i++) {
		const struct bp_port_info *p = &m->ports[i];

		json_array_append_new(
			list, json_pack("{so sb sI}", "port",
				      bp_text_json(p->name, sizeof(p->name)), "link_up",
				      (int)p->link_up, "speed_mbps", (json_int_t)p->speed_mbps));
	}
	return list;
}

/* A plane that does not run, or gives no heartbeat, can't say so itself. */
static void add_plane_faults(json_t *faults, const json_t *planes)
{
	size_t i;
	json_t *p;

	json_array_foreach(planes, i, p)
	{
		const char *name = json_string_value(json_object_get(p, "plane"));
		const json_int_t age = bp_show_int(p, "heartbeat_age_s");

		if (strcmp(name, "supervisor") == 0)
			continue;
		if (!json_is_true(json_object_get(p, "alive")))
			json_array_append_new(faults,
				json_pack("{ss ss ss}", "trouble", "plane_down", "subject", name,
					"help", "the process is not running: see its log"));
		else if (age > HEARTBEAT_MAX_S)
			json_array_append_new(faults,
				json_pack("{ss ss sI ss}", "trouble", "heartbeat_lost", "subject",
					name, "lasted_ns", age * 1000000000, "help",
					"no heartbeat: the process hangs; restart it"));
	}
}

static json_t *collect(const struct bp_show_source *s, const char *name, char *err, size_t err_size)
{
	json_t *all = bp_show_planes.collect(s, err, err_size), *faults;

	if (all == NULL)
		return NULL;
	faults = bp_show_trouble_open(s->shm, s->unix_ns);
	add_plane_faults(faults, json_object_get(all, "planes"));
	json_t *view = json_pack("{ss sb sO so sO sO sO so}", "instance", name, "ok",
		json_array_size(faults) == 0, "planes", json_object_get(all, "planes"), "ports",
		ports(s->shm), "edge", json_object_get(all, "edge"), "alarms",
		json_object_get(all, "alarms"), "spool", json_object_get(all, "spool"), "faults",
		faults);

	json_decref(all);
	if (view == NULL)
		snprintf(err, err_size, "not enough memory");
	return view;
}

static void print_planes(const json_t *planes)
{
	static const struct bp_column columns[] = {{"plane", "PLANE", 0}, {"pid", "PID", 1},
		{"alive", "RUNNING", 0}, {"uptime", "UPTIME", 1}, {"restarts", "RESTARTS", 1},
		{NULL, NULL, 0}};
	json_t *rows = json_deep_copy(planes), *row;
	char text[BP_TEXT_DURATION];
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (!json_is_integer(json_object_get(row, "uptime_s")))
			continue;
		bp_text_duration((uint64_t)bp_show_int(row, "uptime_s"), text);
		json_object_set_new(row, "uptime", json_string(text));
	}
	bp_table_print(stdout, columns, rows, "");
	json_decref(rows);
}

static void print_ports(const json_t *list)
{
	static const struct bp_column columns[] = {{"port", "PORT", 0}, {"link", "LINK", 0},
		{"speed_mbps", "MBIT/S", 1}, {NULL, NULL, 0}};
	json_t *rows = json_deep_copy(list), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const bool up = json_is_true(json_object_get(row, "link_up"));

		json_object_set_new(row, "link", json_string(up ? "up" : "down"));
	}
	putchar('\n');
	bp_table_print(stdout, columns, rows, "no ports");
	json_decref(rows);
}

static void print_publisher(const json_t *view)
{
	const json_t *edge = json_object_get(view, "edge"), *spool = json_object_get(view, "spool");

	printf("\npublisher: %s, %" JSON_INTEGER_FORMAT " alarms in flight, %" JSON_INTEGER_FORMAT
	       " in the spool\n",
		json_is_true(json_object_get(edge, "connected"))
			? "connected to the edge broker"
			: "not connected to an edge broker",
		bp_show_int(json_object_get(view, "alarms"), "in_flight"),
		bp_show_int(spool, "rows"));
}

static void print_faults(const json_t *faults)
{
	static const struct bp_column columns[] = {{"trouble", "FAULT", 0}, {"subject", "OF", 0},
		{"began", "BEGAN", 0}, {"lasts", "LASTS", 1}, {"help", "MEANING", 0},
		{NULL, NULL, 0}};
	json_t *rows = json_deep_copy(faults), *row;
	char span[BP_FAULT_DURATION_LEN];
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (!json_is_integer(json_object_get(row, "lasted_ns")))
			continue;
		bp_fault_duration((uint64_t)bp_show_int(row, "lasted_ns"), span);
		json_object_set_new(row, "lasts", json_string(span));
	}
	putchar('\n');
	bp_table_print(stdout, columns, rows, "no open faults");
	json_decref(rows);
}

static void print(const json_t *view)
{
	print_planes(json_object_get(view, "planes"));
	print_ports(json_object_get(view, "ports"));
	print_publisher(view);
	print_faults(json_object_get(view, "faults"));
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
		.unix_ns = clock_ns(CLOCK_REALTIME),
		.mono_ns = clock_ns(CLOCK_MONOTONIC)};

	view = collect(&source, id->name, err, sizeof(err));
	if (view == NULL) {
		fprintf(stderr, "biplane status: %s\n", err);
		rc = BP_EX_SOFTWARE;
	} else {
		if (json) {
			json_dumpf(view, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
			putchar('\n');
		} else {
			print(view);
		}
		rc = json_is_true(json_object_get(view, "ok")) ? BP_EX_OK : BP_EX_FAULTS;
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
	.summary = "one screen: planes, ports, publisher, open faults",
	.synopsis = "[-c FILE | -i NAME] [--json]",
	.text = "Shows whether the planes of an instance run, which ports have a link, whether\n"
		"the edge broker is connected, and every open fault with its duration.\n"
		"Exits with 0 when there is no open fault, with 2 when there is one, and with 69\n"
		"when no such instance runs.",
	.example = "  biplane status -i plant || alert",
	.options = options,
	.main = status_main,
};
