/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_PEERS_PACKET_TRAFFIC_H
#define BP_BENCH_PEERS_PACKET_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_options;

/*
 * The frames of bench/peers/packet_load.c: UDP datagrams (packet_udp.c), or the publications of
 * MQTT connections (packet_mqtt.c). Frames are numbered from 0 in the order in which they are sent.
 * Each function ends the process with a message if the kernel refuses a request.
 */
struct packet_sample {
	uint64_t number;  /* of the frame */
	uint64_t sent_ns; /* the time stamp of the frame; 0: it has none */
};

struct packet_traffic {
	/* In the receiving namespace: opens the sockets. Returns the one that gets the sampled
	 * frames. */
	int (*open_receiver)(const struct packet_options *o);
	/* In the sending namespace, when the receiver is open: makes the frames, and waits until
	 * frames pass through. Ends the process if none does. */
	void (*open_sender)(const struct packet_options *o);
	/* Sends frames first .. first + n - 1, n from 1 to BENCH_LOAD_BATCH. Returns how many the
	 * kernel accepted. */
	uint32_t (*send)(void *unused, uint64_t first, uint32_t n);
	/* The number of frames that have arrived since the receiver was opened. Only one thread
	 * calls it. */
	uint64_t (*arrived)(void);
	/* Reads the sampled frame; false: it is not one of these. */
	bool (*sample)(const uint8_t *data, size_t len, struct packet_sample *out);
};

extern const struct packet_traffic packet_udp, packet_mqtt;

#define PACKET_TIMEOUT_NS 10000000000ull /* until the first frame has to pass through */

#endif
