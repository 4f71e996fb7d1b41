/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_LCL_LCL_H
#define BP_PROTO_LCL_LCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The latency control label: 14 bytes after the MAC addresses, before the former contents (a VLAN
 * tag or the EtherType, which keeps its position and is the "original EtherType" of the label).
 * Network byte order.
 *
 *    0  2  EtherType, 0x88b5 unless configured
 *    2  1  version, 1
 *    3  1  n: remaining nodes, including the receiver of the frame; 1 or more on a link
 *    4  4  d: remaining queueing time, ns, two's complement (negative: late)
 *    8  2  flow
 *   10  4  sequence number in the flow
 *   14     original EtherType or VLAN tag ...
 */
#define BP_LCL_LABEL 14u
#define BP_LCL_AT 12u /* its offset in a frame */
#define BP_LCL_VERSION 1
#define BP_LCL_ETHERTYPE 0x88b5
/* A labelled frame is at least so long: addresses, label, original EtherType. */
#define BP_LCL_FRAME_MIN (BP_LCL_AT + BP_LCL_LABEL + 2)
/* Limits of n and of the absolute value of d; a label beyond them is invalid. */
#define BP_LCL_HOPS_MAX 64
#define BP_LCL_DELAY_MAX_NS 1000000000

struct bp_lcl_label {
	int32_t d;
	uint32_t sequence;
	uint16_t flow;
	uint8_t n;
};

enum bp_lcl_verdict {
	BP_LCL_NONE, /* another EtherType */
	BP_LCL_GOOD,
	BP_LCL_TRUNCATED, /* shorter than BP_LCL_FRAME_MIN */
	BP_LCL_BAD_VERSION,
	BP_LCL_BAD_HOPS,  /* n = 0, or above BP_LCL_HOPS_MAX */
	BP_LCL_BAD_DELAY, /* the absolute value of d exceeds BP_LCL_DELAY_MAX_NS */
};

/* Reads the label of an Ethernet frame with `len` readable bytes at `frame`; *out is written with
 * GOOD only. */
enum bp_lcl_verdict bp_lcl_read(
	const uint8_t *frame, size_t len, uint16_t ethertype, struct bp_lcl_label *out);
/* Writes one at `at`, BP_LCL_LABEL bytes. */
void bp_lcl_write(uint8_t *at, uint16_t ethertype, const struct bp_lcl_label *label);

/* Replaces d in a labelled frame. */
static inline void bp_lcl_set_delay(uint8_t *frame, int32_t d)
{
	const uint32_t v = __builtin_bswap32((uint32_t)d);

	memcpy(frame + BP_LCL_AT + 4, &v, sizeof(v));
}

#endif
