/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_AGGREGATION_AGG_FRAMES_H
#define BP_BENCH_AGGREGATION_AGG_FRAMES_H

#include <stdint.h>

#include "biplane/aggregation.h"

/*
 * Frames of the aggregation benchmarks: messages of sensors, and aggregates of them. A message is a
 * frame of 64 bytes (without FCS) as in Lin et al. (2018): a flag header of type 0xfa and 16 bytes
 * of payload. A hundred sensors of one subnet, each with an address and port of its own, send to
 * one server in a mixed order. Checksums are correct.
 */
#define BENCH_AGG_MESSAGES 840u /* per capture: divisible by every number from 1 to 8 */
#define BENCH_AGG_SENSORS 100u
#define BENCH_AGG_FRAME 64u
#define BENCH_AGG_FRAME_MAX 2048u     /* of an aggregate */
#define BENCH_AGG_SERVER 0x0a010009u  /* 10.1.0.9 */
#define BENCH_AGG_STREAMS 0x0a010000u /* 10.1.0.0/16: addresses of many servers */
#define BENCH_AGG_UDP 5555u

/* Offsets in frames without VLAN tags. */
#define BENCH_AGG_AT_PAYLOAD 42u
#define BENCH_AGG_PAYLOAD (BENCH_AGG_FRAME - BENCH_AGG_AT_PAYLOAD)

/* Writes message `i` of a capture; frame[] has BENCH_AGG_FRAME bytes. */
void bench_agg_message(uint32_t i, uint8_t *frame);
/*
 * Writes messages `i` to i + n - 1 as one aggregate, n up to 8, with sequence number i / n; frame[]
 * has BENCH_AGG_FRAME_MAX bytes. Returns the frame length.
 */
uint32_t bench_agg_aggregate(uint32_t i, unsigned n, enum bp_agg_format format, uint8_t *frame);

/* Writes the capture: messages (n: 0), or aggregates of n messages. Returns 0, or -1 with a message
 * on stderr. */
int bench_agg_pcap(unsigned n, enum bp_agg_format format, const char *path);

#endif
