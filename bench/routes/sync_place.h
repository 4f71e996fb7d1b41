/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_SYNC_PLACE_H
#define BP_BENCH_ROUTES_SYNC_PLACE_H

#include "bench/routes/sync_kernel.h"
#include "bench/routes/sync_planes.h"

/*
 * Where bench/routes/sync_rate.c measures: a router with two ports, through the first of which the
 * driver replays a capture as fast as it is taken; its kernel interfaces lan and wan, and routes of
 * the kernel's through BENCH_GATEWAYS neighbors on the second. Every function ends the process,
 * with a sentence, when something does not come about.
 */
#define BENCH_GATEWAYS 16u
/* What takes longer will not come. */
#define BENCH_PATIENCE_NS 10000000000ull

/* A route as the kernel has it. */
struct bench_route {
	bool there;
	uint8_t gateway;
};

struct bench {
	struct bench_planes planes;
	struct bench_kernel kernel;
	char file[256];
	int lan, wan;   /* ifindex */
	uint32_t n4, n; /* IPv4 prefixes, which come first, and all */
	struct bp_prefix *prefix;
	struct bench_route *route;
	uint64_t random;
};

void bench_die(const char *what) __attribute__((noreturn));

/* Makes it, with all routes in the kernel and without a control plane. What b->planes needs and
 * b->n4 and b->n are set. */
void bench_place(struct bench *b);

struct bp_address bench_gateway(uint8_t family, unsigned g);
/* Has the kernel add, replace or delete route i; bench_kernel_flush() sends it. */
void bench_request(struct bench *b, uint32_t i, bool there, unsigned g);

/* `biplane show routes --diff` finds none; at once, or where there is no word to wait for, in time.
 */
void bench_must_agree(struct bench *b);
void bench_await_agreement(struct bench *b);

#endif
