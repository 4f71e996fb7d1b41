/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_ROUTES_H
#define BP_BENCH_ROUTES_ROUTES_H

#include "bench/routes/route_traffic.h"
#include "shm/fib/fib_writer.h"

/*
 * Router setup of the benchmarks: port 0 is the input (its MAC address is the destination of
 * bench/routes/route_frames.h and of bench/harness/traffic.h); all routes lead to 16 gateways on
 * port 1.
 */
struct bench_routes {
	struct bp_fib_writer *writer;
	struct bench_destinations
		destinations; /* n is 0 with up to 16 routes: the capture has the destinations */
};

/* Up to 16 routes: those of bench_route16(). More: a table like that of the Internet, by
 * bench/routes/route_mix.h. Terminates the process on failure. */
void bench_routes_set_up(struct bench_routes *r, struct bp_fib *fib, uint8_t family, uint32_t n);

/* Adds a route to the prefix via gateway `through` modulo 16. */
enum bp_fib_result bench_route_change(
	struct bp_fib_writer *w, const struct bp_prefix *p, uint64_t through);
/* Adds the prefix as a connected subnet of port 1. */
enum bp_fib_result bench_route_connect(struct bp_fib_writer *w, const struct bp_prefix *p);

#endif
