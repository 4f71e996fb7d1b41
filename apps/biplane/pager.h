/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_PAGER_H
#define BP_APPS_BIPLANE_PAGER_H

/*
 * Sends what follows on standard output to the pager, if that is a terminal: $PAGER, or less, which
 * ends by itself where the text fits on the screen. An empty PAGER, or "cat", switches it off, and
 * so does a pager that can't be run. Once in a process; nothing may be printed before.
 */
void bp_pager_begin(void);
/* Waits until the user has left the pager; nothing without one. Standard output is closed then. */
void bp_pager_end(void);

#endif
