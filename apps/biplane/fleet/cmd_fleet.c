/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane fleet agent`, `status`, `members`, `diff`, `keygen`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/config/changes.h"
#include "apps/biplane/config/quiet_config.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/fleet/agent.h"
#include "apps/biplane/fleet/operator.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/table.h"
#include "config/schema.h"
#include "daemon/log.h"

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option agent_options[] = {
	{'c', "config", "FILE", "the configuration file"},
	{0, NULL, NULL, NULL},
};
static const struct bp_cli_option view_options[] = {
	{'c', "config", "FILE", "a configuration file with fleet.config"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};
static const struct bp_cli_option no_options[] = {{0, NULL, NULL, NULL}};

static int agent_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path;
	int status;

	if (!bp_cli_read_config(command, argc, argv, &path, &status))
		return status;
	bp_log_begin("fleet");
	return bp_fleet_agent_run(path);
}

/* Options of the views. False: return *status. */
static bool read_view(struct bp_cli *cli, const char **path, bool *json, int *status)
{
	int key;

	*path = NULL;
	*json = false;
	while ((key = bp_cli_next(cli)) != BP_CLI_END) {
		*status = cli->status;
		if (key == BP_CLI_STOP)
			return false;
		if (key == OPT_JSON)
			*json = true;
		else
			*path = cli->value;
	}
	return true;
}

static json_t *join(const json_t *list)
{
	char text[2048] = "";
	const json_t *e;
	size_t i, n = 0;

	json_array_foreach(list, i, e) if (json_is_string(e) && n < sizeof(text)) n +=
		(size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n > 0 ? "; " : "",
			json_string_value(e));
	return n > 0 ? json_string(text) : json_null();
}

/* ---- members ---- */

static json_t *labels_text(const json_t *labels)
{
	json_t *list = json_array(), *v, *text;
	const char *k;

	json_object_foreach((json_t *)labels, k, v) json_array_append_new(
		list, json_sprintf("%s=%s", k, json_is_string(v) ? json_string_value(v) : "?"));
	text = join(list);
	json_decref(list);
	return text;
}

static void print_members(const json_t *members)
{
	static const struct bp_column columns[] = {{"member", "MEMBER", 0}, {"labels", "LABELS", 0},
		{"state", "STATE", 0}, {"version", "VERSION", 1}, {"serial", "SERIAL", 1},
		{"since", "SINCE", 0}, {"problems", "HEALTH", 0}, {"errors", "ERRORS", 0},
		{NULL, NULL, 0}};
	json_t *rows = json_deep_copy(members), *row, *problems;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		problems = join(json_object_get(row, "problems"));
		json_object_set_new(row, "labels", labels_text(json_object_get(row, "labels")));
		json_object_set_new(row, "errors", join(json_object_get(row, "errors")));
		json_object_set_new(row, "problems",
			json_is_null(problems) ? json_string("ok") : json_incref(problems));
		json_decref(problems);
	}
	bp_table_print(stdout, columns, rows, "no member is connected to etcd");
	json_decref(rows);
}

static int show_members(const struct bp_fleet_operator *o, bool json)
{
	struct bp_etcd_rows rows;
	int status = bp_fleet_operator_read(o, "members", NULL, &rows);
	json_t *members;

	if (status != BP_EX_OK)
		return status;
	members = bp_fleet_members(&rows);
	bp_etcd_rows_free(&rows);
	if (json) {
		bp_print_json_new(
			json_pack("{ss so}", "fleet", o->fleet, "members", members), false, stdout);
		return BP_EX_OK;
	}
	print_members(members);
	json_decref(members);
	return BP_EX_OK;
}

/* ---- status ---- */

static void count_members(const json_t *members, const struct bp_fleet_rollout *r, json_t *row)
{
	struct bp_config_fleet_labels selector;
	json_int_t matching = 0, applied = 0, failed = 0;
	char err[256];
	json_t *m;
	size_t i;

	if (!bp_fleet_selector_read(r->selector, &selector, err, sizeof(err)))
		return;
	json_array_foreach(members, i, m)
	{
		const char *state = json_string_value(json_object_get(m, "state"));
		const bool same =
			json_integer_value(json_object_get(m, "serial")) == (json_int_t)r->serial;

		if (!bp_fleet_member_matches(m, &selector))
			continue;
		matching++;
		applied += same && state != NULL && strcmp(state, "applied") == 0;
		failed += same && state != NULL &&
			  (strcmp(state, "refused") == 0 || strcmp(state, "rolled_back") == 0);
	}
	json_object_set_new(row, "members", json_integer(matching));
	json_object_set_new(row, "applied", json_integer(applied));
	json_object_set_new(row, "failed", json_integer(failed));
}

static json_t *rollout_row(
	const struct bp_fleet_operator *o, const struct bp_etcd_row *row, const json_t *members)
{
	struct bp_fleet_rollout *r = malloc(sizeof(*r));
	const char *name = strrchr(row->key, '/');
	json_t *canaries = json_array(), *out;
	char err[512] = "";

	if (r == NULL) {
		json_decref(canaries);
		return NULL;
	}
	if (bp_fleet_rollout_read(&o->keys, o->fleet, row, r, err, sizeof(err)) != 0) {
		out = json_pack("{ss sn sn sn sn so sn sn sn ss}", "selector",
			name != NULL ? name + 1 : "?", "version", "serial", "created",
			"trial_time_s", "canaries", canaries, "members", "applied", "failed",
			"error", err);
		free(r);
		return out;
	}
	for (unsigned i = 0; i < r->n_canaries; i++)
		json_array_append_new(canaries, json_string(r->canary[i]));
	out = json_pack("{ss sI sI ss so so sn sn sn sn}", "selector", r->selector, "version",
		(json_int_t)r->version, "serial", (json_int_t)r->serial, "created", r->created,
		"trial_time_s",
		r->trial_s != 0 ? json_integer((json_int_t)r->trial_s) : json_null(), "canaries",
		canaries, "members", "applied", "failed", "error");
	count_members(members, r, out);
	free(r);
	return out;
}

static void print_status(const json_t *rollouts)
{
	static const struct bp_column columns[] = {{"selector", "SELECTOR", 0},
		{"version", "VERSION", 1}, {"serial", "SERIAL", 1}, {"created", "CREATED", 0},
		{"canaries", "CANARIES", 0}, {"members", "MEMBERS", 1}, {"applied", "APPLIED", 1},
		{"failed", "FAILED", 1}, {"error", "ERROR", 0}, {NULL, NULL, 0}};
	json_t *rows = json_deep_copy(rollouts), *row;
	size_t i;

	json_array_foreach(rows, i, row)
		json_object_set_new(row, "canaries", join(json_object_get(row, "canaries")));
	bp_table_print(stdout, columns, rows, "no rollouts");
	json_decref(rows);
}

static int show_status(const struct bp_fleet_operator *o, bool json)
{
	struct bp_etcd_rows members, rows;
	json_t *list, *rollouts;
	int status = bp_fleet_operator_read(o, "members", NULL, &members);

	if (status != BP_EX_OK)
		return status;
	list = bp_fleet_members(&members);
	bp_etcd_rows_free(&members);
	status = bp_fleet_operator_read(o, "rollouts", NULL, &rows);
	if (status == BP_EX_OK) {
		rollouts = json_array();
		for (unsigned i = 0; i < rows.n; i++)
			json_array_append_new(rollouts, rollout_row(o, &rows.row[i], list));
		bp_etcd_rows_free(&rows);
		if (json)
			bp_print_json_new(
				json_pack("{ss sO}", "fleet", o->fleet, "rollouts", rollouts),
				false, stdout);
		else
			print_status(rollouts);
		json_decref(rollouts);
	}
	json_decref(list);
	return status;
}

static int view_main(const struct bp_cli_command *command, int argc, char **argv,
	int (*show)(const struct bp_fleet_operator *o, bool json))
{
	struct bp_fleet_operator o;
	const char *path;
	struct bp_cli cli;
	bool json;
	int status;

	bp_cli_begin(&cli, command, argc, argv);
	if (!read_view(&cli, &path, &json, &status))
		return status;
	if (bp_cli_just_config(&cli, path) != 0)
		return BP_EX_USAGE;
	status = bp_fleet_operator_open(&o, command, path);
	if (status == BP_EX_OK)
		status = show(&o, json);
	bp_fleet_operator_close(&o);
	return status;
}

static int status_main(const struct bp_cli_command *command, int argc, char **argv)
{
	return view_main(command, argc, argv, show_status);
}

static int members_main(const struct bp_cli_command *command, int argc, char **argv)
{
	return view_main(command, argc, argv, show_members);
}

/* ---- diff ---- */

static int diff(const struct bp_fleet_operator *o, const char *path, uint64_t version, bool json)
{
	struct bp_config *from = bp_config_load_quietly(path, stderr), *to = NULL;
	struct bp_fleet_bundle b = {.text = NULL};
	char name[48], err[1024] = "";
	char *text = NULL;
	size_t len = 0;
	unsigned restart;
	int status = from != NULL ? BP_EX_OK : BP_EX_CONFIG, rc;

	snprintf(name, sizeof(name), "bundles/%" PRIu64, version);
	if (status == BP_EX_OK) {
		rc = bp_fleet_operator_bundle(o, version, &b, err, sizeof(err));
		if (rc <= 0)
			status = bp_cli_fail(
				o->command, rc < 0 ? BP_EX_UNAVAILABLE : BP_EX_DATAERR, "%s", err);
	}
	if (status == BP_EX_OK) {
		const struct bp_bundle bundle = {name, b.text, b.len};

		text = bp_config_read_file(path, &len, stderr);
		if (text != NULL)
			to = bp_config_parse_with(path, text, len, &bundle, stderr);
		status = to == NULL                                               ? BP_EX_CONFIG
			 : bp_config_print_changes(from, to, json, &restart) != 0 ? BP_EX_DIFFERENT
										  : BP_EX_OK;
	}
	free(text);
	free(b.text);
	bp_config_free(from);
	bp_config_free(to);
	return status;
}

static int diff_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_fleet_operator o;
	const char *path;
	char **operand;
	struct bp_cli cli;
	uint64_t version;
	bool json;
	int status;

	bp_cli_begin(&cli, command, argc, argv);
	if (!read_view(&cli, &path, &json, &status))
		return status;
	if (bp_cli_operands(&cli, &operand) != 1 ||
		!bp_cli_number(operand[0], 1, BP_FLEET_SERIAL_MAX, &version))
		return bp_cli_usage_error(command, "expected the version of a bundle");
	if (path == NULL)
		return bp_cli_usage_error(
			command, "missing option -c FILE: a configuration file with fleet.config");
	status = bp_fleet_operator_open(&o, command, path);
	if (status == BP_EX_OK)
		status = diff(&o, path, version, json);
	bp_fleet_operator_close(&o);
	return status;
}

/* ---- keygen ---- */

static int keygen_main(const struct bp_cli_command *command, int argc, char **argv)
{
	char **operand, err[512];
	struct bp_cli cli;

	bp_cli_begin(&cli, command, argc, argv);
	if (bp_cli_next(&cli) == BP_CLI_STOP)
		return cli.status;
	if (bp_cli_operands(&cli, &operand) != 1)
		return bp_cli_usage_error(command, "expected one file: the private key to create");
	if (bp_fleet_keygen(operand[0], err, sizeof(err)) != 0)
		return bp_cli_fail(command, BP_EX_CANTCREAT, "%s", err);
	printf("private key: %s\npublic key: %s.pub, for fleet.config.keys of the members\n",
		operand[0], operand[0]);
	return BP_EX_OK;
}

const struct bp_cli_command bp_cmd_fleet_agent = {
	.name = "fleet agent",
	.summary = "apply the bundles of the fleet to this gateway",
	.synopsis = "-c FILE",
	.text = "Applies the signed bundles that etcd has for this gateway: verifies and checks a\n"
		"bundle, stores it in fleet.config.directory, requests a reload, and restores the\n"
		"previous bundle if the health of the gateway becomes worse in the trial time.\n"
		"Without etcd nothing changes. 'biplane run' starts it if FILE has fleet.config.\n"
		"SIGHUP reads section fleet, the keys and the password again; SIGTERM stops it.",
	.example = "  biplane fleet agent -c /etc/biplane/plant.yaml",
	.options = agent_options,
	.main = agent_main,
};

const struct bp_cli_command bp_cmd_fleet_status = {
	.name = "fleet status",
	.summary = "list the rollouts of the fleet",
	.synopsis = "-c FILE [--json]",
	.text = "Lists the rollout of each selector: its version and serial number, canaries, and\n"
		"the number of connected members that match, have applied it, or have failed.",
	.example = "  biplane fleet status -c /etc/biplane/plant.yaml",
	.options = view_options,
	.main = status_main,
};

const struct bp_cli_command bp_cmd_fleet_members = {
	.name = "fleet members",
	.summary = "list the connected members with version, health and errors",
	.synopsis = "-c FILE [--json]",
	.text = "Lists the members that are connected to etcd: labels, state (idle, waiting,\n"
		"trial, applied, refused, rolled_back), version, health and errors. A member\n"
		"without contact disappears from the list after 30 s.",
	.example = "  biplane fleet members -c /etc/biplane/plant.yaml",
	.options = view_options,
	.main = members_main,
};

const struct bp_cli_command bp_cmd_fleet_diff = {
	.name = "fleet diff",
	.summary = "compare a gateway with a bundle",
	.synopsis = "-c FILE [--json] VERSION",
	.text = "Lists the settings that bundle VERSION would change on the gateway of FILE, and\n"
		"whether a reload applies them. FILE is read with its stored bundle. Exits with 1\n"
		"if there are differences, with 78 if the bundle has an error.",
	.example = "  biplane fleet diff -c /etc/biplane/plant.yaml 4",
	.options = view_options,
	.main = diff_main,
};

const struct bp_cli_command bp_cmd_fleet_keygen = {
	.name = "fleet keygen",
	.summary = "create a pair of keys for signatures",
	.synopsis = "KEY",
	.text = "Creates KEY, a private Ed25519 key in PEM with mode 600, and KEY.pub, its public\n"
		"key. Existing files are not replaced. The keys have the format of openssl\n"
		"genpkey -algorithm ed25519.",
	.example = "  biplane fleet keygen /root/fleet.key",
	.options = no_options,
	.main = keygen_main,
};
