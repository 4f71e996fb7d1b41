/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/commands.h"
#include "apps/exit_status.h"
#include "apps/transform/matrix_file.h"
#include "apps/transform/packets.h"
#include "apps/transform/points.h"
#include "apps/transform/report.h"
#include "proto/value.h"

#define FAULTS_MAX 20u /* a file with more is another file */

enum {
	OPT_IN = BP_CLI_LONG,
	OPT_OUT,
	OPT_MATRIX,
	OPT_SINGULAR,
	OPT_METHOD,
	OPT_LAYOUT,
	OPT_DOUBLE,
	OPT_DEGREES,
	OPT_REPORT,
	OPT_LIMIT,
	OPT_JSON
};

static const struct bp_cli_option options[] = {
	{OPT_IN, "in", "FILE", "the points, comma-separated; - for standard input"},
	{OPT_OUT, "out", "FILE", "where the results go; - for standard output, the default"},
	{OPT_MATRIX, "matrix", "FILE", "YAML file with the matrix; without: the bare point"},
	{OPT_SINGULAR, "singular", NULL, "take a matrix that flattens space, too"},
	{OPT_METHOD, "method", "NAME", "as in the configuration; default: vector"},
	{OPT_LAYOUT, "layout", "NAME", "paper (default), fixed32:FRACTION, float32, float64"},
	{OPT_DOUBLE, "double", NULL,
		"the same as --layout float64: nothing is rounded for packets"},
	{OPT_DEGREES, "degrees", NULL, "angles in the file are degrees"},
	{OPT_REPORT, "report", NULL, "compare the errors of all methods on these points"},
	{OPT_LIMIT, "limit", "UM", "micrometres that --report counts as too far; default: 10"},
	{OPT_JSON, "json", NULL, "--report as one JSON object"},
	{0, NULL, NULL, NULL},
};

struct transform {
	const char *in, *out, *matrix, *method, *layout;
	bool flat, degrees, report, json;
	double limit_um;
	const struct bp_transform_ops *ops;
	struct bp_packets packets;
	struct bp_points points;
	struct bp_transform_report *errors; /* with `report` */
	FILE *results;                      /* NULL: they are not asked for */
	struct bp_burst burst;
	char *row[BP_TRANSFORM_BURST]; /* of the burst, where there are results */
	unsigned faults;
	uint64_t written, saturated;
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
		t->degrees = true;
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
	char names[128] = "";
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
			command, "there is no method '%s'; expected one of %s", t->method, names);
	t->ops = bp_transform_ops(method);
	if (t->report && t->out != NULL && strcmp(t->out, "-") == 0)
		return bp_cli_usage_error(
			command, "--report and --out - are both for standard output");
	if (!t->report && (t->json || t->limit_um >= 0))
		return bp_cli_usage_error(command, "--json and --limit are for --report");
	return 0;
}

/* Whether the output would be written over what is still to be read. */
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
		t->results = stdout;
	} else if (same_file(t->out, t->points.file)) {
		return bp_cli_usage_error(
			command, "--in and --out are the same file; expected two");
	} else {
		t->results = fopen(t->out, "we");
		if (t->results == NULL) {
			fprintf(stderr, "%s: can't be written: %s\n", t->out, strerror(errno));
			return BP_EX_CANTCREAT;
		}
	}
	bp_points_write_header(&t->points, t->results);
	return 0;
}

static void say_refused(struct transform *t, unsigned i, unsigned why)
{
	const double *v = t->burst.meant[i];

	for (unsigned c = 0; c < 3; c++) {
		double least, greatest;

		if ((why & 8) != 0 && c != 0 && !(fabs(v[c]) <= BP_TRANSFORM_ANGLE_MAX))
			bp_points_error(&t->points, t->points.line,
				"%s is %.9g radians; expected at most %.0f either way",
				t->points.in[c], v[c], BP_TRANSFORM_ANGLE_MAX);
		if ((why & 1u << c) == 0)
			continue;
		bp_packets_range(&t->packets, c, &least, &greatest);
		bp_points_error(&t->points, t->points.line,
			"%s is %.9g; expected %.11g to %.11g, which is what a packet of layout %s "
			"can hold (--double takes any)",
			t->points.in[c], v[c], least, greatest, t->packets.name);
	}
}

static void end_burst(struct transform *t)
{
	struct bp_results results;

	if (t->report)
		bp_transform_report_add(t->errors, &t->packets, &t->burst);
	if (t->results != NULL)
		bp_packets_compute(&t->packets, t->ops, &t->burst, &results);
	for (unsigned i = 0; t->results != NULL && i < t->burst.n; i++) {
		bp_points_write(
			&t->points, t->row[i], results.v[i], results.saturated[i], t->results);
		t->written++;
		t->saturated += results.saturated[i] != 0;
		free(t->row[i]);
	}
	t->burst.n = 0;
}

/* The row just read, as point i of the burst. 0, or an exit status. */
static int take_point(struct transform *t, double v[3])
{
	const unsigned i = t->burst.n;
	unsigned why;

	for (unsigned c = 0; c < 3; c++)
		t->burst.meant[i][c] =
			t->degrees && !t->points.cartesian && c != 0 ? v[c] * (M_PI / 180) : v[c];
	why = bp_packets_send(&t->packets, &t->burst, i);
	if (why != 0) {
		say_refused(t, i, why);
		t->faults++;
		return 0;
	}
	if (t->results != NULL) {
		t->row[i] = strdup(t->points.row);
		if (t->row[i] == NULL) {
			fputs("biplane transform: out of memory\n", stderr);
			return BP_EX_OSERR;
		}
	}
	if (++t->burst.n == BP_TRANSFORM_BURST)
		end_burst(t);
	return 0;
}

static int transform_points(struct transform *t)
{
	double v[3] = {0};
	int row, status = 0;

	while (status == 0 && t->faults < FAULTS_MAX &&
		(row = bp_points_next(&t->points, v)) != 0) {
		if (row < 0)
			t->faults++;
		else
			status = take_point(t, v);
	}
	end_burst(t);
	if (t->faults == FAULTS_MAX)
		fprintf(stderr, "%s: so many faults that the rest is not read\n", t->points.name);
	return status != 0 ? status : t->faults != 0 ? BP_EX_DATAERR : 0;
}

/* What the results are worth, for people; where there is a report, it says so. */
static void say_saturated(const struct transform *t)
{
	if (t->saturated != 0)
		fprintf(stderr,
			"%s: of %" PRIu64 " points %" PRIu64
			" have a result that layout %s can't hold: they are saturated\n",
			t->points.name, t->written, t->saturated, t->packets.name);
}

static int run(struct transform *t, const struct bp_cli_command *command)
{
	int status = bp_points_open(&t->points, t->in);

	if (status == 0 && !bp_packets_layout(&t->packets, t->layout != NULL ? t->layout : "paper",
				   t->points.cartesian))
		status = bp_cli_usage_error(command, "there is no layout '%s'; expected %s",
			t->layout, BP_PACKETS_LAYOUTS);
	if (status == 0 && t->matrix != NULL) {
		t->packets.with_matrix = true;
		status = bp_matrix_file_read(t->matrix, t->flat, t->packets.m);
	}
	if (status == 0)
		status = open_out(t, command);
	if (status == 0)
		status = transform_points(t);
	say_saturated(t);
	if (t->results != NULL && t->results != stdout &&
		(ferror(t->results) | fclose(t->results)) != 0) {
		fprintf(stderr, "%s: can't be written: %s\n", t->out, strerror(errno));
		return BP_EX_IOERR;
	}
	if (status == 0 && t->report &&
		!bp_transform_report_print(t->errors, &t->packets, t->json, stdout))
		status = BP_EX_OSERR;
	return status;
}

static int transform_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct transform *t = calloc(1, sizeof(*t));
	struct bp_transform_report *errors = calloc(1, sizeof(*errors));
	struct bp_cli cli;
	int key, status = t != NULL && errors != NULL ? 0 : BP_EX_OSERR;

	bp_cli_begin(&cli, command, argc, argv);
	if (t != NULL)
		t->limit_um = -1;
	while (status == 0 && (key = bp_cli_next(&cli)) != BP_CLI_END) {
		if (key == BP_CLI_STOP) {
			free(errors);
			free(t);
			return cli.status;
		}
		status = take_option(t, command, key, cli.value);
	}
	if (status == 0)
		status = bp_cli_no_operands(&cli);
	if (status == 0)
		status = check_options(t, command);
	if (status == 0) {
		errors->limit = t->limit_um >= 0 ? t->limit_um * 1e-6 : BP_TRANSFORM_LIMIT;
		t->errors = errors;
		status = run(t, command);
		bp_points_close(&t->points);
	}
	free(errors);
	free(t);
	return status;
}

const struct bp_cli_command bp_cmd_transform = {
	.name = "transform",
	.summary = "transform points in a file as the gateway would",
	.synopsis =
		"--in FILE [--out FILE] [--matrix FILE [--singular]]\n"
		"                         [--method NAME] [--layout NAME | --double] [--degrees]\n"
		"                         [--report [--limit UM] [--json]]",
	.text = "Puts each point into a packet as a tracker would, transforms it with the very "
		"code "
		"that\n"
		"runs on the network, and writes what the receiver gets, so that frames can be "
		"checked\n"
		"before a robot moves. Needs no gateway, root or configuration.\n"
		"\n"
		"The first row of the points names the columns: r, phi and theta (radius, azimuth, "
		"angle\n"
		"from +z; radians), or from_x, from_y and from_z, or x, y and z. Other columns are "
		"kept; x,\n"
		"y, z and saturated follow. The matrix is three rows of four numbers, as in the\n"
		"configuration, or a mapping: matrix, three rows of three, and translation.\n"
		"\n"
		"With --report the errors of all methods are compared instead; the points are "
		"written\n"
		"only with --out. Lengths are in metres there.",
	.example = "  biplane transform --in points.csv --matrix robot.yaml --out placed.csv\n"
		   "  biplane transform --in points.csv --matrix robot.yaml --report",
	.options = options,
	.main = transform_main,
};
