/* SPDX-License-Identifier: BSD-3-Clause */
/* The one user-facing command: finds the subcommand and hands over. */
#include <stdio.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"

static const struct bp_cli_command *const commands[] = {
	&bp_cmd_run,
	&bp_cmd_dataplane,
	&bp_cmd_controlplane,
	&bp_cmd_check,
	&bp_cmd_doctor,
	&bp_cmd_replay,
	&bp_cmd_status,
	&bp_cmd_show,
	&bp_cmd_reload,
	&bp_cmd_sessions,
	&bp_cmd_matrix,
	&bp_cmd_transform,
	&bp_cmd_privileges,
	&bp_cmd_clean,
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("Usage: biplane SUBCOMMAND [OPTION]...\n\n"
	      "A gateway between IoT devices and the rest of the network: it reads the MQTT\n"
	      "publications that pass through it and raises alarms before they leave the "
	      "building.\n\n"
	      "Subcommands:\n",
		out);
	for (unsigned i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-14s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nOptions:\n"
	      "  -h, --help     print this and end\n"
	      "  -V, --version  print the version and end\n\n"
	      "'biplane SUBCOMMAND --help' explains a subcommand; the manual is biplane(1), the\n"
	      "configuration file is described in biplane.yaml(5).\n\n"
	      "Example:\n"
	      "  biplane check -c plant.yaml && biplane run -c plant.yaml\n",
		out);
}

static int unknown(const char *word)
{
	const char *names[N_COMMANDS];

	for (unsigned i = 0; i < N_COMMANDS; i++)
		names[i] = commands[i]->name;

	const char *guess = bp_cli_suggest(word, names, N_COMMANDS);

	fprintf(stderr, "biplane: there is no %s '%s'", word[0] == '-' ? "option" : "subcommand",
		word);
	if (guess)
		fprintf(stderr, "; did you mean '%s'?", guess);
	fputs("\nSee 'biplane --help'.\n", stderr);
	return BP_EX_USAGE;
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		help(stderr);
		return BP_EX_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help(stdout);
		return BP_EX_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("biplane " BP_VERSION);
		return BP_EX_OK;
	}
	for (unsigned i = 0; i < N_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i]->name))
			return commands[i]->main(commands[i], argc - 1, argv + 1);
	return unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	/* a full disk must not look like a success */
	if (fflush(stdout) || ferror(stdout)) {
		fputs("biplane: the output could not be written\n", stderr);
		return status ? status : BP_EX_IOERR;
	}
	return status;
}
