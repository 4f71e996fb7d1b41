/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_PEERS_SERVICE_TRAFFIC_H
#define BP_BENCH_PEERS_SERVICE_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What devices send to a service of the gateway, and whether what arrives behind it is right: a
 * sensor's messages in aggregates, a tracker's readings as coordinates, reports of health devices
 * as requests to a CSE. Each message has a number, which can be read from what arrives.
 *
 * Devices are in 10.0.0.0/24 (health devices in 10.64.0.0/10), the gateway is 10.0.0.1 there and
 * 10.2.0.1 at the other side, server and robot are 10.1.0.9, the CSE is 10.3.0.20.
 */
#define BENCH_SERVICE_PAYLOAD_MAX 64u
#define BENCH_SERVICE_MESSAGES 8u /* N, of an aggregate */
#define BENCH_SERVICE_SPACE                                                                        \
	2000000000u /* numbers of a run begin below, at a multiple of 1,000,000 */
#define BENCH_SERVICE_TRACKER 0x0a000002u /* 10.0.0.2 */

/* Of the tracker's readings, by rows: what the YAML of bench/peers/peers_services.sh says too. */
static const double bench_service_matrix[3][4] = {{0, -1, 0, 1.5}, {1, 0, 0, 0}, {0, 0, 1, 0.25}};

struct bench_service_sender {
	uint32_t address; /* host byte order, as the port */
	uint16_t port;
};

struct bench_service {
	const char *name;
	uint16_t udp;      /* port that devices send to */
	uint16_t receiver; /* port that results go to */
	/* Where results may be taken as a sample: four bytes of them of which the lower half is as
	 * often one number as another; else there is no such place. */
	bool sampled;
	unsigned sample_at;
	/* Writes message `number`; returns its length. */
	unsigned (*make)(uint32_t number, struct bench_service_sender *from,
		uint8_t payload[BENCH_SERVICE_PAYLOAD_MAX]);
	/* The numbers of the messages that a result is of, to out[]; how many there are, or 0 when
	 * it is not what it should be. */
	unsigned (*check_reply)(
		const uint8_t *payload, size_t len, uint32_t out[BENCH_SERVICE_MESSAGES]);
};

/* NULL: there is none of that name. */
const struct bench_service *bench_service_find(const char *name);

#endif
