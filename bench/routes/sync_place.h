/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_SYNC_PLACE_H
#define BP_BENCH_ROUTES_SYNC_PLACE_H

#include "bench/routes/sync_kernel.h"
#include "bench/routes/sync_planes.h"

/*
 * Setup of bench/routes/sync_rate.c: a router with two ports; on the first one the driver replays a
 * capture as fast as the worker polls. Its kernel interfaces are lan and wan, and the kernel has
 * routes through BENCH_GATEWAYS neighbors on the second one. Every function terminates the process
 * with a message on failure.
 */
#define BENCH_GATEWAYS 16u
/* Timeout of each wait. */
#define BENCH_PATIENCE_NS 10000000000ull

/* A route in the kernel. */
struct bench_route {
	bool there;
	uint8_t gateway;
};

struct bench {
	struct bench_planes planes;
	struct bench_kernel kernel;
	char file[256];
	int lan, wan;   /* ifindex */
	uint32_t n4, n; /* number of IPv4 prefixes, which come first, and of all */
	struct bp_prefix *prefix;
	struct bench_route *route;
	uint64_t random;
};

void bench_die(const char *what) __attribute__((noreturn));

/* Creates the setup with all routes in the kernel and without a control plane. The members that
 * b->planes needs, b->n4 and b->n are set. */
void bench_place(struct bench *b);

struct bp_address bench_gateway(uint8_t family, unsigned g);
/* Queues a request to add, replace or delete route i; bench_kernel_flush() sends it. */
void bench_request(struct bench *b, uint32_t i, bool there, unsigned g);

/* Checks that `biplane show routes --diff` finds no difference; immediately, or within the timeout
 * if the control plane does not report the completion. */
void bench_must_agree(struct bench *b);
void bench_await_agreement(struct bench *b);

#endif
