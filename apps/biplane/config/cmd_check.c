/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "config/aggregation/settings.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/show/lcl/lcl_text.h"
#include "apps/biplane/table.h"
#include "config/config.h"
#include "config/mqtt/settings.h"
#include "config/health/settings.h"
#include "config/transform/settings.h"
#include "config/lcl/settings.h"
#include "controlplane/alarms/publisher.h"

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file to check"},
	{0, NULL, NULL, NULL},
};

static void say_ok(const char *path, const struct bp_config *c)
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

/* What lcl promises to a flow, and what it rests on. */
static json_t *promise(const struct bp_config *c, uint32_t i, const struct bp_lcl_admitted *a)
{
	const struct bp_lcl_flow *f = &bp_config_lcl(c)->rules.flow[i];
	const struct bp_lcl_port *p = &bp_config_lcl(c)->port[f->out];
	const int64_t budget = (int64_t)f->budget_ns;
	const double turn = (double)p->rate_bps * (double)p->tau_ns / 8e9;
	char full[32];

	snprintf(full, sizeof(full), "%.0f%%", 100 * (double)a->slot_octets / turn);
	return json_pack("{ss so ss si so so so so ss}", "flow", f->name, "id", json_integer(f->id),
		"out", c->port[p->port].name, "hops", (int)f->hops, "budget",
		bp_lcl_time_text(budget), "least", bp_lcl_time_text(budget + a->early_ns), "most",
		bp_lcl_time_text(budget + a->late_ns), "jitter",
		bp_lcl_time_text(a->late_ns - a->early_ns), "turn", full);
}

/* The delays that follow from lcl.flows. */
static void say_promises(const struct bp_config *c)
{
	static const struct bp_column columns[] = {
		{"flow", "FLOW", 0},
		{"id", "ID", 1},
		{"out", "OUT", 0},
		{"hops", "HOPS", 1},
		{"budget", "BUDGET", 1},
		{"least", "LEAST", 1},
		{"most", "MOST", 1},
		{"jitter", "JITTER", 1},
		{"turn", "OF-A-TURN", 1},
		{NULL, NULL, 0},
	};
	struct bp_lcl_admitted admitted[BP_LCL_FLOWS_MAX];
	json_t *rows = json_array();

	bp_config_lcl_admit(c, admitted);
	for (uint32_t i = 0; i < bp_config_lcl(c)->rules.n_flows; i++)
		json_array_append_new(rows, promise(c, i, &admitted[i]));
	fputs("\nlcl: queueing delay end to end, with flows as they are said to be\n", stdout);
	bp_table_print(stdout, columns, rows, "");
	json_decref(rows);
}

static int check(const char *path)
{
	struct bp_config *c = bp_config_load(path, stderr);
	char err[1024];

	if (!c)
		return BP_EX_CONFIG;
	if (bp_publisher_check(bp_config_mqtt(c), err, sizeof(err)) ||
		bp_config_phd_allow_check(bp_config_phd(c), err, sizeof(err))) {
		fprintf(stderr, "%s: %s\n", path, err);
		bp_config_free(c);
		return BP_EX_CONFIG;
	}
	say_ok(path, c);
	if (bp_config_lcl(c)->rules.n_flows != 0)
		say_promises(c);
	bp_config_free(c);
	return BP_EX_OK;
}

static int check_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL;
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		path = cli.value;
	}
	if (bp_cli_just_config(&cli, path))
		return BP_EX_USAGE;
	return check(path);
}

const struct bp_cli_command bp_cmd_config_check = {
	.name = "config check",
	.summary = "validate a configuration file",
	.synopsis = "-c FILE",
	.text = "Reads FILE, and the files that it names (allow list, passwords, TLS), and prints\n"
		"every error, one a line: FILE:LINE:COLUMN, what was found, what was expected.\n"
		"Prints the delay bounds of the flows in lcl.flows, and rejects flows whose\n"
		"bounds the ports can't guarantee. Does not contact a running instance.\n"
		"Exits with 0 if the file is valid, with 78 if not.",
	.example = "  biplane config check -c /etc/biplane/plant.yaml",
	.options = options,
	.main = check_main,
};
