/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_ROUTE_FRAMES_H
#define BP_BENCH_ROUTES_ROUTE_FRAMES_H

#include <stdint.h>

#include "biplane/fib.h"

/* Frames of the routing benchmarks: UDP in frames of minimum size, a thousand flows. */
#define BENCH_ROUTE_FLOWS 1000u
#define BENCH_ROUTE4_FRAME 60u /* 64 with FCS */
#define BENCH_ROUTE6_FRAME 62u

/* Writes a frame of flow `i` to `dst` with a correct header checksum; dst->family selects the IP
 * version. Returns the frame length. */
uint32_t bench_route_frame(uint32_t i, const struct bp_address *dst, uint8_t *frame);
/* Destination of flow `i` with up to 16 routes: in one of the prefixes 16.0.0.0/8 .. 31.0.0.0/8. */
struct bp_address bench_route16(uint32_t i);
/* Writes the capture of the thousand flows. family 4: to bench_route16(i). Returns 0, or -1 with a
 * message on stderr. */
int bench_route_pcap(uint8_t family, const char *path);
/* The same with IPv4 frames of this number of bytes on the link including the FCS, from
 * BENCH_ROUTE_WIRE_MIN to BENCH_ROUTE_WIRE_MAX. */
#define BENCH_ROUTE_WIRE_MIN 64u
#define BENCH_ROUTE_WIRE_MAX 1518u
int bench_route_pcap_sized(uint32_t wire_bytes, const char *path);

#endif
