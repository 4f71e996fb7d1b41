/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_TOP_SCREEN_H
#define BP_APPS_BIPLANE_TOP_SCREEN_H

#include "apps/biplane/top/table.h"

struct bp_top_options {
	unsigned delay_s; /* between two refreshes */
	uint64_t n;       /* refreshes; 0: until the user ends it */
	int section;      /* -1: ports on a screen, all in batch mode */
	struct bp_top_order order[BP_TOP_SECTIONS];
	unsigned rows; /* of a table, in batch mode */
};

/*
 * Shows the instance on the terminal until the user quits, with ncurses; the first refresh was
 * done. Works in a terminal of any size, without colors. Returns an exit status.
 */
int bp_top_screen(struct bp_top *t, const struct bp_top_options *o);

#endif
