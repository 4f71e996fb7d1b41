/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lcl/lcl_frames.h"

#include <string.h>

#include "services/aggregation/datagram.h"
#include "bench/harness/capture.h"

#define SENDER_UDP 40000u

/* so that each pass over the capture ends with a complete round of the flows */
_Static_assert(BENCH_LCL_FRAMES % BENCH_LCL_FLOWS == 0, "flows take their turns");

void bench_lcl_plain(uint8_t *frame, uint32_t bytes, uint16_t udp)
{
	static const uint8_t ether[BP_ETHER_HDR] = {2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1, 8, 0};
	static const uint8_t src[4] = {10, 0, 0, 1}, dst[4] = {10, 1, 0, 9};
	const struct bp_datagram_head h = {.src = src,
		.dst = dst,
		.sport = SENDER_UDP,
		.dport = udp,
		.family = 4,
		.hops = 64,
		.dont_fragment = true};

	memset(frame, 0, bytes);
	memcpy(frame, ether, sizeof(ether));
	bp_datagram_put_head(frame + BP_ETHER_HDR, &h, bytes - BENCH_LCL_HEAD, 0);
}

uint16_t bench_lcl_flow_id(uint32_t flow)
{
	return (uint16_t)(100 + flow);
}

struct bp_lcl_label bench_lcl_label(uint32_t i)
{
	return (struct bp_lcl_label){.d = BENCH_LCL_DELAY_NS + 500 * (int32_t)(i % BENCH_LCL_FLOWS),
		.sequence = i / BENCH_LCL_FLOWS,
		.flow = bench_lcl_flow_id(i % BENCH_LCL_FLOWS),
		.n = BENCH_LCL_HOPS};
}

void bench_lcl_frame(uint32_t i, uint8_t frame[BENCH_LCL_FRAME])
{
	const struct bp_lcl_label label = bench_lcl_label(i);
	uint8_t plain[BENCH_LCL_FRAME];

	bench_lcl_plain(plain, BENCH_LCL_FRAME - BP_LCL_LABEL,
		(uint16_t)(BENCH_LCL_UDP + i % BENCH_LCL_FLOWS));
	memcpy(frame, plain, BP_LCL_AT);
	bp_lcl_write(frame + BP_LCL_AT, BP_LCL_ETHERTYPE, &label);
	memcpy(frame + BP_LCL_AT + BP_LCL_LABEL, plain + BP_LCL_AT,
		BENCH_LCL_FRAME - BP_LCL_LABEL - BP_LCL_AT);
}

static uint32_t captured(uint32_t i, uint8_t *frame, const void *arg)
{
	(void)arg;
	bench_lcl_frame(i, frame);
	return BENCH_LCL_FRAME;
}

int bench_lcl_pcap(const char *path)
{
	return bench_capture(path, BENCH_LCL_FRAMES, captured, NULL);
}
