/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/transform/matrix_file.h"
#include "apps/biplane/transform/stream.h"
#include "config/config.h"
#include "config/transform/settings.h"
#include "proto/payload/value.h"

enum {
	OPT_IN = BP_CLI_LONG,
	OPT_OUT,
	OPT_MATRIX,
	OPT_SINGULAR,
	OPT_METHOD,
	OPT_ENTRY,
	OPT_LAYOUT,
	OPT_DOUBLE,
	OPT_DEGREES,
	OPT_REPORT,
	OPT_LIMIT,
	OPT_JSON
};

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "use layout and method of an entry of this configuration"},
	{OPT_ENTRY, "entry", "N", "the entry transform.entries[N]; default: 0"},
	{OPT_IN, "in", "FILE", "the points, comma-separated; -: standard input"},
	{OPT_OUT, "out", "FILE", "the output file; default: -, standard output"},
	{OPT_MATRIX, "matrix", "FILE", "YAML file with the matrix; default: no matrix"},
	{OPT_SINGULAR, "singular", NULL, "accept a singular matrix"},
	{OPT_METHOD, "method", "NAME", "method, as in the configuration; default: vector"},
	{OPT_LAYOUT, "layout", "NAME", "kunze2021 (default), fixed32:FRACTION, float32, float64"},
	{OPT_DOUBLE, "double", NULL,
		"the same as --layout float64: unrounded numbers in the packets"},
	{OPT_DEGREES, "degrees", NULL, "the angles in the file of points are in degrees"},
	{OPT_REPORT, "report", NULL, "compare the errors of all methods on these points"},
	{OPT_LIMIT, "limit", "UM", "error limit of --report in micrometres; default: 10"},
	{OPT_JSON, "json", NULL, "--report as one JSON object"},
	{0, NULL, NULL, NULL},
};

struct transform {
	const char *in, *out, *matrix, *method, *layout, *config;
	uint64_t entry;
	char entry_name[48];
	bool help, flat, report, json, has_entry;
	double limit_um;
	struct bp_transform_report errors;
	struct bp_stream stream;
};

static bool read_limit(struct transform *t, const char *text)
{
	const uint8_t *end = (const uint8_t *)text + strlen(text);

	t->limit_um = -1;
	return bp_number_parse((const uint8_t *)text, end, true, &t->limit_um) == end &&
	       t->limit_um >= 0;
}

/* Takes one option; 0, or an exit status. */
static int take_option(
	struct transform *t, const struct bp_cli_command *command, int key, const char *value)
{
	const char **text = NULL;

	switch (key) {
	case 'c':
		text = &t->config;
		break;
	case OPT_ENTRY:
		t->has_entry = true;
		if (!bp_cli_number(value, 0, BP_TRANSFORM_RULES_MAX - 1, &t->entry))
			return bp_cli_usage_error(command,
				"--entry is '%s'; expected 0 to %u, as in transform.entries[0]",
				value, BP_TRANSFORM_RULES_MAX - 1);
		break;
	case OPT_IN:
		text = &t->in;
		break;
	case OPT_OUT:
		text = &t->out;
		break;
	case OPT_MATRIX:
		text = &t->matrix;
		break;
	case OPT_METHOD:
		text = &t->method;
		break;
	case OPT_LAYOUT:
	case OPT_DOUBLE:
		if (t->layout != NULL)
			return bp_cli_usage_error(
				command, "--layout or --double is given twice; expected one");
		t->layout = key == OPT_DOUBLE ? "float64" : value;
		break;
	case OPT_SINGULAR:
		t->flat = true;
		break;
	case OPT_DEGREES:
		t->stream.packets.degrees = true;
		break;
	case OPT_REPORT:
		t->report = true;
		break;
	case OPT_JSON:
		t->json = true;
		break;
	default:
		if (!read_limit(t, value))
			return bp_cli_usage_error(
				command, "--limit is '%s'; expected micrometres, 0 or more", value);
	}
	if (text != NULL)
		*text = value;
	return 0;
}

static int check_options(struct transform *t, const struct bp_cli_command *command)
{
	char names[256] = "";
	int method;

	bp_transform_methods_init();
	if (t->in == NULL)
		return bp_cli_usage_error(command, "--in FILE is missing: which points?");
	method = bp_transform_method_find(t->method != NULL ? t->method : "vector");
	for (unsigned i = 0, at = 0; i < BP_TRANSFORM_METHODS; i++)
		at += (unsigned)snprintf(names + at, sizeof(names) - at, "%s%s", i != 0 ? ", " : "",
			bp_transform_ops(i)->name);
	if (method < 0)
		return bp_cli_usage_error(
			command, "unknown method '%s'; expected one of %s", t->method, names);
	t->stream.ops = bp_transform_ops(method);
	if (t->report && t->out != NULL && strcmp(t->out, "-") == 0)
		return bp_cli_usage_error(
			command, "--report and --out - are both for standard output");
	if (!t->report && (t->json || t->limit_um >= 0))
		return bp_cli_usage_error(command, "--json and --limit are for --report");
	if (t->has_entry && t->config == NULL)
		return bp_cli_usage_error(command, "--entry is for -c FILE");
	if (t->config != NULL && t->layout != NULL)
		return bp_cli_usage_error(
			command, "-c FILE has a layout; remove --layout or --double");
	return 0;
}

/* Whether the output would overwrite an input. */
static bool same_file(const char *path, FILE *in)
{
	struct stat a, b;

	return stat(path, &a) == 0 && fstat(fileno(in), &b) == 0 && S_ISREG(a.st_mode) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int open_out(struct transform *t, const struct bp_cli_command *command)
{
	if (t->report && t->out == NULL)
		return 0;
	if (t->out == NULL || strcmp(t->out, "-") == 0) {
		t->stream.results = stdout;
	} else if (same_file(t->out, t->stream.points.file)) {
		return bp_cli_usage_error(
			command, "--in and --out are the same file; expected two");
	} else {
		t->stream.results = fopen(t->out, "we");
		if (t->stream.results == NULL) {
			fprintf(stderr, "%s: cannot be written: %s\n", t->out, strerror(errno));
			return BP_EX_CANTCREAT;
		}
	}
	bp_points_write_header(&t->stream.points, t->stream.results);
	return 0;
}

static bool close_out(struct transform *t)
{
	bool good;

	if (t->stream.results == NULL || t->stream.results == stdout)
		return true;
	good = ferror(t->stream.results) == 0;
	good = fclose(t->stream.results) == 0 && good;
	if (!good)
		fprintf(stderr, "%s: cannot be written: %s\n", t->out, strerror(errno));
	return good;
}

/* Layout and method of the entry. 0, or an exit status. */
static int take_entry(struct transform *t)
{
	struct bp_config *c = bp_config_load(t->config, stderr);
	const struct bp_transform_rule *rule;
	int status = 0;

	if (c == NULL)
		return BP_EX_CONFIG;
	snprintf(t->entry_name, sizeof(t->entry_name), "transform.entries[%" PRIu64 "]", t->entry);
	rule = &bp_config_transform(c)->entries.rule[t->entry];
	if (t->entry >= bp_config_transform(c)->entries.n_rules) {
		fprintf(stderr, "%s: unknown entry %s; expected %s\n", t->config, t->entry_name,
			bp_config_transform(c)->entries.n_rules == 0 ? "an entry of transform"
								     : "a smaller --entry");
		status = BP_EX_CONFIG;
	} else if (rule->layout.cartesian != t->stream.points.cartesian) {
		bp_points_error(&t->stream.points, t->stream.points.line,
			"%s of %s reads %s; expected columns %s", t->entry_name, t->config,
			rule->layout.cartesian ? "Cartesian points" : "radius and angles",
			rule->layout.cartesian ? "from_x, from_y and from_z" : "r, phi and theta");
		status = BP_EX_DATAERR;
	} else {
		bp_packets_use(&t->stream.packets, &rule->layout, t->entry_name);
		if (t->method == NULL)
			t->stream.ops = bp_transform_ops(rule->method);
		t->flat = t->flat || rule->allow_singular;
	}
	bp_config_free(c);
	return status;
}

static int take_layout(struct transform *t, const struct bp_cli_command *command)
{
	if (t->config != NULL)
		return take_entry(t);
	if (bp_packets_layout(&t->stream.packets, t->layout != NULL ? t->layout : "kunze2021",
		    t->stream.points.cartesian))
		return 0;
	return bp_cli_usage_error(
		command, "unknown layout '%s'; expected %s", t->layout, BP_PACKETS_LAYOUTS);
}

static int run(struct transform *t, const struct bp_cli_command *command)
{
	int status = bp_points_open(&t->stream.points, t->in);

	if (status == 0)
		status = take_layout(t, command);
	if (status == 0 && t->matrix != NULL) {
		t->stream.packets.with_matrix = true;
		status = bp_matrix_file_read(t->matrix, t->flat, t->stream.packets.m);
	}
	if (status == 0)
		status = open_out(t, command);
	if (status == 0)
		status = bp_stream_run(&t->stream);
	bp_stream_report_saturated(&t->stream);
	if (!close_out(t))
		return BP_EX_IOERR;
	if (status == 0 && t->report &&
		!bp_transform_report_print(&t->errors, &t->stream.packets, t->json, stdout))
		status = BP_EX_OSERR;
	return status;
}

static int read_options(
	struct transform *t, const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_cli cli;
	int key, status = 0;

	bp_cli_begin(&cli, command, argc, argv);
	while (status == 0 && (key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP) {
			t->help = true;
			return cli.status;
		}
		status = take_option(t, command, key, cli.value);
	}
	if (status == 0)
		status = bp_cli_no_operands(&cli);
	return status != 0 ? status : check_options(t, command);
}

static int transform_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct transform *t = calloc(1, sizeof(*t));
	int status;

	if (t == NULL)
		return BP_EX_OSERR;
	t->limit_um = -1;
	status = read_options(t, command, argc, argv);
	if (status == 0 && !t->help) {
		t->errors.limit = t->limit_um >= 0 ? t->limit_um * 1e-6 : BP_TRANSFORM_LIMIT;
		t->stream.errors = t->report ? &t->errors : NULL;
		status = run(t, command);
		bp_points_close(&t->stream.points);
	}
	free(t);
	return status;
}

const struct bp_cli_command bp_cmd_transform_test = {
	.name = "transform test",
	.summary = "transform the points of a file",
	.synopsis = "--in FILE [--out FILE] [--matrix FILE [--singular]]\n"
		    "                              [--method NAME] [-c FILE [--entry N] |\n"
		    "                              --layout NAME | --double] [--degrees]\n"
		    "                              [--report [--limit UM] [--json]]",
	.text = "Transforms the points of a file with the same code as the data plane, and\n"
		"writes the points that the receiver would get. Use it to verify a matrix before\n"
		"a robot moves. Needs no running instance and no root.\n"
		"\n"
		"The first row of the points contains the names of the columns: r, phi and theta\n"
		"(radius, azimuth, angle from the z axis; radians), or from_x, from_y and\n"
		"from_z, or x, y and z. The output keeps the other columns, and appends x, y, z\n"
		"and saturated. The matrix has three rows of four numbers, as in the\n"
		"configuration, or is a mapping with matrix (three rows of three numbers) and\n"
		"translation.\n"
		"\n"
		"With --report, the command compares the errors of all methods. It then writes\n"
		"the points only with --out. Lengths in the report are metres.",
	.example = "  biplane transform test --in points.csv --matrix robot.yaml --out placed.csv\n"
		   "  biplane transform test --in points.csv --matrix robot.yaml --report",
	.options = options,
	.main = transform_main,
};
