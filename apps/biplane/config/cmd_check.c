/* SPDX-License-Identifier: BSD-3-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/config/monitor_secrets.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "config/aggregation/settings.h"
#include "config/config.h"
#include "config/defaults.h"
#include "config/health/settings.h"
#include "config/lcl/settings.h"
#include "config/mqtt/settings.h"
#include "config/schema.h"
#include "config/transform/settings.h"
#include "controlplane/alarms/publisher.h"

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file to check"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static void print_ok(const char *path, const struct bp_config *c)
{
	printf("%s: ok: %u port%s, %u bridge%s, %u rule%s", path, c->n_ports,
		c->n_ports == 1 ? "" : "s", c->n_bridges, c->n_bridges == 1 ? "" : "s",
		bp_config_mqtt(c)->n_rules, bp_config_mqtt(c)->n_rules == 1 ? "" : "s");
	if (bp_config_aggregates(c))
		printf(", entries of aggregation.encapsulate: %u, of aggregation.decapsulate: %u",
			bp_config_aggregation(c)->rules.n_aggregate,
			bp_config_aggregation(c)->rules.n_disaggregate);
	if (bp_config_transforms(c))
		printf(", transform.entries: %u, with %u receiver%s",
			bp_config_transform(c)->entries.n_rules,
			bp_config_transform(c)->entries.n_receivers,
			bp_config_transform(c)->entries.n_receivers == 1 ? "" : "s");
	if (bp_config_has_lcl(c))
		printf(", entries of lcl.ports: %u, of lcl.flows: %u", bp_config_lcl(c)->n_ports,
			bp_config_lcl(c)->rules.n_flows);
	putchar('\n');
}

/* The bounds that LCL guarantees to a flow. */
static json_t *json_admission(
	const struct bp_config *c, uint32_t i, const struct bp_lcl_admitted *a)
{
	const struct bp_lcl_flow *f = &bp_config_lcl(c)->rules.flow[i];
	const struct bp_lcl_port *p = &bp_config_lcl(c)->port[f->out];
	const int64_t budget = (int64_t)f->budget_ns;
	const double turn = (double)p->rate_bps * (double)p->tau_ns / 8e9;
	char full[32];

	snprintf(full, sizeof(full), "%.0f%%", 100 * (double)a->slot_bytes / turn);
	return json_pack("{ss so ss si so so so so ss}", "flow", f->name, "id", json_integer(f->id),
		"output_port", c->port[p->port].name, "hops", (int)f->hops, "latency_budget",
		bp_text_interval(budget), "min", bp_text_interval(budget + a->early_ns), "max",
		bp_text_interval(budget + a->late_ns), "jitter",
		bp_text_interval(a->late_ns - a->early_ns), "slot_load", full);
}

static json_t *promises(const struct bp_config *c)
{
	struct bp_lcl_admitted admitted[BP_LCL_FLOWS_MAX];
	json_t *rows = json_array();

	bp_config_lcl_admit(c, admitted);
	for (uint32_t i = 0; i < bp_config_lcl(c)->rules.n_flows; i++)
		json_array_append_new(rows, json_admission(c, i, &admitted[i]));
	return rows;
}

static void print_promises(const json_t *rows)
{
	static const struct bp_column columns[] = {
		{"flow", "FLOW", 0},
		{"id", "ID", 1},
		{"output_port", "OUTPUT-PORT", 0},
		{"hops", "HOPS", 1},
		{"latency_budget", "BUDGET", 1},
		{"min", "MIN", 1},
		{"max", "MAX", 1},
		{"jitter", "JITTER", 1},
		{"slot_load", "SLOT-LOAD", 1},
		{NULL, NULL, 0},
	};

	fputs("\nlcl: bounds of the queueing delay end to end, if flows keep to rate and burst\n",
		stdout);
	bp_table_print(stdout, columns, rows, "");
}

/* ---- roles of the ports ---- */

static const struct bp_config_bridge *bridge_of(const struct bp_config *c, unsigned port)
{
	for (unsigned b = 0; b < c->n_bridges; b++)
		for (unsigned i = 0; i < c->bridge[b].n; i++)
			if (c->bridge[b].port[i] == port)
				return &c->bridge[b];
	return NULL;
}

/* "bridge line-1", or "routed". */
static json_t *role_of(const struct bp_config *c, unsigned port)
{
	const struct bp_config_bridge *b = bridge_of(c, port);

	return b != NULL ? json_sprintf("bridge %s", b->name) : json_string("routed");
}

static json_t *addresses_of(const struct bp_config_interface *i)
{
	json_t *list = json_array();
	char text[BP_ADDRESS_TEXT];

	for (uint32_t k = 0; k < i->n_addresses; k++)
		json_array_append_new(
			list, json_sprintf("%s/%u", bp_address_text(&i->address[k].address, text),
				      i->address[k].length));
	return list;
}

/* The host interface of a routed port or bridge, or null. */
static json_t *host_interface_of(const struct bp_config_interface *i)
{
	return i->backend != BP_BACKEND_OFF ? json_string(i->kernel_name) : json_null();
}

static json_t *ports_of(const struct bp_config *c)
{
	json_t *rows = json_array();

	for (unsigned p = 0; p < c->n_ports; p++)
		json_array_append_new(
			rows, json_pack("{ss ss so so so}", "port", c->port[p].name, "device",
				      c->port[p].device, "role", role_of(c, p), "addresses",
				      addresses_of(&c->port[p].interface), "host_interface",
				      host_interface_of(&c->port[p].interface)));
	for (unsigned b = 0; b < c->n_bridges; b++)
		if (c->bridge[b].has_host_interface)
			json_array_append_new(
				rows, json_pack("{ss sn ss so so}", "port", c->bridge[b].name,
					      "device", "role", "bridge", "addresses",
					      addresses_of(&c->bridge[b].host_interface),
					      "host_interface",
					      host_interface_of(&c->bridge[b].host_interface)));
	return rows;
}

static void print_ports(const json_t *ports)
{
	static const struct bp_column columns[] = {{"port", "PORT", 0}, {"role", "ROLE", 0},
		{"text", "ADDRESSES", 0}, {"host_interface", "HOST-INTERFACE", 0},
		{"device", "DEVICE", 0}, {NULL, NULL, 0}};
	json_t *rows = json_deep_copy(ports), *row, *address;
	size_t i, k;

	json_array_foreach(rows, i, row)
	{
		char text[1024] = "";
		size_t len = 0;

		json_array_foreach(json_object_get(row, "addresses"), k,
			address) if (len < sizeof(text)) len += (size_t)snprintf(text + len,
			sizeof(text) - len, "%s%s", k > 0 ? ", " : "", json_string_value(address));
		json_object_set_new(row, "text", len > 0 ? json_string(text) : json_null());
	}
	bp_table_print(stdout, columns, rows, "");
	json_decref(rows);
}

/* ---- the file ---- */

struct file {
	char *text;
	size_t len;
	struct bp_config *config; /* NULL: the file has errors */
};

/* Errors are printed to `errors`. */
static void load(const char *path, struct file *f, FILE *errors)
{
	char err[1024];

	*f = (struct file){.text = NULL};
	f->text = bp_config_read_file(path, &f->len, errors);
	if (f->text != NULL)
		f->config = bp_config_parse_file(path, f->text, f->len, errors);
	if (f->config == NULL ||
		(bp_publisher_check(bp_config_mqtt(f->config), err, sizeof(err)) == 0 &&
			bp_config_phd_allow_check(bp_config_phd(f->config), err, sizeof(err)) ==
				0 &&
			bp_monitor_secrets_check(&f->config->monitoring, err, sizeof(err)) == 0))
		return;
	fprintf(errors, "%s: %s\n", path, err);
	bp_config_free(f->config);
	f->config = NULL;
}

static void release(struct file *f)
{
	bp_config_free(f->config);
	free(f->text);
}

/* ---- defaults ---- */

static bool begins_with(const char *path, const char *section)
{
	return strncmp(path, section, strlen(section)) == 0;
}

/* Returns whether a default affects this gateway: the file has its section, or the setting applies
 * without a section. */
static bool applies(const struct bp_config *c, const struct bp_config_default *d)
{
	if (d->in_section || strchr(d->setting, '.') == NULL || begins_with(d->setting, "runtime."))
		return true;
	return bp_config_routes(c) &&
	       (begins_with(d->setting, "routing.") || begins_with(d->setting, "netlink."));
}

struct defaults {
	const struct bp_config *c;
	json_t *list; /* of those that are printed, each setting of a list once; or of all */
	bool all;
};

static const char *setting_of(const json_t *list, size_t i)
{
	return json_string_value(json_object_get(json_array_get(list, i), "setting"));
}

static bool is_listed(const json_t *list, const char *setting)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(setting_of(list, i), setting) == 0)
			return true;
	return false;
}

static void add_default(const struct bp_config_default *d, void *arg)
{
	struct defaults *all = arg;
	const char *name = all->all ? d->path : d->setting;

	if (!all->all && (!d->main || !applies(all->c, d) || is_listed(all->list, d->setting)))
		return;
	json_array_append_new(all->list, json_pack("{ss ss}", "setting", name, "value", d->value));
}

/* The settings that the file does not give: all, or those to print. */
static json_t *defaults_of(const struct file *f, bool all)
{
	struct defaults defaults = {.c = f->config, .list = json_array(), .all = all};

	bp_config_defaults(f->config, f->text, f->len, add_default, &defaults);
	return defaults.list;
}

static void print_defaults(const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	fputs("\ndefaults of main settings that the file does not give (all: --json)\n", stdout);
	for (size_t i = 0; i < json_array_size(list); i++)
		printf("%s: %s (default)\n", setting_of(list, i),
			json_string_value(json_object_get(json_array_get(list, i), "value")));
}

/* ---- the check ---- */

static int check(const char *path)
{
	struct file f;
	json_t *rows;

	load(path, &f, stderr);
	if (f.config == NULL) {
		release(&f);
		return BP_EX_CONFIG;
	}
	print_ok(path, f.config);
	rows = ports_of(f.config);
	print_ports(rows);
	json_decref(rows);
	rows = defaults_of(&f, false);
	print_defaults(rows);
	json_decref(rows);
	if (bp_config_lcl(f.config)->rules.n_flows != 0) {
		rows = promises(f.config);
		print_promises(rows);
		json_decref(rows);
	}
	release(&f);
	return BP_EX_OK;
}

static int check_json(const char *path)
{
	json_t *messages = json_array(), *view;
	char *text = NULL, *rest, *line;
	size_t len = 0;
	FILE *errors = open_memstream(&text, &len);
	struct file f;
	bool ok;

	if (errors == NULL)
		return BP_EX_OSERR;
	load(path, &f, errors);
	fclose(errors);
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0')
		json_array_append_new(messages, json_string(line));
	free(text);
	ok = f.config != NULL;
	view = json_pack("{ss sb so so so so}", "file", path, "ok", ok, "messages", messages,
		"ports", ok ? ports_of(f.config) : json_array(), "defaults",
		ok ? defaults_of(&f, true) : json_array(), "lcl_flows",
		ok ? promises(f.config) : json_array());
	bp_print_json_new(view, false, stdout);
	release(&f);
	return ok ? BP_EX_OK : BP_EX_CONFIG;
}

static int check_main(const struct bp_cli_command *command, int argc, char **argv)
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
	return json ? check_json(path) : check(path);
}

const struct bp_cli_command bp_cmd_config_check = {
	.name = "config check",
	.summary = "validate a configuration file",
	.synopsis = "-c FILE [--json]",
	.text = "Validates FILE and the files that it names (allow list, passwords, TLS), and\n"
		"prints each error on one line: FILE:LINE:COLUMN, value found, value expected.\n"
		"For a valid file, the command prints the role of each port, the main settings\n"
		"that the file does not give, with their defaults, and the delay bounds of the\n"
		"flows in lcl.flows. It rejects a flow if the ports cannot guarantee its bounds.\n"
		"With --json, it lists all defaults. The command does not contact a running\n"
		"instance. Exits with 0 if the file is valid, with 78 if not.",
	.example = "  biplane config check -c /etc/biplane/plant.yaml",
	.options = options,
	.main = check_main,
};
