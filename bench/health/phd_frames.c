/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/phd_frames.h"

#include <string.h>

#include "bench/harness/capture.h"
#include "proto/net/ip.h"

#define OXIMETER_400 400u
#define ITS_OWN 0x4001u
#define LABEL 2343u

/* As a device with configuration 400 sends it: PRST, event report, two observations. */
static const uint8_t report[BENCH_PHD_APDU_MIN] = {0xe7, 0, 0, 0x26, 0, 0x24, 0, 0, 1, 0, 0, 0x1e,
	0, 0, 0xff, 0xff, 0xff, 0xff, 0x0d, 0x1d, 0, 0x14, 0xf0, 0, 0, 0, 0, 2, 0, 0x0c, 0, 1, 0, 2,
	0, 0, 0, 0x0a, 0, 2, 0, 0};
/* The offsets of the nested lengths, and their differences from the total length. */
static const struct {
	uint8_t at, less;
} lengths[] = {{2, 4}, {4, 6}, {10, 12}, {20, 22}, {28, 30}};

/* SpO2, and pulse rate with an attribute value map whose length and second attribute are filled in.
 */
static const uint8_t declared[] = {0xe7, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff,
	0xff, 0x0d, 0x1c, 0, 0, 0x40, 1, 0, 2, 0, 0, 0, 6, 0, 1, 0, 4, 0, 0x20, 9, 0x2f, 0, 4, 0, 2,
	0x4b, 0xb8, 0x0a, 0x46, 0, 2, 0x40, 0x40, 9, 0x96, 0, 2, 2, 0x20, 0x0a, 0x55, 0, 8, 0, 1, 0,
	4, 0x0a, 0x4c, 0, 2, 0, 6, 0, 0x0a, 0, 4, 0, 0x24, 9, 0x2f, 0, 4, 0, 2, 0x48, 0x1a, 0x0a,
	0x46, 0, 2, 0x40, 0x40, 9, 0x96, 0, 2, 0x0a, 0xa0, 0x0a, 0x55, 0, 0x0c, 0, 2, 0, 8, 0x0a,
	0x4c, 0, 2, 9, 0x27, 0, 0};
static const struct {
	uint8_t at, less;
} declared_lengths[] = {{2, 4}, {4, 6}, {10, 12}, {20, 22}, {26, 28}};

const uint8_t bench_phd_aarq[BENCH_PHD_AARQ_LEN] = {0xe2, 0, 0, 0x32, 0x80, 0, 0, 0, 0, 1, 0, 0x2a,
	0x50, 0x79, 0, 0x26, 0x80, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 8,
	0, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 1, 1, 0, 0, 0, 0, 0};

static void write_report(uint32_t device, uint32_t apdu, uint8_t *p)
{
	const uint32_t more = apdu - BENCH_PHD_APDU_MIN;
	const uint32_t n = sizeof(lengths) / sizeof(lengths[0]);

	memcpy(p, report, sizeof(report));
	for (uint32_t i = 0; i < n; i++)
		bp_put_be16(p + lengths[i].at, (uint16_t)(apdu - lengths[i].less));
	p[9] = device % 2 == 0; /* confirmed */
	/* 90.0 % to 98.9 %, and 40 to 159 per minute */
	bp_put_be16(p + 34, (uint16_t)(0xf000 | (900 + device * 7 % 90)));
	bp_put_be16(p + 38, (uint16_t)(2 + more));
	bp_put_be16(p + 40, (uint16_t)(40 + device * 11 % 110));
	if (more == 0)
		return;
	bp_put_be16(p + BENCH_PHD_APDU_MIN, (uint16_t)(more - 2));
	memset(p + BENCH_PHD_APDU_MIN + 2, 'x', more - 2);
}

uint32_t bench_phd_frame(uint32_t device, uint32_t apdu, uint8_t frame[BENCH_PHD_FRAME_MAX])
{
	static const uint8_t head[14] = {2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 1, 8, 0};
	uint8_t *ip = frame + BP_ETHER_HDR, *udp = ip + BP_IP4_HDR;
	const uint32_t length = apdu + 8;
	uint64_t sum = (uint64_t)__builtin_bswap32(length) + ((uint64_t)BP_PROTO_UDP << 8);
	uint16_t folded;

	memset(frame, 0, BENCH_PHD_HEADERS);
	memcpy(frame, head, sizeof(head));
	ip[0] = 0x45;
	bp_put_be16(ip + BP_IP4_TOTAL, (uint16_t)(length + BP_IP4_HDR));
	ip[BP_IP4_TTL] = 64;
	ip[BP_IP4_PROTOCOL] = BP_PROTO_UDP;
	bp_put_be32(ip + BP_IP4_SRC, BENCH_PHD_FIRST + device);
	bp_put_be32(ip + BP_IP4_DST, BENCH_PHD_OWN);
	folded = (uint16_t)~bp_sum_fold(bp_sum(ip, BP_IP4_HDR, 0));
	memcpy(frame + BENCH_PHD_AT_IP_SUM, &folded, 2);
	bp_put_be16(udp, BENCH_PHD_PORT);
	bp_put_be16(udp + 2, BENCH_PHD_LISTEN);
	bp_put_be16(udp + 4, (uint16_t)length);
	write_report(device, apdu, frame + BENCH_PHD_AT_APDU);
	folded = (uint16_t)~bp_sum_fold(bp_sum(ip + BP_IP4_SRC, 8 + length, sum));
	memcpy(frame + BENCH_PHD_AT_UDP_SUM, &folded, 2);
	return BENCH_PHD_HEADERS + apdu;
}

uint32_t bench_phd_config_report(uint32_t apdu, uint8_t out[256])
{
	const uint32_t n = sizeof(declared_lengths) / sizeof(declared_lengths[0]);

	memcpy(out, declared, sizeof(declared));
	for (uint32_t i = 0; i < n; i++)
		bp_put_be16(out + declared_lengths[i].at,
			(uint16_t)(sizeof(declared) - declared_lengths[i].less));
	bp_put_be16(out + sizeof(declared) - 2, (uint16_t)(apdu - BENCH_PHD_APDU_MIN));
	return sizeof(declared);
}

void bench_phd_model(uint32_t apdu, struct bp_phd_model *out)
{
	bool certain;

	*out = *bp_phd_standard(OXIMETER_400, &certain);
	if (apdu == BENCH_PHD_APDU_MIN)
		return;
	out->config_id = ITS_OWN;
	out->object[1].n_map = 2;
	out->object[1].map[1] = (struct bp_phd_attr_map){
		.attr = LABEL, .len = (uint16_t)(apdu - BENCH_PHD_APDU_MIN)};
	out->content = bp_phd_model_content(out);
}

_Static_assert(BENCH_PHD_FRAME_MAX <= BENCH_CAPTURE_FRAME_MAX, "there is room for each");

static uint32_t captured(uint32_t i, uint8_t *frame, const void *arg)
{
	(void)arg;
	/* 7 is coprime to the count */
	return bench_phd_frame(i * 7 % BENCH_PHD_DEVICES, BENCH_PHD_APDU_MIN, frame);
}

int bench_phd_pcap(const char *path)
{
	return bench_capture(path, BENCH_PHD_DEVICES, captured, NULL);
}
