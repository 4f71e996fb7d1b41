/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_PID_H
#define BP_APPS_BIPLANE_MONITOR_PID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "apps/biplane/instance.h"

/*
 * The pid file of the monitor, NAME-monitor.pid in RUNTIME-DIR/monitor, or in the runtime directory
 * where there is none: a lock as of the planes (apps/biplane/instance.h). After the process number,
 * it has a line with the start as Unix time in ns, and a line with the address, if there is one.
 */
#define BP_MONITOR_SUBDIR "monitor"

/* What the file says: nothing else is known about a monitor, which does not write the segment. */
struct bp_monitor_seen {
	bool running;
	pid_t pid;
	uint64_t started_ns;
	char address[BP_INSTANCE_PID_TEXT]; /* printable; "": serves no HTTP */
};

/* RUNTIME-DIR/monitor, or the runtime directory. False: the path is too long. */
bool bp_monitor_dir(const char *runtime_dir, char *dir, size_t size);

/*
 * 0; 1: another monitor of the instance runs, -1: the file cannot be written, both with a sentence.
 */
int bp_monitor_pid_take(struct bp_instance_lock *l, const char *runtime_dir, const char *name,
	uint64_t started_ns, const char *address, char *err, size_t err_size);
/* Removes the file, or where this process may not, its content. */
void bp_monitor_pid_release(struct bp_instance_lock *l);

/* Removes the file of a monitor that has ended. */
void bp_monitor_pid_remove(const char *runtime_dir, const char *name);

/* The file may be another user's, so it may have any content. */
void bp_monitor_see(const char *runtime_dir, const char *name, struct bp_monitor_seen *seen);

#endif
