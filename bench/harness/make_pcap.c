/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the captures that are replayed by both biplane and dpdk-testpmd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/aggregation/agg_frames.h"
#include "bench/lcl/lcl_frames.h"
#include "bench/health/phd_frames.h"
#include "bench/routes/route_frames.h"
#include "bench/harness/traffic.h"
#include "bench/transform/transform_frames.h"

/* The traffic of the frame size series. */
static int sized(const char *bytes, const char *path)
{
	const unsigned long n = strtoul(bytes, NULL, 10);

	if (n < BENCH_ROUTE_WIRE_MIN || n > BENCH_ROUTE_WIRE_MAX) {
		fprintf(stderr,
			"make_pcap: frames of %s bytes: expected %u to %u, with the frame check "
			"sequence\n",
			bytes, BENCH_ROUTE_WIRE_MIN, BENCH_ROUTE_WIRE_MAX);
		return 64;
	}
	return bench_route_pcap_sized((uint32_t)n, path) != 0;
}

int main(int argc, char **argv)
{
	struct bench_traffic t;

	if (argc == 4 && strcmp(argv[1], "route4") == 0)
		return sized(argv[2], argv[3]);

	if (argc == 3 && (strcmp(argv[1], "route4") == 0 || strcmp(argv[1], "route6") == 0))
		return bench_route_pcap(argv[1][5] == '4' ? 4 : 6, argv[2]) != 0;
	if (argc == 3 && strcmp(argv[1], "phd") == 0)
		return bench_phd_pcap(argv[2]) != 0;
	if (argc == 3 && strcmp(argv[1], "agg") == 0)
		return bench_agg_pcap(0, BP_AGG_FORMAT_FULL, argv[2]) != 0;
	if (argc == 3 && strcmp(argv[1], "disagg") == 0)
		return bench_agg_pcap(8, BP_AGG_FORMAT_FULL, argv[2]) != 0;
	if (argc == 3 && strcmp(argv[1], "lcl") == 0)
		return bench_lcl_pcap(argv[2]) != 0;
	if (argc == 3 && strcmp(argv[1], "transform") == 0)
		return bench_transform_pcap(argv[2]) != 0;
	if (argc != 3 ||
		(strcmp(argv[1], "text") != 0 && strcmp(argv[1], "json") != 0 &&
			strcmp(argv[1], "sparkplug") != 0 && strcmp(argv[1], "pairs") != 0)) {
		fprintf(stderr, "usage: make_pcap "
				"text|json|sparkplug|pairs|route4|route6|phd|agg|disagg|lcl|"
				"transform FILE\n"
				"       make_pcap route4 BYTES FILE\n");
		return 64;
	}
	bench_traffic_init(&t, argv[1][0] == 't'   ? BENCH_TEXT
			       : argv[1][0] == 's' ? BENCH_SPARKPLUG
			       : argv[1][0] == 'p' ? BENCH_PAIRS
						   : BENCH_JSON);
	return bench_write_pcap(&t, argv[2]) != 0;
}
