/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_PAGER_H
#define BP_APPS_BIPLANE_PAGER_H

/*
 * Sends the following standard output to the pager, if it is a terminal: $PAGER, or less, which
 * exits by itself if the text fits on the screen. An empty PAGER, or "cat", disables it, and so
 * does a pager that cannot be executed. At most once per process, before any output.
 */
void bp_pager_begin(void);
/* Waits until the user has left the pager; no effect without one. Then standard output is
 * closed. */
void bp_pager_end(void);

#endif
