/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_CONTROL_ROUTES_H
#define BP_BENCH_ROUTES_CONTROL_ROUTES_H

#include "bench/harness/control.h"
#include "shm/fib/fib_writer.h"

/* Messages that each name a route which is to change; who reads the socket changes the forwarding
 * tables, as the control plane does when the kernel tells it of one. */
struct bench_control_routes {
	int fd; /* the socket */
	struct bp_fib_writer *writer;
	uint64_t applied;
	uint8_t message[64];
};

/* Before bench_control_start(). The writer is ours from now on. Ends the process when something is
 * refused. */
void bench_control_routes(struct bench_control *c, struct bench_control_routes *r,
	struct bp_fib_writer *writer, struct rte_mempool *pool);

#endif
