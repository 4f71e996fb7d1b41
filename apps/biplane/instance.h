/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_INSTANCE_H
#define BP_APPS_BIPLANE_INSTANCE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One process a role: a file with the process's number in the runtime directory, locked with
 * flock() while the process lives. The kernel drops the lock with the last holder, so a file that a
 * kill -9 left behind stops nobody.
 */
struct bp_instance_lock {
	int fd; /* -1: not held */
	char path[PATH_MAX];
};

/* Makes `dir` and what is missing above it, mode 0755. 0, or -1 with a sentence in err. */
int bp_runtime_dir_make(const char *dir, char *err, size_t err_size);

/*
 * Locks DIR/NAME.pid (suffix "") or DIR/NAME-SUFFIX.pid and writes our number into it. With
 * `inherit`, child processes hold the lock too. When another process holds it and lives, refuses at
 * once. When only children of a holder that died hold it, which are ending by then, waits for them
 * up to patience_ms. Returns 0, or -1 with a sentence in err.
 */
int bp_instance_lock(struct bp_instance_lock *l, const char *dir, const char *name,
	const char *suffix, int inherit, unsigned patience_ms, char *err, size_t err_size);
/* Removes the file and unlocks; nothing when the lock isn't held. */
void bp_instance_unlock(struct bp_instance_lock *l);

#endif
