/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/aggregation/agg_frames.h"

#include <stdio.h>
#include <string.h>

#include "bench/harness/capture.h"
#include "bench/harness/random_address.h"
#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"
#include "proto/net/ip.h"

#define HOPS 64u
#define STREAM 0x5eedu
#define GATEWAY 0x0a0000feu /* 10.0.0.254: source address of aggregates */
#define MTU_UDP (1500u - BP_IP4_HDR - 8u)

/* The sender of message `i`: each is 37 positions after the previous one, so that all senders
 * alternate. */
static struct bp_agg_sender sensor(uint32_t i)
{
	const uint32_t s = i * 37 % BENCH_AGG_SENSORS;
	struct bp_agg_sender from = {.port = (uint16_t)(32768 + s * 7919 % 28000), .hops = HOPS};

	bp_put_be32(from.addr, 0x0a000001u + s); /* 10.0.0.1 to 10.0.0.100 */
	return from;
}

static void payload(uint32_t i, uint8_t *p)
{
	char text[17];

	bp_agg_lin2018_put_header(p, BP_AGG_LIN2018_MESSAGE);
	bp_put_be32(p + BP_AGG_LIN2018_HEADER, i);
	snprintf(text, sizeof(text), "IOTMESSAGE%02u", i % 100);
	memcpy(p + BP_AGG_LIN2018_HEADER + 4, text, 12);
}

/* Adds headers to the UDP payload in the frame. Returns the frame length. */
static uint32_t wrap(uint8_t *frame, const struct bp_agg_sender *from, uint32_t payload_len)
{
	static const uint8_t head[14] = {2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1, 8, 0};
	uint8_t *ip = frame + BP_ETHER_HDR, *udp = ip + BP_IP4_HDR;
	const uint32_t udp_len = 8 + payload_len;
	uint64_t pseudo = (uint64_t)__builtin_bswap32(udp_len) + ((uint64_t)BP_PROTO_UDP << 8);
	uint16_t sum;

	memset(frame, 0, BENCH_AGG_AT_PAYLOAD);
	memcpy(frame, head, sizeof(head));
	ip[0] = 0x45;
	bp_put_be16(ip + BP_IP4_TOTAL, (uint16_t)(udp_len + BP_IP4_HDR));
	ip[BP_IP4_FRAGMENT] = 0x40; /* Don't Fragment, as ordinary sockets send */
	ip[BP_IP4_TTL] = from->hops;
	ip[BP_IP4_PROTOCOL] = BP_PROTO_UDP;
	memcpy(ip + BP_IP4_SRC, from->addr, 4);
	bp_put_be32(ip + BP_IP4_DST, BENCH_AGG_SERVER);
	sum = (uint16_t)~bp_sum_fold(bp_sum(ip, BP_IP4_HDR, 0));
	memcpy(frame + BENCH_AT_IP_SUM, &sum, 2);
	bp_put_be16(udp, from->port);
	bp_put_be16(udp + 2, BENCH_AGG_UDP);
	bp_put_be16(udp + 4, (uint16_t)udp_len);
	sum = (uint16_t)~bp_sum_fold(bp_sum(ip + BP_IP4_SRC, 8 + udp_len, pseudo));
	memcpy(frame + BENCH_AT_UDP_SUM, &sum, 2);
	return BENCH_AGG_AT_PAYLOAD + payload_len;
}

void bench_agg_message(uint32_t i, uint8_t *frame)
{
	const struct bp_agg_sender from = sensor(i);

	payload(i, frame + BENCH_AGG_AT_PAYLOAD);
	wrap(frame, &from, BENCH_AGG_PAYLOAD);
}

static uint32_t full(uint32_t i, unsigned n, uint8_t *frame)
{
	struct bp_agg_sender from = {.port = BENCH_AGG_UDP, .hops = HOPS};
	uint8_t space[BENCH_AGG_FRAME_MAX], p[BENCH_AGG_PAYLOAD];
	struct bp_agg_full_writer w;
	const uint8_t *made;
	size_t len = 0;

	bp_put_be32(from.addr, GATEWAY);
	bp_agg_full_begin(&w, space, BP_AGG_FULL_FRONT4(8), MTU_UDP, 4, (uint8_t)n);
	for (uint32_t k = i; k < i + n; k++) {
		const struct bp_agg_sender s = sensor(k);

		payload(k, p);
		bp_agg_full_append(&w, &s, p, sizeof(p));
	}
	made = bp_agg_full_end(&w, STREAM, i / n, &len);
	memcpy(frame + BENCH_AGG_AT_PAYLOAD, made, len);
	return wrap(frame, &from, (uint32_t)len);
}

uint32_t bench_agg_aggregate(uint32_t i, unsigned n, enum bp_agg_format format, uint8_t *frame)
{
	const struct bp_agg_sender first = sensor(i);
	uint8_t p[BENCH_AGG_PAYLOAD];

	if (format == BP_AGG_FORMAT_FULL)
		return full(i, n, frame);
	bp_agg_lin2018_put_header(frame + BENCH_AGG_AT_PAYLOAD, BP_AGG_LIN2018_PACKET);
	for (unsigned k = 0; k < n; k++) {
		payload(i + k, p);
		bp_agg_lin2018_put(frame + BENCH_AGG_AT_PAYLOAD, k, p + BP_AGG_LIN2018_HEADER);
	}
	return wrap(frame, &first, BP_AGG_LIN2018_LEN(n));
}

struct contents {
	unsigned n;
	enum bp_agg_format format;
};

_Static_assert(BENCH_AGG_FRAME_MAX <= BENCH_CAPTURE_FRAME_MAX, "there is room for each");

static uint32_t captured(uint32_t i, uint8_t *frame, const void *arg)
{
	const struct contents *c = arg;

	if (c->n != 0)
		return bench_agg_aggregate(i * c->n, c->n, c->format, frame);
	bench_agg_message(i, frame);
	return BENCH_AGG_FRAME;
}

int bench_agg_pcap(unsigned n, enum bp_agg_format format, const char *path)
{
	const struct contents c = {.n = n, .format = format};
	const uint32_t each = n != 0 ? n : 1;

	return bench_capture(path, (BENCH_AGG_MESSAGES + each - 1) / each, captured, &c);
}
