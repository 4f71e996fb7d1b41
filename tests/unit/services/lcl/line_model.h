/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LINE_MODEL_H
#define LINE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "services/lcl/admission.h"

/*
 * Nodes in a line that schedule by LCL, in picoseconds, written from the paper and
 * services/lcl/scheduler.h alone: slow and simple. Its delays must be within the bounds of
 * services/lcl/admission.h.
 */
#define LINE_TURNS 65536 /* that a run may last, tau each */

struct line_frame {
	int64_t d, at;  /* ps; at: comes to the node */
	uint64_t bytes; /* on the wire */
	int64_t waited; /* in all nodes so far */
	unsigned flow, n;
	uint64_t slot;
};

struct line {
	const struct bp_lcl_port *port;
	const struct bp_lcl_flow *flow;
	unsigned flows;
	uint32_t best_effort_max; /* 0: there is none; else always some that waits */
	uint64_t seed;
	/* results */
	unsigned early, full; /* frames whose slot has no queue */
	uint64_t slot_bytes;  /* the most that were meant for one slot */
};

/* Sends frames[0..n), in the order of `at`, through the line. */
void line_run(struct line *l, struct line_frame *frames, unsigned n);

static inline uint64_t line_random(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % below;
}

#endif
