/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_INSTANCE_H
#define BP_APPS_BIPLANE_INSTANCE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * One process per role: a file in the runtime directory with the number of the process, locked with
 * flock() while the process lives. The kernel releases the lock with the last holder, so a file
 * that remains after kill -9 does not prevent a start.
 */
struct bp_instance_lock {
	int fd; /* -1: not held */
	char path[PATH_MAX];
};

/* Creates `dir` and its missing parents, mode 0755. 0, or -1 with an error message in err. */
int bp_runtime_dir_make(const char *dir, char *err, size_t err_size);

/*
 * Locks DIR/NAME.pid (suffix "") or DIR/NAME-SUFFIX.pid and writes our process number into it. With
 * `inherit`, child processes hold the lock too. Refuses immediately if another process holds it and
 * lives. If only children of a dead holder hold it, which are about to end, waits for them up to
 * patience_ms. Returns 0, or -1 with an error message in err.
 */
int bp_instance_lock(struct bp_instance_lock *l, const char *dir, const char *name,
	const char *suffix, int inherit, unsigned patience_ms, char *err, size_t err_size);
/* Removes the file and unlocks; no effect if the lock is not held. */
void bp_instance_unlock(struct bp_instance_lock *l);

/*
 * The live process that holds the lock of this file (openat(2)), or 0. text: what the file says,
 * cut at the size. The file may be another user's, so it may have any content. A file of a dead
 * process is not locked here, even temporarily: a plane that is starting would find it locked.
 */
#define BP_INSTANCE_PID_TEXT 512
pid_t bp_instance_holder(int dir, const char *file, char text[BP_INSTANCE_PID_TEXT]);

#endif
