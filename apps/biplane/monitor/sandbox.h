/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_SANDBOX_H
#define BP_APPS_BIPLANE_MONITOR_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Gives up what the monitor and the agent of a fleet do not need, for ever: priority over the
 * planes, core dumps, all capabilities, new privileges by exec, and, where the kernel has Landlock,
 * every change of files and directories (except in `writable`, directories up to NULL), execution
 * of programs, TCP connections to others (unless `connects`), and signals to others. A process that
 * root started stays root without capabilities: it can still read files of root and connect to Unix
 * sockets of root. It joins the groups of `readable`, directories up to NULL, which it can no
 * longer enter by capability.
 *
 * 0, or -1 with a sentence. A kernel without Landlock is no error.
 */
int bp_sandbox_enter(const char *const *readable, const char *const *writable, bool connects,
	char *err, size_t err_size);

#endif
