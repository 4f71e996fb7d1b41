/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_TRAFFIC_H
#define BP_BENCH_HARNESS_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Traffic of the inspection benchmarks: every frame is a PUBLISH of one length, one connection
 * after another. The driver replays a capture of `frames` frames in a loop; fields that differ
 * between passes (sequence numbers, and addresses with many connections) are written by the receive
 * callback of the benchmark, see advance.c.
 */
#define BENCH_FRAMES 1000u       /* one frame per connection; fits in the L2 cache */
#define BENCH_PAIRS_FRAMES 2000u /* the same of BENCH_PAIRS: two topics of each cell */
#define BENCH_FRAMES_MAX BENCH_PAIRS_FRAMES
/* First client address; the others follow. None is in the subnet of the gateway. */
#define BENCH_CLIENT 0x0a000400u
#define BENCH_RAISE_EVERY 20u /* 5 % of the values are above the threshold */
#define BENCH_OBSERVE_EVERY 100u
#define BENCH_FRAME_MAX 512u
#define BENCH_HEADERS 54u /* Ethernet, IPv4, TCP without options */

/* Topics of a connection; of text only. Their last level has 4 bytes. */
#define BENCH_TOPICS_MAX 8u
#define BENCH_TOPIC_LEVEL_AT 70u /* of that level, in the frame */
extern const char bench_topic_level[BENCH_TOPICS_MAX][5];

/* Pairs: text, on two topics of each cell: plant/CELL/temp and plant/CELL/pres. */
enum bench_payload { BENCH_TEXT, BENCH_JSON, BENCH_SPARKPLUG, BENCH_PAIRS };

struct bench_traffic {
	enum bench_payload kind;
	uint32_t mqtt_len; /* bytes of TCP payload per frame, also of CONNECT */
	uint32_t frame_len;
	uint32_t frames; /* of the capture, each of a connection of its own */
};

void bench_traffic_init(struct bench_traffic *t, enum bench_payload kind);
/* The connection of a frame of the capture. */
uint32_t bench_connection(const struct bench_traffic *t, uint32_t frame);
/* Whether the values of a connection raise alarms: those of one in BENCH_RAISE_EVERY. */
bool bench_is_over(const struct bench_traffic *t, uint32_t c);
/* Whether a policy observes the publications of a connection: those of one in
 * BENCH_OBSERVE_EVERY. */
bool bench_is_observed(uint32_t c);
/* The PUBLISH of connection `c`, sequence number bench_isn(c), correct checksums. */
void bench_publish(const struct bench_traffic *t, uint32_t c, uint8_t *frame);
/* The CONNECT, as long as a PUBLISH; only its MQTT part, with a client identifier that ends with
 * the digits of `c`; and the length of that. */
void bench_connect(const struct bench_traffic *t, uint32_t c, uint8_t *mqtt);
uint32_t bench_client_id_len(const struct bench_traffic *t);
#define BENCH_CLIENT_DIGITS 5u
/* The NBIRTH of the same connection, likewise; only its MQTT part. Its metric is the sixth of those
 * in the PUBLISH, which has only aliases. */
#define BENCH_METRIC "Motor/Temperature"
void bench_birth(const struct bench_traffic *t, uint32_t c, uint8_t *mqtt);
/* The last 4 bytes of data of Sparkplug B: its sequence number, a varint of three bytes for all. */
uint32_t bench_sparkplug_seq(uint8_t seq);
/* Sequence number of the first byte after the SYN. */
uint32_t bench_isn(uint32_t c);
/* Recomputes IPv4 and TCP checksums of a frame of `len` bytes. */
void bench_checksums(uint8_t *frame, uint32_t len);
/* Writes the capture. Returns 0, or -1 with a message on stderr. */
int bench_write_pcap(const struct bench_traffic *t, const char *path);

#endif
