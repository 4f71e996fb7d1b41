/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_PEERS_PACKET_OPTIONS_H
#define BP_BENCH_PEERS_PACKET_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/harness/load_options.h"

struct bench_cpu;

/* Frame sizes in bytes include the frame check sequence, as in RFC 2544. */
#define PACKET_SIZE_MIN 64u
#define PACKET_SIZE_MAX 1518u
#define PACKET_FCS 4u
/* A batch has at most one frame of each connection. Each connection has a TCP port. */
#define PACKET_CONNECTIONS_MIN 32u
#define PACKET_CONNECTIONS_MAX 16384u

struct packet_options {
	struct bench_load_options load;
	const char *source, *destination; /* -s and -d: IPv4 addresses */
	uint32_t size;                    /* -z: frame size */
	uint32_t connections;             /* -c: MQTT connections; 0: UDP datagrams */
	bool open_loop;                   /* -o */
};

/* Reads the command line into `o`, and the processes of -P into `cpu`. False: an unknown option, an
 * invalid value, or a combination that cannot be measured. */
bool packet_options_read(
	struct packet_options *o, struct bench_cpu *cpu, int argc, char *const argv[]);

#endif
