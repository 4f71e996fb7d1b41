/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CLI_H
#define BP_APPS_BIPLANE_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A command: one table of options from which the parser, --help, the manual pages and the
 * completion of shells derive. A group has commands below it instead.
 */
struct bp_cli_option {
	int key; /* the short letter, or a number from BP_CLI_LONG for a long-only option */
	const char *name; /* long name; NULL ends the table */
	const char *arg;  /* name of its argument, or NULL without one */
	const char *help; /* NULL: not shown (options for the build, not for people) */
};
#define BP_CLI_LONG 256
#define BP_CLI_OPTIONS_MAX 24

struct bp_cli_command {
	const char *name;                    /* all its words: "config check"; "" is the root */
	const char *summary;                 /* one line, for the list of commands; NULL: hidden */
	const char *synopsis;                /* arguments after the name */
	const char *text;                    /* a paragraph or two; lines are broken already */
	const char *example;                 /* one or more lines */
	const struct bp_cli_option *options; /* --help is added to them */
	bool takes_rest;                     /* the arguments after "--" are for EAL */
	int (*main)(const struct bp_cli_command *command, int argc, char **argv);
	const struct bp_cli_command *const *children; /* of a group, NULL ends them; else NULL */
	/* Writes the words that may follow `n` operands, a line each. NULL: file names. */
	void (*complete)(int n, char **operands, FILE *out);
};

/* The walk over one command line. */
struct bp_cli {
	const struct bp_cli_command *command;
	int argc; /* up to "--" if the command takes a rest */
	char **argv;
	int rest_argc;
	char **rest;
	const char *value; /* of the option just returned */
	int status;        /* exit status once bp_cli_next() has returned BP_CLI_STOP */
	char title[64];    /* "biplane run", in front of getopt's messages */
};

#define BP_CLI_END (-1)
#define BP_CLI_STOP (-2) /* --help was printed, or an error was: return status */

void bp_cli_begin(struct bp_cli *c, const struct bp_cli_command *command, int argc, char **argv);
/* The key of the next option, BP_CLI_END after the last, or BP_CLI_STOP. */
int bp_cli_next(struct bp_cli *c);
/* The words that are no options, after BP_CLI_END. */
int bp_cli_operands(const struct bp_cli *c, char ***operands);
/* Prints "biplane NAME: ..." and a reference to --help; returns BP_EX_USAGE. */
int bp_cli_usage_error(const struct bp_cli_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints "biplane NAME: ..."; returns `status`. */
int bp_cli_fail(const struct bp_cli_command *command, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void bp_cli_help(const struct bp_cli_command *command, FILE *out);
/* Refuses every operand; 0 or BP_EX_USAGE. */
int bp_cli_no_operands(const struct bp_cli *c);

/* Refuses every operand, and that -c named no file; 0 or BP_EX_USAGE. */
int bp_cli_just_config(const struct bp_cli *c, const char *path);
/* The same for a command whose only option is -c FILE. False: the command ends with *status. */
bool bp_cli_read_config(const struct bp_cli_command *command, int argc, char **argv,
	const char **path, int *status);

/* A decimal number in min..max; whether `text` is one. */
bool bp_cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* Splits NAME=VALUE, a word of the command line, in place; false if it has another form. */
bool bp_cli_split(const char *word, const char **name, const char **value);

/* Whole seconds, minutes or hours ("90s", "10m", "1h") from min_s to max_s seconds, as ns; whether
 * `text` is such a duration. */
bool bp_cli_duration(const char *text, uint64_t min_s, uint64_t max_s, uint64_t *ns);

/* The candidate that `word` was probably meant to be, or NULL. */
const char *bp_cli_suggest(const char *word, const char *const *candidates, unsigned n);

#endif
