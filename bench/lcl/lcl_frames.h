/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_FRAMES_H
#define BP_BENCH_LCL_LCL_FRAMES_H

#include <stdint.h>

#include "services/lcl/scheduler.h"
#include "proto/net/frame.h"
#include "proto/net/ip.h"
#include "proto/lcl/lcl.h"

/* Frames of the LCL benchmarks: UDP over IPv4. Lengths are without FCS. */
#define BENCH_LCL_HEAD (BP_ETHER_HDR + BP_IP4_HDR + 8u) /* of a frame without label */
#define BENCH_LCL_UDP 7000u /* destination port of flow 0; the next flows use the next ports */

/* Writes a frame without label, `bytes` long, to UDP port `udp`; its payload is zeros. */
void bench_lcl_plain(uint8_t *frame, uint32_t bytes, uint16_t udp);

/*
 * The capture: labelled frames of BENCH_LCL_FRAME bytes, as in Ma et al., Table 1, of several flows
 * in turn, with a remaining delay of 30 to 33.5 us for three nodes.
 */
#define BENCH_LCL_FRAME 128u
#define BENCH_LCL_FRAMES 1000u
#define BENCH_LCL_FLOWS 8u
#define BENCH_LCL_HOPS 3
#define BENCH_LCL_DELAY_NS 30000

/* Time from one frame to the next at full load, ps. A slot contains whole frames, so a part of a
 * frame is unused in each slot: one percent of the link rate is left free for it. */
#define BENCH_LCL_EACH_PS(rate_bps)                                                                \
	((BENCH_LCL_FRAME + BP_LCL_LINK_OVERHEAD) * 8080000000000ull / (rate_bps))

uint16_t bench_lcl_flow_id(uint32_t flow);
/* The label of frame `i` of the capture; sequence numbers continue after BENCH_LCL_FRAMES. */
struct bp_lcl_label bench_lcl_label(uint32_t i);
/* Writes the frame. */
void bench_lcl_frame(uint32_t i, uint8_t frame[BENCH_LCL_FRAME]);
/* Writes the capture. Returns 0, or -1 with a message on stderr. */
int bench_lcl_pcap(const char *path);

#endif
