/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_ROUTE_TRAFFIC_H
#define BP_BENCH_ROUTES_ROUTE_TRAFFIC_H

#include <rte_ethdev.h>

#include "bench/routes/route_frames.h"

/*
 * Destinations over all routes: a capture that fits a cache cannot hold a million of them, so this
 * receive callback, which only the benchmark installs, writes the next destination into each frame,
 * with the checksum that goes with it. They come from a list in a random order, read from its
 * beginning to its end.
 */
struct bench_destinations {
	uint32_t n, next;
	uint8_t family;
	struct bench_destination4 {
		uint8_t address[4];
		uint16_t checksum; /* of the IPv4 header with it */
	} * ip4;
	struct bench_destination6 {
		uint8_t address[16];
	} * ip6;
};

/* Takes what it needs of the addresses; they must be of one family. */
void bench_destinations_init(
	struct bench_destinations *d, const struct bp_address *address, uint32_t n);
uint16_t bench_destinations_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
