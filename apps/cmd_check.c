/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "apps/commands.h"
#include "apps/exit_status.h"
#include "config/config.h"

enum { OPT_DUMP = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file to check"},
	{OPT_DUMP, "dump", NULL, "print every setting with the value in force, defaults included"},
	{0, NULL, NULL, NULL},
};

static void say_ok(const char *path, const struct bp_config *c)
{
	printf("%s: ok: %u port%s, %u bridge%s, %u rule%s", path, c->n_ports,
		c->n_ports == 1 ? "" : "s", c->n_bridges, c->n_bridges == 1 ? "" : "s",
		c->mqtt.n_rules, c->mqtt.n_rules == 1 ? "" : "s");
	if (bp_config_aggregates(c))
		printf(", entries of aggregate: %u, of disaggregate: %u", c->agg.n_aggregate,
			c->agg.n_disaggregate);
	if (bp_config_transforms(c))
		printf(", entries of transform: %u, with %u receiver%s", c->transform.n_rules,
			c->transform.n_receivers, c->transform.n_receivers == 1 ? "" : "s");
	putchar('\n');
}

static int check(const char *path, bool dump)
{
	struct bp_config *c = bp_config_load(path, stderr);
	char err[1024];

	if (!c)
		return BP_EX_CONFIG;
	if (bp_config_phd_allow_check(&c->phd, err, sizeof(err))) {
		fprintf(stderr, "%s: %s\n", path, err);
		bp_config_free(c);
		return BP_EX_CONFIG;
	}
	if (dump)
		bp_config_dump(c, stdout);
	else
		say_ok(path, c);
	bp_config_free(c);
	return BP_EX_OK;
}

static int check_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const char *path = NULL;
	bool dump = false;
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == 'c')
			path = cli.value;
		else if (key == OPT_DUMP)
			dump = true;
		else
			return cli.status;
	}
	if (bp_cli_no_operands(&cli))
		return BP_EX_USAGE;
	if (!path)
		return bp_cli_usage_error(command, "-c FILE is missing: which configuration?");
	return check(path, dump);
}

const struct bp_cli_command bp_cmd_check = {
	.name = "check",
	.summary = "validate a configuration file",
	.synopsis = "-c FILE [--dump]",
	.text = "Reads and validates FILE whole and prints every error it has, one a line:\n"
		"FILE:LINE:COLUMN: what is wrong; what was expected. Reads what phd.allow_file\n"
		"names, too. Touches nothing that runs.\n"
		"Exits with 0 when the file is right, with 78 when it is not.",
	.example = "  biplane check -c /etc/biplane/plant.yaml",
	.options = options,
	.main = check_main,
};
