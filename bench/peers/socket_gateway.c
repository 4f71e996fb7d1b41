/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A gateway for one service of bench/peers/service_traffic.h that is an ordinary program of UDP
 * sockets, one thread that waits for datagrams; the kernel of its namespace has the gateway's
 * addresses.
 *
 *   socket_gateway aggregation | coordinates | health
 *
 * They are those of bench/aggregation/agg_socket_gateway.h, bench/transform/transform_socket.h (by
 * sendmmsg) and bench/health/phd_single_plane.h. Runs until it is ended.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/aggregation/agg_frames.h"
#include "bench/aggregation/agg_socket_gateway.h"
#include "bench/harness/phd_lab.h"
#include "bench/health/phd_single_plane.h"
#include "bench/peers/service_traffic.h"
#include "bench/transform/transform_socket.h"

static void aggregation(void)
{
	static struct bench_agg_socket_gateway n = {
		.messages = BENCH_SERVICE_MESSAGES, .server = BENCH_AGG_SERVER, .waits = true};

	bench_agg_socket_run(&n);
}

static void coordinates(void)
{
	static struct bench_transform_socket n = {.way = BENCH_TRANSFORM_BATCHES, .waits = true};
	double m[12];

	for (unsigned row = 0; row < 3; row++) {
		memcpy(m + 3 * (size_t)row, bench_service_matrix[row], 3 * sizeof(double));
		m[9 + row] = bench_service_matrix[row][3];
	}
	bench_transform_socket_matrix(BENCH_SERVICE_TRACKER, m);
	bench_transform_socket_run(&n);
}

static void health(void)
{
	static const char configuration[] =
		"name: bench\nports:\n"
		"  - {name: devices, device: net_null0, routed: {addresses: [10.0.0.1/24]}}\n"
		"health_devices:\n  listen: {udp_port: 6024, tcp_port: off}\n  "
		"content_instance_per: report\n"
		"  limits: {association_rate: 1000000}\n  cse: {coap: \"coap://10.3.0.20\"}\n";
	static struct bench_single_plane n;
	static struct bp_shm shm;
	struct bp_config *c = bench_phd_lab_config(configuration);

	bench_phd_lab_segment(&shm, c);
	bench_single_plane_run(&n, &shm, c);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} services[] = {
		{"aggregation", aggregation}, {"coordinates", coordinates}, {"health", health}};

	for (unsigned i = 0; argc == 2 && i < sizeof(services) / sizeof(services[0]); i++)
		if (strcmp(argv[1], services[i].name) == 0)
			services[i].run();
	fprintf(stderr, "usage: socket_gateway aggregation|coordinates|health\n");
	return 64;
}
