/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_KILLED_H
#define BP_TESTS_HOSTILE_KILLED_H

#include <stdbool.h>
#include <sys/types.h>

#include "rig.h"

/* A process that is killed after each of its stores, and the next one. */

extern struct rig rig, next;

/* The state of `rig` that the next process uses, before the fork. */
void killed_watch(void);
void killed_unwatch(void);
/* Copies the state of the process; whether any of it has changed since. */
bool killed_look_at(pid_t pid);
/* `next` begins with the copies. */
void killed_begin_next(void);
/* Whether the process was stopped, and did not end. */
bool killed_stopped_by(pid_t pid, int *sig);

/*
 * Runs send(&rig, 0), send(&rig, 1), ... `units` in a process of its own, and calls continues(unit)
 * with each state of it that a kill would leave, during that unit. Both rigs are open. Returns the
 * number of states.
 */
size_t killed_after_each_store(unsigned units, void (*send)(struct rig *r, unsigned unit),
	void (*continues)(unsigned unit));

#endif
