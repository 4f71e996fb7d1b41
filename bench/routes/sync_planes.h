/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_SYNC_PLANES_H
#define BP_BENCH_ROUTES_SYNC_PLANES_H

#include <sys/types.h>

#include "shm/layout.h"

/*
 * The two planes of an instance as child processes of bench/routes/sync_rate.c, which end with it.
 * Every function terminates the process with a message on failure.
 */
struct bench_planes {
	const char *biplane, *file, *name, *directory;
	struct bp_shm shm; /* read only */
	pid_t dataplane, controlplane;
};

uint64_t bench_now_ns(void);
/* Sleeps some ten microseconds, so that other processes can use the core. */
void bench_sleep(void);

/* Starts or restarts it; returns immediately. */
pid_t bench_start(const struct bench_planes *p, const char *plane);
void bench_kill(pid_t *pid);
/* Runs `biplane ARGS...` without output, and returns its exit status. */
int bench_command(const struct bench_planes *p, const char *a, const char *b, const char *c);

/* Maps the segment as soon as the data plane reports there that it is running. */
void bench_map(struct bench_planes *p);
/* Waits until the control plane reports that the tables are synchronized, with at least this number
 * of routes; `loaded_ns` is its report before the start. Returns the time. */
uint64_t bench_await_synced(struct bench_planes *p, uint32_t routes, uint64_t loaded_ns);
uint64_t bench_loaded_ns(const struct bench_planes *p);

/* Frames sent on port 1 by all workers. */
uint64_t bench_sent(const struct bench_planes *p);
/* CPU time of the busiest thread of a process, in nanoseconds: a duration without preemption. */
uint64_t bench_cpu_ns(pid_t process);

#endif
