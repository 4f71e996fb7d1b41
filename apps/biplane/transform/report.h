/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TRANSFORM_REPORT_H
#define BP_APPS_BIPLANE_TRANSFORM_REPORT_H

#include <stdio.h>

#include "apps/biplane/transform/packets.h"
#include "services/transform/accuracy.h"

/* The errors of all methods over the same points. */
struct bp_transform_report {
	double limit; /* metres */
	uint64_t points;
	struct {
		uint64_t saturated; /* points with a saturated result: not included in the others */
		struct bp_transform_accuracy whole; /* against the points as the file has them */
		struct bp_transform_accuracy alone; /* relative to the points in the packets */
	} of[BP_TRANSFORM_METHODS];
};

void bp_transform_report_add(
	struct bp_transform_report *r, const struct bp_packets *k, const struct bp_burst *burst);
/* False: no memory. */
bool bp_transform_report_print(
	const struct bp_transform_report *r, const struct bp_packets *k, bool json, FILE *out);

#endif
