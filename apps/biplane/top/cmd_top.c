/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/top/screen.h"
#include "apps/biplane/which.h"

enum { OPT_BATCH = BP_CLI_LONG, OPT_SORT, OPT_REVERSE, OPT_ROWS };

#define DELAY_MAX_S 3600
#define ROWS_DEFAULT 20

static const struct bp_cli_option options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{'d', "delay", "SECONDS", "time between two refreshes (1; 1 to 3600)"},
	{'n', "iterations", "N", "end after N refreshes; 0: until it is interrupted (0)"},
	{'s', "section", "SECTION",
		"ports, workers, rules, connections or nodes (ports; with --batch: all)"},
	{OPT_SORT, "sort", "COLUMN", "with --section: sort by this column, such as RX-BIT/S"},
	{OPT_REVERSE, "reverse", NULL, "smallest numbers first"},
	{OPT_BATCH, "batch", NULL, "plain text for scripts, without keys"},
	{OPT_ROWS, "rows", "N", "with --batch: at most N rows of each table (20; 1 to 1000)"},
	{0, NULL, NULL, NULL},
};

struct command {
	const struct bp_cli_command *command;
	const char *path, *name, *sort;
	bool batch, reverse;
	struct bp_top_options o;
};

/* All sections, or the selected one. */
static void print_batch(struct bp_top *t, const struct bp_top_options *o, FILE *out)
{
	char header[BP_TOP_HEADER][BP_TOP_LINE], line[BP_TOP_LINE];
	const unsigned n = bp_top_header(t, header);

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s\n", header[i]);
	for (unsigned s = 0; s < BP_TOP_SECTIONS; s++) {
		unsigned width[BP_TOP_COLUMNS];
		struct bp_top_table table = {0};

		if (o->section >= 0 && s != (unsigned)o->section)
			continue;
		bp_top_table_fill(t, s, &o->order[s], o->rows, &table);
		fprintf(out, "\n%s: %" PRIu64 "%s%s\n", bp_top_section[s].name, table.total,
			table.note[0] != '\0' ? "; " : "", table.note);
		bp_top_widths(s, &table, 0, o->rows, width);
		bp_top_line(s, NULL, width, &o->order[s], line);
		fprintf(out, "%s\n", line);
		for (uint32_t r = 0; r < table.n && r < o->rows; r++) {
			bp_top_line(s, &table.row[r], width, NULL, line);
			fprintf(out, "%s\n", line);
		}
		bp_top_table_free(&table);
	}
}

static int batch(struct bp_top *t, const struct bp_top_options *o)
{
	for (uint64_t i = 0; o->n == 0 || i < o->n; i++) {
		sleep(o->delay_s);
		bp_top_refresh(t);
		if (i != 0)
			putchar('\n');
		print_batch(t, o, stdout);
		if (fflush(stdout) != 0)
			return BP_EX_IOERR;
	}
	return BP_EX_OK;
}

static int find_section(const struct bp_cli_command *command, const char *word)
{
	const char *names[BP_TOP_SECTIONS], *guess;

	for (int s = 0; s < BP_TOP_SECTIONS; s++) {
		names[s] = bp_top_section[s].name;
		if (strcmp(word, names[s]) == 0)
			return s;
	}
	guess = bp_cli_suggest(word, names, BP_TOP_SECTIONS);
	bp_cli_usage_error(command, "unknown section '%s'%s%s%s", word,
		guess ? "; did you mean '"
		      : "; expected ports, workers, rules, connections or nodes",
		guess ? guess : "", guess ? "'?" : "");
	return -1;
}

/* --sort and --reverse; 0, or an exit status. */
static int set_order(struct command *c)
{
	const struct bp_top_column *columns;
	char names[512] = "";
	size_t len = 0;

	for (unsigned s = 0; s < BP_TOP_SECTIONS; s++)
		c->o.order[s] = (struct bp_top_order){bp_top_section[s].column, c->reverse};
	if (c->sort == NULL)
		return BP_EX_OK;
	if (c->o.section < 0)
		return bp_cli_usage_error(c->command, "--sort needs --section");
	columns = bp_top_section[c->o.section].columns;
	for (unsigned i = 0; columns[i].heading != NULL; i++) {
		if (strcasecmp(columns[i].heading, c->sort) != 0)
			continue;
		c->o.order[c->o.section].column = i;
		return BP_EX_OK;
	}
	for (unsigned i = 0; columns[i].heading != NULL && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i > 0 ? ", " : "",
			columns[i].heading);
	return bp_cli_usage_error(c->command, "section %s has no column '%s'; expected %s",
		bp_top_section[c->o.section].name, c->sort, names);
}

/* Takes one option; 0, or an exit status. */
static int take_option(struct command *c, int key, const char *value)
{
	uint64_t number;

	switch (key) {
	case 'c':
		c->path = value;
		return 0;
	case 'i':
		c->name = value;
		return 0;
	case 's':
		c->o.section = find_section(c->command, value);
		return c->o.section < 0 ? BP_EX_USAGE : 0;
	case 'd':
		if (!bp_cli_number(value, 1, DELAY_MAX_S, &number))
			return bp_cli_usage_error(c->command,
				"-d %s: a number of seconds from 1 to %d was expected", value,
				DELAY_MAX_S);
		c->o.delay_s = (unsigned)number;
		return 0;
	case 'n':
		if (!bp_cli_number(value, 0, UINT64_MAX, &c->o.n))
			return bp_cli_usage_error(c->command,
				"-n %s: a number from 0 (no limit) was expected", value);
		return 0;
	case OPT_ROWS:
		if (!bp_cli_number(value, 1, BP_TOP_ROWS_MAX, &number))
			return bp_cli_usage_error(c->command,
				"--rows %s: a number from 1 to %u was expected", value,
				BP_TOP_ROWS_MAX);
		c->o.rows = (unsigned)number;
		return 0;
	case OPT_SORT:
		c->sort = value;
		return 0;
	case OPT_REVERSE:
		c->reverse = true;
		return 0;
	default:
		c->batch = true;
		return 0;
	}
}

static int run(struct command *c)
{
	struct bp_top *t = calloc(1, sizeof(*t));
	struct bp_config_instance id;
	int status = bp_which_instance(c->command, c->path, c->name, &id);

	if (status == BP_EX_OK && t == NULL) {
		fputs("biplane top: not enough memory\n", stderr);
		status = BP_EX_SOFTWARE;
	}
	if (status != BP_EX_OK) {
		free(t);
		return status;
	}
	setlocale(LC_CTYPE, "");
	t->id = &id;
	bp_top_refresh(t);
	if (t->samples == 0) {
		fprintf(stderr, "biplane top: %s\n", t->err);
		status = BP_EX_UNAVAILABLE;
	} else {
		status = c->batch ? batch(t, &c->o) : bp_top_screen(t, &c->o);
	}
	bp_top_free(t);
	free(t);
	return status;
}

static int top_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct command c = {
		.command = command, .o = {.delay_s = 1, .section = -1, .rows = ROWS_DEFAULT}};
	struct bp_cli cli;
	int key, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		status = key == BP_CLI_STOP ? cli.status : take_option(&c, key, cli.value);
		if (key == BP_CLI_STOP || status != 0)
			return status;
	}
	if (bp_cli_no_operands(&cli) != 0)
		return BP_EX_USAGE;
	status = set_order(&c);
	if (status != BP_EX_OK)
		return status;
	if (!c.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return bp_cli_usage_error(
			command, "input and output are not a terminal; use --batch");
	return run(&c);
}

const struct bp_cli_command bp_cmd_top = {
	.name = "top",
	.summary = "rates of ports, workers, rules, connections and nodes, live",
	.synopsis = "[-c FILE | -i NAME] [-d SECONDS] [-n N] [--batch] [OPTION]...",
	.text = "Shows the rates of a running instance on the terminal and refreshes them each\n"
		"second: planes, faults, traffic and alarms, and a table of ports, workers,\n"
		"rules, connections or nodes, sorted by any column. Keys: 1 to 5 or Tab: table;\n"
		"< and >: column; r: reverse; space: pause; h: help; q: quit.",
	.example = "  biplane top -i plant\n"
		   "  biplane top -s connections -d 5\n"
		   "  biplane top --batch -n 1 -s ports --sort RX-BIT/S",
	.options = options,
	.main = top_main,
};
