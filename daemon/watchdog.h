/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_WATCHDOG_H
#define BP_DAEMON_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* More than any plane has. */
#define BP_WATCHDOG_THREADS_MAX 128

/*
 * When a plane may say that it is alive: when each of its threads has moved on since the last life
 * sign. One that hangs therefore ends the life signs of the whole process, and the service manager
 * restarts it. Each thread has a count that only it changes; all of it is looked at by one thread.
 */
struct bp_watchdog {
	uint64_t every_ns; /* between two life signs; 0: nobody wants any */
	uint64_t said_ns;
	unsigned n;
	uint64_t seen[BP_WATCHDOG_THREADS_MAX]; /* as the count was at the last life sign */
	bool moved_all;                         /* at least once since the start */
};

/* limit_ns: within which time the next life sign must come, 0: none. n threads, up to
 * BP_WATCHDOG_THREADS_MAX, whose counts are 0 now. */
void bp_watchdog_init(struct bp_watchdog *w, uint64_t limit_ns, unsigned n, uint64_t now_ns);

/* Whether a life sign is due and deserved: count[i] is what thread i has counted by now. Called
 * twice within every_ns or more often. */
bool bp_watchdog_due(struct bp_watchdog *w, const uint64_t *count, uint64_t now_ns);

/* Whether each thread has moved since the start: then the plane works. */
bool bp_watchdog_all_moved(struct bp_watchdog *w, const uint64_t *count);

#endif
