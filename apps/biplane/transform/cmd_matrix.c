/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane transform matrix set|clear|list`: the matrices of a running instance. */
#include <stdio.h>
#include <string.h>

#include "apps/biplane/request.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/show/fib_text.h"
#include "apps/biplane/show/transform/matrix_list.h"
#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/transform/matrix_file.h"
#include "apps/biplane/which.h"
#include "proto/transform/transform_matrix.h"

enum { OPT_ENTRY = BP_CLI_LONG, OPT_RECEIVER, OPT_ADD, OPT_JSON };

#define OPTION_ENTRY                                                                               \
	{                                                                                          \
		OPT_ENTRY, "entry", "N", "only in this entry of transform.entries, from 0"         \
	}

static const struct bp_cli_option set_options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	OPTION_ENTRY,
	{OPT_RECEIVER, "receiver", "N", "this receiver of the source, from 0; default: 0"},
	{OPT_ADD, "add", NULL, "add the source to the entry if it is missing"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};
static const struct bp_cli_option clear_options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	OPTION_ENTRY,
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};
static const struct bp_cli_option list_options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

struct words {
	const char *path, *name;
	struct bp_prefix source; /* family 0: none is given */
	const char *source_text, *file;
	int64_t entry; /* -1: not given */
	uint64_t receiver;
	bool add, json;
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
	status = bp_request(command, id,
		json_pack("{ss ss so sI sb s[[ffff][ffff][ffff]]}", "command", "matrix-set",
			"source", w->source_text, "entry", entry_of(w), "receiver",
			(json_int_t)w->receiver, "add", (int)w->add, "matrix", row[0][0], row[0][1],
			row[0][2], row[0][3], row[1][0], row[1][1], row[1][2], row[1][3], row[2][0],
			row[2][1], row[2][2], row[2][3]),
		&reply);
	if (status)
		return status;
	n = json_integer_value(json_object_get(reply, "entries"));
	if (w->json)
		bp_print_json_new(json_pack("{ss sI}", "source", w->source_text, "entries", n),
			false, stdout);
	else
		printf("%s: matrix set in %" JSON_INTEGER_FORMAT " entr%s of transform\n",
			w->source_text, n, n == 1 ? "y" : "ies");
	json_decref(reply);
	return BP_EX_OK;
}

static int clear(const struct bp_cli_command *command, const struct bp_config_instance *id,
	const struct words *w)
{
	json_t *reply = NULL;
	const int status = bp_request(command, id,
		json_pack("{ss ss so}", "command", "matrix-clear", "source", w->source_text,
			"entry", entry_of(w)),
		&reply);

	if (status)
		return status;
	if (w->json)
		bp_print_json_new(json_pack("{ss}", "source", w->source_text), false, stdout);
	else
		printf("%s: matrix of the configuration restored\n", w->source_text);
	json_decref(reply);
	return BP_EX_OK;
}

static int list(const struct bp_config_instance *id, const struct words *w)
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
	fprintf(stderr, "biplane transform matrix list: %s\n", err);
	return BP_EX_UNAVAILABLE;
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
	case 'i':
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
			return bp_cli_usage_error(command,
				"--%s: '%s' is not a number from 0 to %u",
				key == OPT_ENTRY ? "entry" : "receiver", value,
				key == OPT_ENTRY ? BP_TRANSFORM_RULES_MAX - 1
						 : BP_TRANSFORM_RECEIVERS_MAX - 1);
		if (key == OPT_ENTRY)
			w->entry = (int64_t)number;
		else
			w->receiver = number;
	}
	return BP_EX_OK;
}

/* Reads the options, SOURCE and with `max` 2 FILE; finds the instance. 0, or an exit status. */
static int read_line(const struct bp_cli_command *command, int argc, char **argv, int min, int max,
	struct words *w, struct bp_config_instance *id)
{
	struct bp_cli cli;
	bool has_length;
	char **words;
	int key, n, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		status = key == BP_CLI_STOP ? cli.status : read_option(command, key, cli.value, w);
		if (key == BP_CLI_STOP || status)
			return key == BP_CLI_STOP && status == BP_EX_OK ? -1 : status;
	}
	n = bp_cli_operands(&cli, &words);
	if (n < min)
		return bp_cli_usage_error(command,
			n == 0 ? "missing argument SOURCE: an address or prefix"
			       : "missing argument FILE: the matrix; - reads standard input");
	if (n > max)
		return bp_cli_usage_error(command, "unexpected argument '%s'", words[max]);
	if (n > 0 && !bp_text_to_prefix(words[0], &w->source, &has_length))
		return bp_cli_usage_error(
			command, "'%s' is neither an address nor a prefix", words[0]);
	w->source_text = n > 0 ? words[0] : NULL;
	w->file = n > 1 ? words[1] : NULL;
	return bp_which_instance(command, w->path, w->name, id);
}

static int set_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct words w = {.entry = -1};
	struct bp_config_instance id;
	const int status = read_line(command, argc, argv, 2, 2, &w, &id);

	if (status != BP_EX_OK)
		return status < 0 ? BP_EX_OK : status;
	return set(command, &id, &w);
}

static int clear_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct words w = {.entry = -1};
	struct bp_config_instance id;
	const int status = read_line(command, argc, argv, 1, 1, &w, &id);

	if (status != BP_EX_OK)
		return status < 0 ? BP_EX_OK : status;
	return clear(command, &id, &w);
}

static int list_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct words w = {.entry = -1};
	struct bp_config_instance id;
	const int status = read_line(command, argc, argv, 0, 1, &w, &id);

	if (status != BP_EX_OK)
		return status < 0 ? BP_EX_OK : status;
	return list(&id, &w);
}

const struct bp_cli_command bp_cmd_matrix_set = {
	.name = "transform matrix set",
	.summary = "set the matrix of a source",
	.synopsis = "SOURCE FILE|- [OPTION]...",
	.text = "Sets the matrix of SOURCE in a running instance. SOURCE is an address or a\n"
		"prefix of the configuration. FILE contains three rows of four numbers; the\n"
		"fourth column is the translation. Each datagram is transformed with either the\n"
		"old or the new matrix. The matrix stays in effect across reloads and restarts\n"
		"of either plane. Without --entry, the command sets it in every entry that\n"
		"contains the source.",
	.example = "  biplane transform matrix set 10.0.0.5 frame.yaml -i plant\n"
		   "  biplane transform matrix set 10.0.0.77 - --entry 0 --add < frame.yaml",
	.options = set_options,
	.main = set_main,
};

const struct bp_cli_command bp_cmd_matrix_clear = {
	.name = "transform matrix clear",
	.summary = "restore the configured matrix of a source",
	.synopsis = "SOURCE [OPTION]...",
	.text = "Restores the configured matrix of SOURCE, and removes a source that 'transform\n"
		"matrix set --add' added.",
	.example = "  biplane transform matrix clear 10.0.0.5",
	.options = clear_options,
	.main = clear_main,
};

const struct bp_cli_command bp_cmd_matrix_list = {
	.name = "transform matrix list",
	.summary = "list the matrices in use",
	.synopsis = "[SOURCE] [OPTION]...",
	.text = "Lists the matrices of all sources, or of SOURCE.",
	.example = "  biplane transform matrix list --json",
	.options = list_options,
	.main = list_main,
};
