/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/route_frames.h"

#include <string.h>

#include "bench/harness/capture.h"
#include "proto/net/ip.h"

#define ETHER_CHECK 4u /* the FCS, which is only on the link */

static void ethernet(uint8_t *frame, uint16_t type)
{
	static const uint8_t addresses[12] = {2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1};

	memcpy(frame, addresses, sizeof(addresses));
	bp_put_be16(frame + 12, type);
}

static void udp(uint8_t *p, uint32_t i, uint16_t length)
{
	bp_put_be16(p, (uint16_t)(1024 + i));
	bp_put_be16(p + 2, 5683);
	bp_put_be16(p + 4, length);
}

static uint32_t frame4(uint32_t i, const struct bp_address *dst, uint32_t bytes, uint8_t *frame)
{
	uint8_t *h = frame + BP_ETHER_HDR;
	uint16_t sum;

	ethernet(frame, BP_ETHER_IP4);
	h[0] = 0x45;
	bp_put_be16(h + BP_IP4_TOTAL, (uint16_t)(bytes - BP_ETHER_HDR));
	h[BP_IP4_TTL] = 64;
	h[BP_IP4_PROTOCOL] = BP_PROTO_UDP;
	bp_put_be32(h + BP_IP4_SRC, 0x0a000000u + 2 + i);
	memcpy(h + BP_IP4_DST, dst->bytes, 4);
	sum = (uint16_t)~bp_sum_fold(bp_sum(h, BP_IP4_HDR, 0));
	memcpy(h + 10, &sum, 2);
	udp(h + BP_IP4_HDR, i, (uint16_t)(bytes - BP_ETHER_HDR - BP_IP4_HDR));
	return bytes;
}

static uint32_t frame6(uint32_t i, const struct bp_address *dst, uint8_t *frame)
{
	uint8_t *h = frame + BP_ETHER_HDR;

	ethernet(frame, BP_ETHER_IP6);
	h[0] = 0x60;
	bp_put_be16(h + BP_IP6_PAYLOAD, BENCH_ROUTE6_FRAME - BP_ETHER_HDR - BP_IP6_HDR);
	h[BP_IP6_NEXT] = BP_PROTO_UDP;
	h[BP_IP6_HOPS] = 64;
	bp_put_be32(h + BP_IP6_SRC, 0xfd000000u);
	bp_put_be32(h + BP_IP6_SRC + 12, 2 + i);
	memcpy(h + BP_IP6_DST, dst->bytes, 16);
	udp(h + BP_IP6_HDR, i, BENCH_ROUTE6_FRAME - BP_ETHER_HDR - BP_IP6_HDR);
	return BENCH_ROUTE6_FRAME;
}

uint32_t bench_route_frame(uint32_t i, const struct bp_address *dst, uint8_t *frame)
{
	memset(frame, 0, BENCH_ROUTE6_FRAME);
	return dst->family == 4 ? frame4(i, dst, BENCH_ROUTE4_FRAME, frame) : frame6(i, dst, frame);
}

struct bp_address bench_route16(uint32_t i)
{
	struct bp_address a = {.family = 4};

	bp_put_be32(a.bytes, 0x10000000u + i % 16 * 0x01000000u + i * 2654435761u % 0x00ffffffu);
	return a;
}

static uint32_t captured(uint32_t i, uint8_t *frame, const void *family)
{
	static const struct bp_address anywhere = {
		.family = 6, .bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	const struct bp_address dst = *(const uint8_t *)family == 4 ? bench_route16(i) : anywhere;

	return bench_route_frame(i, &dst, frame);
}

/* Frames of *bytes, which may be longer than those of bench_route_frame(). */
static uint32_t captured_sized(uint32_t i, uint8_t *frame, const void *bytes)
{
	const struct bp_address dst = bench_route16(i);
	const uint32_t n = *(const uint32_t *)bytes;

	memset(frame, 0, n);
	return frame4(i, &dst, n, frame);
}

int bench_route_pcap_sized(uint32_t wire_bytes, const char *path)
{
	const uint32_t bytes = wire_bytes - ETHER_CHECK;

	return bench_capture(path, BENCH_ROUTE_FLOWS, captured_sized, &bytes);
}

int bench_route_pcap(uint8_t family, const char *path)
{
	return bench_capture(path, BENCH_ROUTE_FLOWS, captured, &family);
}
