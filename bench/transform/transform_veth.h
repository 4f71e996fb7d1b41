/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_VETH_H
#define BP_BENCH_TRANSFORM_TRANSFORM_VETH_H

#include <stdint.h>
#include <sys/types.h>

#include "bench/harness/instance.h"

/* biplane itself in the namespace of bench/harness/veth_lab.h, as a program of its own. */
struct bench_veth_biplane {
	const char *program; /* the command biplane */
	const char *driver;  /* af_packet or af_xdp */
	char name[BENCH_INSTANCE];
	char dir[256]; /* its files; gone at the end */
	pid_t pid;
	pid_t worker; /* thread */
};

/* Starts it with one worker, on processor 1, which sleeps when it finds nothing: then its processor
 * time is what readings cost, however slowly they come. `m`: the tracker's matrix, column by
 * column. */
void bench_veth_biplane_start(struct bench_veth_biplane *b, const double m[12]);
/* Notes its worker once it runs; 0 while it does not. */
pid_t bench_veth_biplane_worker(struct bench_veth_biplane *b);
/* Processor time of its worker so far, ns. */
double bench_veth_biplane_ns(const struct bench_veth_biplane *b);
void bench_veth_biplane_stop(struct bench_veth_biplane *b);

#endif
