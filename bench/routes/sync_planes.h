/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_SYNC_PLANES_H
#define BP_BENCH_ROUTES_SYNC_PLANES_H

#include <sys/types.h>

#include "shm/layout.h"

/*
 * The two planes of an instance as processes of bench/routes/sync_rate.c. They die with it. Every
 * function ends the process, with a sentence, when something does not come about.
 */
struct bench_planes {
	const char *biplane, *file, *name, *directory;
	struct bp_shm shm; /* read only */
	pid_t dataplane, controlplane;
};

uint64_t bench_now_ns(void);
/* Lets others have the core for some ten microseconds. */
void bench_sleep(void);

/* Starts it, or starts it again; returns at once. */
pid_t bench_start(const struct bench_planes *p, const char *plane);
void bench_kill(pid_t *pid);
/* Runs `biplane ARGS...` in silence, and returns its exit status. */
int bench_command(const struct bench_planes *p, const char *a, const char *b, const char *c);

/* Maps the segment as soon as the data plane says in it that it runs. */
void bench_map(struct bench_planes *p);
/* Until the control plane says that the tables are the kernel's, with at least so many routes;
 * `loaded_ns` is what it said before it was started. Returns the time. */
uint64_t bench_await_synced(struct bench_planes *p, uint32_t routes, uint64_t loaded_ns);
uint64_t bench_loaded_ns(const struct bench_planes *p);

/* What port 1 sent, all workers together. */
uint64_t bench_sent(const struct bench_planes *p);
/* Processor time of a process's busiest thread, in nanoseconds: what is left of a duration when
 * others take the core. */
uint64_t bench_cpu_ns(pid_t process);

#endif
