/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/transform/stream.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/exit_status.h"

#define FAULTS_MAX 20u /* a file with more is another file */

static void report_rejected(struct bp_stream *t, unsigned i, unsigned why)
{
	const double *v = t->burst.given[i], *radians = t->burst.meant[i];

	for (unsigned c = 0; c < 3; c++) {
		double min, max;

		if ((why & 8) != 0 && c != 0 && !(fabs(radians[c]) <= BP_TRANSFORM_ANGLE_MAX))
			bp_points_error(&t->points, t->points.line,
				"%s is %.9g radians; expected at most +-%.0f", t->points.in[c],
				radians[c], BP_TRANSFORM_ANGLE_MAX);
		if ((why & 1u << c) == 0)
			continue;
		bp_packets_range(&t->packets, c, &min, &max);
		bp_points_error(&t->points, t->points.line,
			"%s is %.9g; expected %.11g to %.11g, the range of the packet "
			"(layout %s; --double has none)",
			t->points.in[c], v[c], min, max, t->packets.name);
	}
}

static void end_burst(struct bp_stream *t)
{
	struct bp_results results;

	if (t->errors != NULL)
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
static int take_point(struct bp_stream *t, const double v[3])
{
	const unsigned i = t->burst.n;
	unsigned why;

	memcpy(t->burst.given[i], v, sizeof(t->burst.given[i]));
	why = bp_packets_send(&t->packets, &t->burst, i);
	if (why != 0) {
		report_rejected(t, i, why);
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

int bp_stream_run(struct bp_stream *t)
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
		fprintf(stderr, "%s: too many errors; the remaining rows are not read\n",
			t->points.name);
	return status != 0 ? status : t->faults != 0 ? BP_EX_DATAERR : 0;
}

void bp_stream_report_saturated(const struct bp_stream *t)
{
	if (t->saturated != 0)
		fprintf(stderr,
			"%s: of %" PRIu64 " points %" PRIu64
			" have a result out of the packet's range, which is saturated (layout "
			"%s)\n",
			t->points.name, t->written, t->saturated, t->packets.name);
}
