/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_FRAMES_H
#define BP_BENCH_AGGREGATION_AGG_FRAMES_H

#include <stdint.h>

#include "biplane/aggregation.h"

/*
 * What sensors send, and what a gateway makes of it: messages in frames of 64 bytes (without frame
 * checksum), each the paper's: a flag header of type 0xfa and 16 bytes. A hundred sensors of one
 * subnet, each with an address and port of its own, speak in a mixed order to one server. Checksums
 * are right.
 */
#define BENCH_AGG_MESSAGES 840u /* in a capture: every number from 1 to 8 divides it */
#define BENCH_AGG_SENSORS 100u
#define BENCH_AGG_FRAME 64u
#define BENCH_AGG_FRAME_MAX 2048u     /* of an aggregate */
#define BENCH_AGG_SERVER 0x0a010009u  /* 10.1.0.9 */
#define BENCH_AGG_STREAMS 0x0a010000u /* 10.1.0.0/16: where there are many servers */
#define BENCH_AGG_UDP 5555u

/* Of the frames, without VLAN tags. */
#define BENCH_AGG_AT_PAYLOAD 42u
#define BENCH_AGG_PAYLOAD (BENCH_AGG_FRAME - BENCH_AGG_AT_PAYLOAD)

/* Message `i` of a capture; frame[] has room for BENCH_AGG_FRAME bytes. */
void bench_agg_message(uint32_t i, uint8_t *frame);
/*
 * Messages `i` to i + n - 1 as one aggregate, n up to 8, with sequence number i / n; frame[] has
 * room for BENCH_AGG_FRAME_MAX bytes. Returns the frame's length.
 */
uint32_t bench_agg_aggregate(uint32_t i, unsigned n, enum bp_agg_format format, uint8_t *frame);

/* Writes the capture: of messages (n: 0), or of aggregates of n. Returns 0, or -1 with a sentence.
 */
int bench_agg_pcap(unsigned n, enum bp_agg_format format, const char *path);

#endif
