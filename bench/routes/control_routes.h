/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_CONTROL_ROUTES_H
#define BP_BENCH_ROUTES_CONTROL_ROUTES_H

#include "bench/harness/control.h"
#include "shm/fib/fib_writer.h"

/* Control messages that each name a route to change; the reader of the socket changes the
 * forwarding tables, as the control plane does after a netlink event. */
struct bench_control_routes {
	int fd; /* the socket */
	struct bp_fib_writer *writer;
	uint64_t applied;
	uint8_t message[64];
};

/* Call it before bench_control_start(). Takes ownership of the writer. Terminates the process on
 * failure. */
void bench_control_routes(struct bench_control *c, struct bench_control_routes *r,
	struct bp_fib_writer *writer, struct rte_mempool *pool);

#endif
