/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_ROUTE_TRAFFIC_H
#define BP_BENCH_ROUTES_ROUTE_TRAFFIC_H

#include <rte_ethdev.h>

#include "bench/routes/route_frames.h"

/*
 * Destinations over all routes: a capture that fits in a cache cannot contain a million of them, so
 * this receive callback, installed only by the benchmark, writes the next destination and checksum
 * into each frame. The destinations are in a list in random order, which is read sequentially.
 */
struct bench_destinations {
	uint32_t n, next;
	uint8_t family;
	struct bench_destination4 {
		uint8_t address[4];
		uint16_t checksum; /* IPv4 header checksum with it */
	} * ip4;
	struct bench_destination6 {
		uint8_t address[16];
	} * ip6;
};

/* Copies the required data of the addresses, which must be of one family. */
void bench_destinations_init(
	struct bench_destinations *d, const struct bp_address *address, uint32_t n);
uint16_t bench_destinations_rx(uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n,
	uint16_t max, void *arg);

#endif
