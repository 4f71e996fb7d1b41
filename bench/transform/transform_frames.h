/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_TRANSFORM_TRANSFORM_FRAMES_H
#define BP_BENCH_TRANSFORM_TRANSFORM_FRAMES_H

#include <stdint.h>

#include "proto/net/frame.h"
#include "proto/net/ip.h"

/*
 * Frames of a tracker: the 40 bytes of the paper (Kunze et al. 2021) over UDP and IPv4, in frames
 * of 82 bytes (without FCS), all from one address to the gateway's. Readings and matrices have the
 * random distributions of the authors' senders (services/transform/accuracy.h); no result exceeds
 * 64, the range of the packet format. Checksums are correct.
 */
#define BENCH_TRANSFORM_READINGS 1000u /* per capture */
#define BENCH_TRANSFORM_PAYLOAD 40u
#define BENCH_TRANSFORM_AT_PAYLOAD (BP_ETHER_HDR + BP_IP4_HDR + 8u)
#define BENCH_TRANSFORM_FRAME (BENCH_TRANSFORM_AT_PAYLOAD + BENCH_TRANSFORM_PAYLOAD)

#define BENCH_TRANSFORM_SOURCE 0x0a000000u   /* 10.0.0.0: the first tracker; up to 65,536 */
#define BENCH_TRANSFORM_TO 0x0a020001u       /* 10.2.0.1: destination of readings */
#define BENCH_TRANSFORM_RECEIVER 0x0a010009u /* 10.1.0.9: the robot */
#define BENCH_TRANSFORM_UDP 10000u
#define BENCH_TRANSFORM_RECEIVER_UDP 20000u

/* The payload of reading `i`. */
void bench_transform_payload(uint32_t i, uint8_t payload[BENCH_TRANSFORM_PAYLOAD]);
/* Writes its frame. */
void bench_transform_frame(uint32_t i, uint8_t frame[BENCH_TRANSFORM_FRAME]);
/* Writes the capture. Returns 0, or -1 with a message on stderr. */
int bench_transform_pcap(const char *path);

#endif
