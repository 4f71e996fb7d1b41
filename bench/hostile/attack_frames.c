/* SPDX-License-Identifier: BSD-3-Clause */
/* The most expensive known frames for each parser and each table, except inspection. */
#include <string.h>

#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "biplane/counters/lcl.h"
#include "biplane/counters/transform.h"
#include "services/aggregation/datagram.h"
#include "bench/aggregation/agg_frames.h"
#include "bench/hostile/attacks.h"
#include "bench/harness/draw.h"
#include "bench/lcl/lcl_frames.h"
#include "bench/health/phd_frames.h"
#include "bench/transform/transform_frames.h"
#include "proto/aggregation/agg_full.h"
#include "proto/lcl/lcl.h"

#define HEAD (BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR)
#define FRAME_MIN 60u
#define FRAME_MAX 1514u
#define CLIENT 0x0a000009u  /* 10.0.0.9 */
#define SERVERS 0x0a010000u /* 10.1.0.0/16, reachable by a route of the gateway */
#define CSE 0x0a030014u     /* bench/health/phd_place.h */
#define COAP 5683u

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void ethernet(uint8_t *frame, uint16_t type)
{
	static const uint8_t addresses[12] = {2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1};

	memcpy(frame, addresses, sizeof(addresses));
	bp_put_be16(frame + 12, type);
}

/* Adds headers to the `len` bytes of payload in the frame. Returns the frame length. */
static uint32_t udp(
	uint8_t *frame, uint32_t from, uint16_t sport, uint32_t to, uint16_t dport, uint32_t len)
{
	uint8_t src[4], dst[4];
	const struct bp_datagram_head h = {.src = src,
		.dst = dst,
		.sport = sport,
		.dport = dport,
		.family = 4,
		.hops = 64,
		.dont_fragment = true};

	bp_put_be32(src, from);
	bp_put_be32(dst, to);
	ethernet(frame, BP_ETHER_IP4);
	bp_datagram_put_head(frame + BP_ETHER_HDR, &h, len, bp_sum(frame + HEAD, len, 0));
	if (HEAD + len >= FRAME_MIN)
		return HEAD + len;
	memset(frame + HEAD + len, 0, FRAME_MIN - HEAD - len);
	return FRAME_MIN;
}

static uint32_t nothing(uint64_t *seed, uint8_t *frame)
{
	(void)seed;
	(void)frame;
	return 0;
}

static uint32_t macs(uint64_t *seed, uint8_t *frame)
{
	const uint64_t to = draw(seed), from = draw(seed);

	udp(frame, CLIENT, 1, SERVERS + 9, 1, 1);
	memcpy(frame, &to, 6);
	memcpy(frame + 6, &from, 6);
	frame[0] &= 0xfc;
	frame[6] &= 0xfc;
	return FRAME_MIN;
}

static uint32_t neighbors(uint64_t *seed, uint8_t *frame)
{
	return udp(frame, CLIENT, 1, BENCH_ATTACK_NEIGHBORS + (uint16_t)draw(seed), 1, 1);
}

static uint32_t destinations(uint64_t *seed, uint8_t *frame)
{
	const uint64_t r = draw(seed);

	return udp(frame, 0x0b000000u + (r & 0xffffff), (uint16_t)(r >> 24),
		0x10000000u + (r >> 40 & 0xfffffff), (uint16_t)(r >> 16), 1);
}

static uint32_t options(uint64_t *seed, uint8_t *frame)
{
	uint8_t *h = frame + BP_ETHER_HDR;
	uint16_t sum;

	(void)seed;
	udp(frame, CLIENT, 1, SERVERS + 9, 1, 1);
	h[0] = 0x4f;
	bp_put_be16(h + BP_IP4_TOTAL, 60);
	memset(h + BP_IP4_HDR, 1, 40); /* NOP option */
	memset(h + 10, 0, 2);
	sum = (uint16_t)~bp_sum_fold(bp_sum(h, 60, 0));
	memcpy(h + 10, &sum, 2);
	return BP_ETHER_HDR + 60;
}

static uint32_t fragments(uint64_t *seed, uint8_t *frame)
{
	uint8_t *h = frame + BP_ETHER_HDR;
	uint16_t sum;

	udp(frame, CLIENT, 1, SERVERS + 9, 1, 1);
	h[BP_IP4_PROTOCOL] = BP_PROTO_TCP;
	bp_put_be16(h + BP_IP4_FRAGMENT, (uint16_t)(draw(seed) & 0x3fff));
	memset(h + 10, 0, 2);
	sum = (uint16_t)~bp_sum_fold(bp_sum(h, BP_IP4_HDR, 0));
	memcpy(h + 10, &sum, 2);
	return FRAME_MIN;
}

static uint32_t tags(uint64_t *seed, uint8_t *frame)
{
	(void)seed;
	ethernet(frame, 0x8100);
	for (uint32_t at = 14; at + 4 <= FRAME_MAX; at += 4) {
		bp_put_be16(frame + at, 1);
		bp_put_be16(frame + at + 2, 0x8100);
	}
	return FRAME_MAX;
}

static uint32_t extensions(uint64_t *seed, uint8_t *frame)
{
	uint8_t *h = frame + BP_ETHER_HDR;
	uint32_t at = BP_ETHER_HDR + BP_IP6_HDR;

	(void)seed;
	ethernet(frame, BP_ETHER_IP6);
	memset(h, 0, FRAME_MAX - BP_ETHER_HDR);
	h[0] = 0x60;
	bp_put_be16(h + BP_IP6_PAYLOAD, FRAME_MAX - BP_ETHER_HDR - BP_IP6_HDR);
	h[BP_IP6_NEXT] = 60; /* destination options headers, each followed by another one */
	h[BP_IP6_HOPS] = 64;
	h[BP_IP6_SRC] = h[BP_IP6_DST] = 0x20;
	for (; at + 8 <= FRAME_MAX; at += 8) {
		frame[at] = 60;
		frame[at + 2] = 1; /* PadN */
		frame[at + 3] = 4;
	}
	return FRAME_MAX;
}

/* ---- health devices ---- */

static uint32_t report(uint64_t *seed, uint8_t *frame, uint32_t from, uint32_t apdu)
{
	uint8_t longest[BENCH_PHD_FRAME_MAX];
	const uint32_t len =
		bench_phd_frame((uint32_t)draw(seed) % BENCH_PHD_DEVICES, apdu, longest);

	memcpy(frame + HEAD, longest + HEAD, len - HEAD);
	return udp(frame, from, BENCH_PHD_PORT, BENCH_PHD_OWN, BENCH_PHD_LISTEN, len - HEAD);
}

static uint32_t attackers(uint64_t *seed, uint8_t *frame)
{
	return report(seed, frame, 0x0c000000u + (draw(seed) & 0xffffff), BENCH_PHD_APDU_MIN);
}

static uint32_t associations(uint64_t *seed, uint8_t *frame)
{
	const uint64_t r = draw(seed);

	memcpy(frame + HEAD, bench_phd_aarq, BENCH_PHD_AARQ_LEN);
	bp_put_be32(frame + HEAD + BENCH_PHD_AARQ_NUMBER, (uint32_t)r);
	return udp(frame, 0x0c000000u + (r >> 32 & 0xffffff), BENCH_PHD_PORT, BENCH_PHD_OWN,
		BENCH_PHD_LISTEN, BENCH_PHD_AARQ_LEN);
}

/* From devices with sessions, with some wrong bytes. */
static uint32_t damaged(uint64_t *seed, uint8_t *frame)
{
	const uint64_t r = draw(seed);
	const uint32_t from = BENCH_PHD_FIRST + r % BENCH_PHD_DEVICES;

	(void)report(seed, frame, from, BENCH_PHD_APDU_MIN);
	for (unsigned i = 0; i < 4; i++)
		frame[HEAD + 2 + (r >> (8 + 6 * i) & 63) % (BENCH_PHD_APDU_MIN - 2)] ^=
			(uint8_t)(1u << (r >> (40 + 3 * i) & 7));
	return udp(
		frame, from, BENCH_PHD_PORT, BENCH_PHD_OWN, BENCH_PHD_LISTEN, BENCH_PHD_APDU_MIN);
}

/* As many observations as fit, each with a handle of the device. */
static uint32_t observations(uint64_t *seed, uint8_t *frame)
{
	static const uint8_t head[32] = {0xe7, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0xff, 0xff,
		0xff, 0xff, 0x0d, 0x1d, 0, 0, 0xf0, 0, 0, 0};
	const uint32_t n = (FRAME_MAX - HEAD - 30) / 6, len = 30 + 6 * n;
	uint8_t *p = frame + HEAD;

	memcpy(p, head, 30);
	bp_put_be16(p + 2, (uint16_t)(len - 4));
	bp_put_be16(p + 4, (uint16_t)(len - 6));
	bp_put_be16(p + 10, (uint16_t)(len - 12));
	bp_put_be16(p + 20, (uint16_t)(len - 22));
	bp_put_be16(p + 24, (uint16_t)draw(seed));
	bp_put_be16(p + 26, (uint16_t)n);
	bp_put_be16(p + 28, (uint16_t)(6 * n));
	for (uint32_t i = 0; i < n; i++) {
		bp_put_be16(p + 30 + 6 * i, 1);
		bp_put_be16(p + 32 + 6 * i, 2);
		bp_put_be16(p + 34 + 6 * i, 0xf3e8);
	}
	return udp(frame, BENCH_PHD_FIRST + (uint32_t)draw(seed) % BENCH_PHD_DEVICES,
		BENCH_PHD_PORT, BENCH_PHD_OWN, BENCH_PHD_LISTEN, len);
}

static uint32_t answers(uint64_t *seed, uint8_t *frame)
{
	const uint64_t r = draw(seed), token = draw(seed);
	const uint8_t coap[4] = {0x68, 0x41, (uint8_t)(r >> 8), (uint8_t)r}; /* ACK, 2.01 */

	memcpy(frame + HEAD, coap, sizeof(coap));
	memcpy(frame + HEAD + 4, &token, sizeof(token));
	return udp(frame, CSE, COAP, BENCH_PHD_OWN, (uint16_t)(20000 + (r >> 16) % 10000), 12);
}

/* ---- aggregation, transformation, LCL ---- */

static uint32_t streams(uint64_t *seed, uint8_t *frame)
{
	frame[HEAD] = 'x';
	return udp(frame, CLIENT, 9, SERVERS + (uint16_t)draw(seed), BENCH_AGG_UDP, 1);
}

static uint32_t messages(uint64_t *seed, uint8_t *frame)
{
	frame[HEAD] = 'x';
	return udp(frame, 0x0a000000u + 2 + (uint8_t)draw(seed) % 250, (uint16_t)draw(seed),
		BENCH_AGG_SERVER, BENCH_AGG_UDP, 1);
}

/* The maximum number of messages, each without payload. */
static uint32_t aggregates(uint64_t *seed, uint8_t *frame)
{
	struct bp_agg_sender from = {.port = 9, .hops = 64};
	static uint8_t space[8192];
	struct bp_agg_full_writer w;
	const uint8_t *made;
	size_t len = 0;

	bp_agg_full_begin(&w, space, BP_AGG_FULL_FRONT4(BP_AGG_FULL_MOST), FRAME_MAX - HEAD, 4,
		BP_AGG_FULL_MOST);
	bp_put_be32(from.addr, CLIENT);
	while (w.count < BP_AGG_FULL_MOST) {
		const uint8_t before = w.count;

		bp_agg_full_append(&w, &from, (const uint8_t *)"", 0);
		if (w.count == before)
			break;
	}
	made = bp_agg_full_end(&w, 1, (uint32_t)draw(seed), &len);
	memcpy(frame + HEAD, made, len);
	return udp(frame, CLIENT, 9, BENCH_AGG_SERVER, BENCH_AGG_UDP, (uint32_t)len);
}

static uint32_t readings(uint64_t *seed, uint8_t *frame)
{
	for (unsigned i = 0; i < BENCH_TRANSFORM_PAYLOAD; i += 8) {
		const uint64_t r = draw(seed);

		memcpy(frame + HEAD + i, &r, 8);
	}
	return udp(frame, BENCH_TRANSFORM_SOURCE, 10000, BENCH_TRANSFORM_TO, BENCH_TRANSFORM_UDP,
		BENCH_TRANSFORM_PAYLOAD);
}

static uint32_t trackers(uint64_t *seed, uint8_t *frame)
{
	memset(frame + HEAD, 0, BENCH_TRANSFORM_PAYLOAD);
	return udp(frame, 0x0c000000u + (draw(seed) & 0xffffff), 10000, BENCH_TRANSFORM_TO,
		BENCH_TRANSFORM_UDP, BENCH_TRANSFORM_PAYLOAD);
}

static uint32_t labels(uint64_t *seed, uint8_t *frame)
{
	const uint64_t r = draw(seed);
	const struct bp_lcl_label label = {.d = (int32_t)(r >> 32),
		.sequence = (uint32_t)r,
		.flow = (uint16_t)(r >> 16),
		.n = (uint8_t)(1 + r % 15)};
	uint8_t plain[BENCH_LCL_HEAD];

	bench_lcl_plain(plain, sizeof(plain), BENCH_LCL_UDP);
	memcpy(frame, plain, BP_LCL_AT);
	bp_lcl_write(frame + BP_LCL_AT, BP_LCL_ETHERTYPE, &label);
	memcpy(frame + BP_LCL_AT + BP_LCL_LABEL, plain + BP_LCL_AT, sizeof(plain) - BP_LCL_AT);
	return sizeof(plain) + BP_LCL_LABEL;
}

const struct bench_attack bench_attacks[] = {
	{"no-frames", "no attack", nothing, BP_C_COUNT, BENCH_ATTACK_SERVICES},
	{"macs", "made-up MAC addresses", macs, BP_C_MAC_EVICTED, BENCH_ATTACK_BRIDGE},
	{"neighbors", "hosts of a connected subnet that are not there", neighbors,
		BP_C_PUNT_NO_NEIGHBOR, BENCH_ATTACK_SERVICES},
	{"destinations", "any addresses", destinations, BP_C_FORWARDED_IP4, BENCH_ATTACK_SERVICES},
	{"options", "40 bytes of IPv4 options", options, BP_C_PUNT_IP_OPTIONS,
		BENCH_ATTACK_SERVICES},
	{"fragments", "IPv4 fragments of TCP", fragments, BP_C_FORWARDED_IP4,
		BENCH_ATTACK_SERVICES},
	{"tags", "VLAN tags up to the frame's end", tags, BP_C_PUNT_VLAN, BENCH_ATTACK_SERVICES},
	{"extensions", "IPv6 extension headers up to the frame's end", extensions,
		BP_C_PUNT_NO_ROUTE, BENCH_ATTACK_SERVICES},
	{"strangers", "reports of devices that have no session", attackers,
		BP_C_PHD_DISCARDED_UNKNOWN_SESSION, BENCH_ATTACK_SERVICES},
	{"associations", "association requests of any address", associations,
		BP_C_PUNT_PHD_SIGNALING, BENCH_ATTACK_SERVICES},
	{"damaged", "reports of devices with sessions, with damaged bytes", damaged,
		BP_C_DROP_PHD_DISCARDED, BENCH_ATTACK_SERVICES},
	{"observations", "as many observations as a frame has room for", observations,
		BP_C_PUNT_PHD_SLOW_PATH, BENCH_ATTACK_SERVICES},
	{"answers", "answers of the CSE to no request", answers, BP_C_DROP_CSE_UNKNOWN_TOKEN,
		BENCH_ATTACK_SERVICES},
	{"streams", "messages of one byte, each to another server", streams, BP_C_ENCAP_AGGREGATE,
		BENCH_ATTACK_SERVICES},
	{"messages", "messages of one byte from any client", messages, BP_C_ENCAP_MESSAGE,
		BENCH_ATTACK_SERVICES},
	{"aggregates", "aggregates of 255 empty messages", aggregates, BP_C_DECAP_MESSAGE,
		BENCH_ATTACK_AGGREGATES},
	{"readings", "readings of random bytes", readings, BP_C_TRANSFORM_READING,
		BENCH_ATTACK_SERVICES},
	{"trackers", "readings of sources that have no matrix", trackers,
		BP_C_DROP_TRANSFORM_UNKNOWN_SOURCE, BENCH_ATTACK_SERVICES},
	{"labels", "labels of random bytes", labels, BP_C_LCL_BAD_DELAY, BENCH_ATTACK_SERVICES},
};
const unsigned bench_n_attacks = sizeof(bench_attacks) / sizeof(bench_attacks[0]);
