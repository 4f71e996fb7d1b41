/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TRANSFORM_STREAM_H
#define BP_APPS_BIPLANE_TRANSFORM_STREAM_H

#include "apps/biplane/transform/packets.h"
#include "apps/biplane/transform/points.h"
#include "apps/biplane/transform/report.h"

/* Processes a file of points, a burst at a time: to results, a report, or both. */
struct bp_stream {
	struct bp_points
		points; /* opened by the caller, as all before `burst` is filled in by it */
	struct bp_packets packets;
	const struct bp_transform_ops *ops;
	struct bp_transform_report *errors; /* NULL: no report */
	FILE *results;                      /* NULL: no results */
	struct bp_burst burst;
	char *row[BP_TRANSFORM_BURST]; /* of the burst, if results are written */
	unsigned faults;
	uint64_t written, saturated;
};

/* All points. 0, or an exit status after lines on standard error. */
int bp_stream_run(struct bp_stream *t);

/* Prints the number of results on standard error; nothing without results. */
void bp_stream_report_saturated(const struct bp_stream *t);

#endif
