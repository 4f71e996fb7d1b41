/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_LPM_LPM_LINES_H
#define BP_SHM_FIB_LPM_LPM_LINES_H

#include "shm/fib/epoch.h"
#include "shm/fib/lpm/lpm_node.h"

/*
 * The free lines in the segment: the writer's own memory, which each new writer rebuilds. Nodes are
 * extents of 1..BP_LPM_LINES_MAX lines. Adjacent free extents are merged immediately, and the
 * smallest extent that is large enough is allocated. Lines that readers may still use are held back
 * until all readers have passed.
 */
#define BP_LPM_NO_LINE UINT32_MAX
#define BP_LPM_SIZES BP_LPM_LINES_MAX /* the last: this large or larger */

struct bp_lpm_extent {       /* state of each line; valid at the first line of an extent */
	uint32_t next, prev; /* free: in the list of its size. waiting: prev is the low half of the
			      * epoch it waits for */
	uint32_t length;     /* also at the last line of a free extent; 0: taken */
};

struct bp_lpm_queue {
	uint32_t head, tail;
};

struct bp_lpm_lines {
	struct bp_epoch *epoch;
	struct bp_lpm_extent *at; /* one a line */
	uint32_t total, free, waiting;
	uint32_t sizes; /* bit s: list s is not empty */
	uint32_t list[BP_LPM_SIZES];
	struct bp_lpm_queue unlinked; /* by the change that is under way */
	struct bp_lpm_queue limbo;    /* oldest first */
	unsigned max_waits; /* how often, at most, to wait a little for readers to leave */
};

/* All lines are taken at first. False without memory. */
bool bp_lpm_lines_init(struct bp_lpm_lines *l, uint32_t total, struct bp_epoch *epoch);
void bp_lpm_lines_free(struct bp_lpm_lines *l);

/* The first of n lines, or BP_LPM_NO_LINE. */
uint32_t bp_lpm_lines_take(struct bp_lpm_lines *l, unsigned n);
/* Lines that no reader can reach after the change under way; bp_lpm_lines_retire() after it. */
void bp_lpm_lines_unlink(struct bp_lpm_lines *l, uint32_t first, uint32_t n);
void bp_lpm_lines_retire(struct bp_lpm_lines *l);
/* Waits until all readers have left what was retired, or patience is used up. */
void bp_lpm_lines_await(struct bp_lpm_lines *l);
/* Frees what all readers have left. Returns whether some still wait. */
bool bp_lpm_lines_settle(struct bp_lpm_lines *l);

#endif
