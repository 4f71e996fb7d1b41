/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane help [COMMAND]` and `biplane version`. */
#include <stddef.h>

#include "apps/biplane/print_json.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/dispatch.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/pager.h"

static const struct bp_cli_option no_options[] = {{0, NULL, NULL, NULL}};

static int help_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const struct bp_cli_command *c = &bp_cmd_root;
	struct bp_cli cli;
	char **words;
	int n;

	bp_cli_begin(&cli, command, argc, argv);
	if (bp_cli_next(&cli) == BP_CLI_STOP)
		return cli.status;
	n = bp_cli_operands(&cli, &words);
	for (int i = 0; i < n; i++) {
		if (c->children == NULL)
			return bp_cli_usage_error(command, "unexpected argument '%s'", words[i]);
		c = bp_cli_child(c, words[i]);
		if (c == NULL)
			return BP_EX_USAGE;
	}
	bp_pager_begin();
	if (c->children == NULL) {
		/* calls the command itself: some generate their help at run time */
		char *help[] = {"", "--help", NULL};

		return c->main(c, 2, help);
	}
	bp_cli_help(c, stdout);
	return BP_EX_OK;
}

static void complete(int n, char **operands, FILE *out)
{
	const struct bp_cli_command *c = &bp_cmd_root;

	for (int i = 0; c != NULL && c->children != NULL && i < n; i++)
		c = bp_cli_child(c, operands[i]);
	for (unsigned i = 0; c != NULL && c->children != NULL && c->children[i] != NULL; i++)
		if (c->children[i]->summary != NULL)
			fprintf(out, "%s\t%s\n", bp_cli_word(c->children[i]),
				c->children[i]->summary);
}

const struct bp_cli_command bp_cmd_help = {
	.name = "help",
	.summary = "explain a command",
	.synopsis = "[COMMAND]",
	.text = "Prints the output of COMMAND --help. Without COMMAND, it prints the list of\n"
		"commands.",
	.example = "  biplane help config check",
	.options = no_options,
	.main = help_main,
	.complete = complete,
};

enum { OPT_JSON = BP_CLI_LONG };

static const struct bp_cli_option version_options[] = {
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

static int version_main(const struct bp_cli_command *command, int argc, char **argv)
{
	bool json = false;
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP)
			return cli.status;
		json = true;
	}
	if (bp_cli_no_operands(&cli))
		return BP_EX_USAGE;
	if (json)
		bp_print_json_new(json_pack("{ss}", "version", BP_VERSION), false, stdout);
	else
		puts("biplane " BP_VERSION);
	return BP_EX_OK;
}

const struct bp_cli_command bp_cmd_version = {
	.name = "version",
	.summary = "print the version",
	.synopsis = "[--json]",
	.text = "Prints the version of this program.",
	.example = "  biplane version",
	.options = version_options,
	.main = version_main,
};
