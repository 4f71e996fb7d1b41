/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_CPU_OF_H
#define BP_BENCH_HARNESS_CPU_OF_H

#include <sys/types.h>

/*
 * Processor time of everything that has part in something: processes by name, of which each may be
 * several, this process, and the kernel's threads for what arrives (ksoftirqd), which work for
 * everybody on the machine. What the kernel does at once for whoever sends is the sender's.
 */
#define BENCH_CPU_NAMES 8u
#define BENCH_CPU_PROCESSES 32u

struct bench_cpu {
	unsigned n_names;
	struct bench_cpu_of {
		char name[32];
		unsigned n;
		pid_t pid[BENCH_CPU_PROCESSES];
		double from_ns;
	} of[BENCH_CPU_NAMES + 2]; /* "softirq" and "load" are the last two */
};

/* Adds NAME=PID,PID,... 0, or -1: that is not what `text` is. */
int bench_cpu_add(struct bench_cpu *c, const char *text);
/* Begins. When a process has ended meanwhile, both end this one with a sentence. */
void bench_cpu_begin(struct bench_cpu *c);
/* Prints the member "cpu_s": an object of the seconds since then by name. */
void bench_cpu_print(struct bench_cpu *c);

#endif
