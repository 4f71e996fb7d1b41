/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_WATCHDOG_H
#define BP_DAEMON_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* More than the number of threads of any plane. */
#define BP_WATCHDOG_THREADS_MAX 128

/*
 * Decides when a plane sends a heartbeat: when each of its threads has made progress since the last
 * heartbeat. A thread that hangs therefore stops the heartbeats of the whole process, and the
 * service manager restarts it. Each thread has a counter that only this thread changes; one thread
 * reads all counters.
 */
struct bp_watchdog {
	uint64_t every_ns; /* interval between two heartbeats; 0: no heartbeat is required */
	uint64_t said_ns;
	unsigned n;
	uint64_t seen[BP_WATCHDOG_THREADS_MAX]; /* counters at the last heartbeat */
	bool moved_all;                         /* each thread made progress since the start */
};

/* limit_ns: watchdog timeout, 0: none. n: number of threads, up to BP_WATCHDOG_THREADS_MAX; their
 * counters are 0. */
void bp_watchdog_init(struct bp_watchdog *w, uint64_t limit_ns, unsigned n, uint64_t now_ns);

/* Returns whether a heartbeat is due and all threads have made progress: count[i] is the current
 * counter of thread i. Call it at least twice per every_ns. */
bool bp_watchdog_due(struct bp_watchdog *w, const uint64_t *count, uint64_t now_ns);

/* Returns whether each thread has made progress since the start: the plane is then operational. */
bool bp_watchdog_all_moved(struct bp_watchdog *w, const uint64_t *count);

#endif
