/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_SINGLE_PLANE_H
#define BP_BENCH_HEALTH_PHD_SINGLE_PLANE_H

#include <stdatomic.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config;

/*
 * A gateway of one plane, as the dual-plane paper compares with: one thread, ordinary UDP sockets,
 * user data and signalling in one loop. It has the same manager, session table and converter as
 * biplane, and what makes such a program fast: 64 datagrams a system call either way, no copy of
 * its own, no allocation. What biplane does and this does not: message ids that are not used again
 * within 247 s (one socket is one port, which has 264 a second), and repeats that are sent as they
 * were.
 */
struct bench_single_plane {
	_Atomic uint64_t reports;  /* converted */
	_Atomic uint64_t requests; /* that the kernel took */
	_Atomic uint64_t refused;  /* that it did not */
	_Atomic uint64_t others;   /* datagrams that went to the manager */
	_Atomic uint32_t ready;    /* its sockets are open */
};

/* Runs until the process is ended; ends it when something is refused. */
void bench_single_plane_run(struct bench_single_plane *n, struct bp_shm *shm,
	const struct bp_config *c) __attribute__((noreturn));

#endif
