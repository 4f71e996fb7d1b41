/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_ROUTES_H
#define BP_BENCH_ROUTES_ROUTES_H

#include "bench/routes/route_traffic.h"
#include "shm/fib/fib_writer.h"

/*
 * A router for the measurements: port 0 is where frames come from (its MAC is the destination of
 * bench/routes/route_frames.h and of bench/harness/traffic.h), port 1 is where all routes lead,
 * through 16 gateways.
 */
struct bench_routes {
	struct bp_fib_writer *writer;
	struct bench_destinations
		destinations; /* n is 0 with up to 16 routes: the capture has them */
};

/* Up to 16 routes: those of bench_route16(). More: as many as on the Internet, by
 * bench/routes/route_mix.h. Ends the process when something is refused. */
void bench_routes_set_up(struct bench_routes *r, struct bp_fib *fib, uint8_t family, uint32_t n);

/* Leads a prefix through gateway `through` modulo 16. */
enum bp_fib_result bench_route_change(
	struct bp_fib_writer *w, const struct bp_prefix *p, uint64_t through);
/* Makes it a subnet of port 1's. */
enum bp_fib_result bench_route_connect(struct bp_fib_writer *w, const struct bp_prefix *p);

#endif
