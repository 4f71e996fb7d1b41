/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/transform/transform_frames.h"

#include <math.h>
#include <string.h>

#include "services/aggregation/datagram.h"
#include "bench/harness/capture.h"
#include "services/transform/accuracy.h"

#define SENDER_UDP 10000u /* source port of the authors' clients */

void bench_transform_payload(uint32_t i, uint8_t payload[BENCH_TRANSFORM_PAYLOAD])
{
	struct bp_transform_draw d = {i + 1};
	double meant[3], sent[3];

	bp_transform_draw_sample(&d, meant, sent);
	memset(payload, 0, BENCH_TRANSFORM_PAYLOAD);
	for (unsigned k = 0; k < 3; k++)
		bp_put_be32(payload + 4 * (size_t)k, (uint32_t)(int32_t)ldexp(sent[k], 25));
}

void bench_transform_frame(uint32_t i, uint8_t frame[BENCH_TRANSFORM_FRAME])
{
	static const uint8_t head[BP_ETHER_HDR] = {2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1, 8, 0};
	uint8_t *payload = frame + BENCH_TRANSFORM_AT_PAYLOAD, src[4], dst[4];
	const struct bp_datagram_head h = {.src = src,
		.dst = dst,
		.sport = SENDER_UDP,
		.dport = BENCH_TRANSFORM_UDP,
		.family = 4,
		.hops = 64,
		.dont_fragment = true};

	memcpy(frame, head, sizeof(head));
	bp_put_be32(src, BENCH_TRANSFORM_SOURCE);
	bp_put_be32(dst, BENCH_TRANSFORM_TO);
	bench_transform_payload(i, payload);
	bp_datagram_put_head(frame + BP_ETHER_HDR, &h, BENCH_TRANSFORM_PAYLOAD,
		bp_sum(payload, BENCH_TRANSFORM_PAYLOAD, 0));
}

static uint32_t captured(uint32_t i, uint8_t *frame, const void *arg)
{
	(void)arg;
	bench_transform_frame(i, frame);
	return BENCH_TRANSFORM_FRAME;
}

_Static_assert(BENCH_TRANSFORM_FRAME <= BENCH_CAPTURE_FRAME_MAX, "there is room for each");

int bench_transform_pcap(const char *path)
{
	return bench_capture(path, BENCH_TRANSFORM_READINGS, captured, NULL);
}
