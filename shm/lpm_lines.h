/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_LPM_LINES_H
#define BP_SHM_LPM_LINES_H

#include "shm/epoch.h"
#include "shm/lpm_node.h"

/*
 * Which lines of the segment's node memory are free: the writer's own knowledge. Line 0 is never
 * given out. Blocks of 1 to BP_LPM_NODE_LINES_MAX lines; when none of the wanted size is free, a
 * larger one is split, and when there is none either, neighbouring free blocks are joined.
 */
struct bp_lpm_block {
	uint32_t line, lines;
	uint64_t epoch;
};

struct bp_lpm_lines {
	struct bp_epoch *epoch;
	uint32_t max;   /* lines in the segment */
	uint32_t free;  /* lines that could be given out now */
	uint32_t fresh; /* never given out: this line and all behind it */
	uint32_t freed; /* since free blocks were last joined */
	struct {
		uint32_t *line;
		uint32_t n, room;
	} list[BP_LPM_NODE_LINES_MAX + 1]; /* by size */
	/* given back, but perhaps still read: oldest first */
	struct bp_lpm_block *waiting;
	uint32_t n_waiting, waiting_from, waiting_room;
};

int bp_lpm_lines_init(struct bp_lpm_lines *l, uint32_t max, struct bp_epoch *e);
void bp_lpm_lines_free(struct bp_lpm_lines *l);

/* First of that many lines, or 0. */
uint32_t bp_lpm_lines_take(struct bp_lpm_lines *l, uint32_t lines);
/* Gives back what no reader has ever seen. */
void bp_lpm_lines_give(struct bp_lpm_lines *l, uint32_t line, uint32_t lines);
/* Gives back what readers may still be in: they are free once all have passed. */
void bp_lpm_lines_retire(struct bp_lpm_lines *l, uint32_t line, uint32_t lines);
/* Takes back what all have passed; whether something still waits. */
bool bp_lpm_lines_settle(struct bp_lpm_lines *l);
/* Everything is free but what is marked (bit per line). */
void bp_lpm_lines_rebuild(struct bp_lpm_lines *l, const uint64_t *used);

#endif
