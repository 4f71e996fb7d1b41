/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SIGNALS_H
#define BP_APPS_BIPLANE_SIGNALS_H

/* For a process with a loop of its own: blocks SIGTERM, SIGINT and SIGHUP, and ignores SIGPIPE.
 * Returns a descriptor from which a signal is read (signalfd(2), nonblocking), or -1 with errno. */
int bp_signals_open(void);

#endif
