/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_CPU_OF_H
#define BP_BENCH_HARNESS_CPU_OF_H

#include <sys/types.h>

/*
 * CPU time of all participants of a measurement: named processes (a name may have several), this
 * process, and the softirq threads of the kernel (ksoftirqd), which are shared by the whole
 * machine. Softirq work that the kernel does in the context of a sender is accounted to the sender.
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

/* Adds NAME=PID,PID,... Returns 0, or -1 on a syntax error. */
int bench_cpu_add(struct bench_cpu *c, const char *text);
/* Starts the measurement. If a process has ended meanwhile, both functions terminate this one with
 * a message. */
void bench_cpu_begin(struct bench_cpu *c);
/* Prints the member "cpu_s": an object with the CPU seconds since then by name. */
void bench_cpu_print(struct bench_cpu *c);

#endif
