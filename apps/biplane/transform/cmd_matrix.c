/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane matrix set|clear|show`: one matrix of a running instance. */
#include <stdio.h>
#include <string.h>

#include "apps/biplane/ask.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/transform/matrix_list.h"
#include "apps/biplane/transform/matrix_file.h"
#include "proto/transform/transform_matrix.h"

enum { OPT_NAME = BP_CLI_LONG, OPT_ENTRY, OPT_RECEIVER, OPT_ADD, OPT_JSON };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the instance that runs with this configuration file"},
	{OPT_NAME, "name", "NAME", "the instance of this name, in /run/biplane (default: biplane)"},
	{OPT_ENTRY, "entry", "N", "of this entry of transform alone; the first has number 0"},
	{OPT_RECEIVER, "receiver", "N", "of this receiver of the source; default: 0, the first"},
	{OPT_ADD, "add", NULL, "add the source where the entry does not have it"},
	{OPT_JSON, "json", NULL, "show: as one JSON object"},
	{0, NULL, NULL, NULL},
};

struct words {
	const char *path, *name;
	struct bp_prefix source; /* family 0: none is given */
	const char *source_text, *file;
	int64_t entry; /* -1: not given */
	uint64_t receiver;
	bool receiver_given, add, json;
};

static json_t *entry_of(const struct words *w)
{
	return w->entry < 0 ? json_null() : json_integer(w->entry);
}

static int set(const struct bp_cli_command *command, const struct bp_config_instance *id,
	const struct words *w)
{
	double m[12], row[3][4];
	json_t *reply = NULL;
	json_int_t n;
	/* whether it may flatten space, the entry says */
	int status =
		bp_matrix_file_read(strcmp(w->file, "-") == 0 ? "/dev/stdin" : w->file, true, m);

	if (status)
		return status;
	bp_transform_matrix_to_rows(m, row);
	status = bp_ask(command, id,
		json_pack("{ss ss so sI sb s[[ffff][ffff][ffff]]}", "command", "matrix-set",
			"source", w->source_text, "entry", entry_of(w), "receiver",
			(json_int_t)w->receiver, "add", (int)w->add, "matrix", row[0][0], row[0][1],
			row[0][2], row[0][3], row[1][0], row[1][1], row[1][2], row[1][3], row[2][0],
			row[2][1], row[2][2], row[2][3]),
		&reply);
	if (status)
		return status;
	n = json_integer_value(json_object_get(reply, "entries"));
	printf("%s has this matrix now, in %" JSON_INTEGER_FORMAT " entr%s of transform\n",
		w->source_text, n, n == 1 ? "y" : "ies");
	json_decref(reply);
	return BP_EX_OK;
}

static int clear(const struct bp_cli_command *command, const struct bp_config_instance *id,
	const struct words *w)
{
	json_t *reply = NULL;
	const int status = bp_ask(command, id,
		json_pack("{ss ss so}", "command", "matrix-clear", "source", w->source_text,
			"entry", entry_of(w)),
		&reply);

	if (status)
		return status;
	printf("%s is as the configuration has it again\n", w->source_text);
	json_decref(reply);
	return BP_EX_OK;
}

static int show(const struct bp_config_instance *id, const struct words *w)
{
	struct bp_instance_view view;
	char err[512];
	int n = -1;

	if (bp_instance_view_open(&view, id, err, sizeof(err)) == 0) {
		n = bp_matrix_list(&view.shm, &w->source, w->json, stdout, err, sizeof(err));
		bp_instance_view_close(&view);
	}
	if (n == 0 && w->source.family != 0) {
		snprintf(err, sizeof(err), "no entry of transform has a source %s", w->source_text);
		n = -1;
	}
	if (n >= 0)
		return BP_EX_OK;
	fprintf(stderr, "biplane matrix: %s\n", err);
	return BP_EX_UNAVAILABLE;
}

/* "set SOURCE FILE", "clear SOURCE" or "show [SOURCE]"; 0, or an exit status. */
static int check_words(const struct bp_cli_command *command, int n, char **words, struct words *w)
{
	const char *what = n > 0 ? words[0] : "";
	const bool sets = strcmp(what, "set") == 0, clears = strcmp(what, "clear") == 0;
	bool has_length;

	if (!sets && !clears && strcmp(what, "show") != 0)
		return bp_cli_usage_error(command,
			"what? 'set SOURCE FILE', 'clear SOURCE' or 'show' was expected%s%s%s",
			n ? ", not '" : "", what, n ? "'" : "");
	if (n == 1 && (sets || clears))
		return bp_cli_usage_error(command, "%s of whom? The source is missing", what);
	if (n == 2 && sets)
		return bp_cli_usage_error(
			command, "set to what? The file is missing; - is standard input");
	if (n > (sets ? 3 : 2))
		return bp_cli_usage_error(command, "unexpected argument '%s'", words[n - 1]);
	if (n > 1 && !bp_text_to_prefix(words[1], &w->source, &has_length))
		return bp_cli_usage_error(
			command, "'%s' is neither an address nor a prefix", words[1]);
	if (!sets && (w->receiver_given || w->add))
		return bp_cli_usage_error(command, "--receiver and --add are of 'set'");
	if (w->json && (sets || clears))
		return bp_cli_usage_error(command, "--json is of 'show'");
	if (w->entry >= 0 && !sets && !clears)
		return bp_cli_usage_error(command, "--entry is of 'set' and 'clear'");
	w->source_text = n > 1 ? words[1] : NULL;
	w->file = sets ? words[2] : NULL;
	return BP_EX_OK;
}

/* 0, or an exit status. */
static int read_option(
	const struct bp_cli_command *command, int key, const char *value, struct words *w)
{
	uint64_t number = 0;

	switch (key) {
	case 'c':
		w->path = value;
		break;
	case OPT_NAME:
		w->name = value;
		break;
	case OPT_ADD:
		w->add = true;
		break;
	case OPT_JSON:
		w->json = true;
		break;
	default:
		if (!bp_cli_number(value, 0,
			    key == OPT_ENTRY ? BP_TRANSFORM_RULES_MAX - 1
					     : BP_TRANSFORM_RECEIVERS_MAX - 1,
			    &number))
			return bp_cli_usage_error(command, "--%s: '%s' is no number from 0 to %u",
				key == OPT_ENTRY ? "entry" : "receiver", value,
				key == OPT_ENTRY ? BP_TRANSFORM_RULES_MAX - 1
						 : BP_TRANSFORM_RECEIVERS_MAX - 1);
		if (key == OPT_ENTRY)
			w->entry = (int64_t)number;
		else
			w->receiver = number, w->receiver_given = true;
	}
	return BP_EX_OK;
}

static int matrix_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct words w = {.entry = -1};
	struct bp_config_instance id;
	struct bp_cli cli;
	char **words;
	int key, n, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		status = key == BP_CLI_STOP ? cli.status : read_option(command, key, cli.value, &w);
		if (key == BP_CLI_STOP || status)
			return status;
	}
	n = bp_cli_operands(&cli, &words);
	status = check_words(command, n, words, &w);
	if (status == BP_EX_OK)
		status = bp_ask_whom(command, w.path, w.name, &id);
	if (status != BP_EX_OK)
		return status;
	if (strcmp(words[0], "set") == 0)
		return set(command, &id, &w);
	return strcmp(words[0], "clear") == 0 ? clear(command, &id, &w) : show(&id, &w);
}

const struct bp_cli_command bp_cmd_matrix = {
	.name = "matrix",
	.summary = "set, clear and show matrices of coordinate transformation",
	.synopsis = "set SOURCE FILE|-  |  clear SOURCE  |  show [SOURCE]",
	.text = "Changes the matrix of one source (an address or prefix, as the configuration has\n"
		"it) in a running instance: each reading is transformed with the whole old or "
		"the\n"
		"whole new matrix. FILE has three rows of four numbers, of which the fourth is "
		"the\n"
		"translation. What was set stays over reload and restart of either plane; clear\n"
		"brings back what the configuration says, and removes a source that was added.\n"
		"Without --entry the matrix is set in every entry of transform with that source.",
	.example = "  biplane matrix set 10.0.0.5 frame.yaml --name plant\n"
		   "  biplane matrix set 10.0.0.77 - --entry 0 --add < frame.yaml\n"
		   "  biplane matrix show --json",
	.options = options,
	.main = matrix_main,
};
