/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_VETH_H
#define BP_BENCH_TRANSFORM_TRANSFORM_VETH_H

#include <stdint.h>
#include <sys/types.h>

#include "bench/harness/instance.h"

/* biplane in the gateway namespace of bench/harness/veth_lab.h, as a separate process. */
struct bench_veth_biplane {
	const char *program; /* the command biplane */
	const char *driver;  /* af_packet or af_xdp */
	char name[BENCH_INSTANCE];
	char dir[256]; /* its files; removed at the end */
	pid_t pid;
	pid_t worker; /* its worker thread */
};

/* Starts it with one worker, on core 1, in adaptive poll mode: so the CPU time of the worker is the
 * cost of the readings at any rate. `m`: matrix of the tracker, column by column. */
void bench_veth_biplane_start(struct bench_veth_biplane *b, const double m[12]);
/* Sets and returns its worker once it runs; 0 before. */
pid_t bench_veth_biplane_worker(struct bench_veth_biplane *b);
/* CPU time of its worker so far, ns. */
double bench_veth_biplane_ns(const struct bench_veth_biplane *b);
void bench_veth_biplane_stop(struct bench_veth_biplane *b);

#endif
