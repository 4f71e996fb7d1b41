/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_SINGLE_PLANE_H
#define BP_BENCH_HEALTH_PHD_SINGLE_PLANE_H

#include <stdatomic.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config;

/*
 * Reference program: a single-plane gateway as in the dual-plane paper, with one thread, UDP
 * sockets, and user data and signaling in one loop. It uses the manager, session table and
 * converter of biplane, and is optimised for speed: 64 datagrams per system call in both
 * directions, no copies, no allocation. It lacks two functions of biplane: message ids that are not
 * reused within 247 s (a socket has one port, which allows 264 per second), and retransmission of
 * unanswered requests.
 */
struct bench_single_plane {
	_Atomic uint64_t reports;  /* converted reports */
	_Atomic uint64_t requests; /* requests that the kernel accepted */
	_Atomic uint64_t refused;  /* requests that it refused */
	_Atomic uint64_t others;   /* datagrams for the manager */
	_Atomic uint32_t ready;    /* the sockets are open */
};

/* Runs until the process is killed; terminates the process on failure. */
void bench_single_plane_run(struct bench_single_plane *n, struct bp_shm *shm,
	const struct bp_config *c) __attribute__((noreturn));

#endif
