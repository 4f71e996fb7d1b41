/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "services/aggregation/disaggregator.h"
#include "proto/aggregation/agg_lin2018.h"
#include "proto/net/crc32c.h"

/*
 * The first byte chooses: the following ones are a frame as it is; or the UDP payload of a frame
 * with right headers, of either format and family, where the checksum inside `full` is made right,
 * since the fuzzer would not find one.
 *
 * Decapsulated frames must have the correct length, headers and checksums, all payloads of the
 * aggregate in order, and senders that the rule allows. The checks do not use the code under test.
 */
#define PORT 0u
#define FRAME_MOST 4096u

static struct bp_disagg_stats stats[BP_AGG_RULES_MAX], twin_stats[BP_AGG_RULES_MAX];
static struct bp_disagg_packet packet;

/* 10.1.0.9:5555 of rule 0 and [fd01::9]:5555 of rule 1 are full, 10.2.0.9 and fd02::9 of rules 2
 * and 3 the paper's. Senders: 10.0.0.0/24, fd00::/64. */
static const uint8_t sender4[4] = {10, 0, 0, 7};
static const uint8_t sender6[16] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};

static void destination_of(unsigned rule, uint8_t out[16])
{
	const uint8_t four[4] = {10, (uint8_t)(1 + rule / 2), 0, 9};

	memset(out, 0, 16);
	if (rule % 2 == 0) {
		memcpy(out, four, 4);
	} else {
		out[0] = 0xfd;
		out[1] = (uint8_t)(1 + rule / 2);
		out[15] = 9;
	}
}

static struct bp_disaggregator *fresh(struct bp_disagg_stats *counts)
{
	const struct bp_disaggregator_options o = {.streams = 2, .stats = counts, .seed = 3};
	struct bp_agg_rules rules = {.n_disaggregate = 4};
	struct bp_disaggregator *d = bp_disaggregator_new(&o);

	if (d == NULL)
		abort();
	for (unsigned i = 0; i < 4; i++) {
		struct bp_disagg_rule *r = &rules.disaggregate[i];
		const uint8_t family = i % 2 == 0 ? 4 : 6;

		destination_of(i, r->to.address.bytes);
		r->to.address.family = family;
		r->to.address.length = family == 4 ? 32 : 128;
		r->to.udp_first = r->to.udp_last = 5555;
		r->port = PORT;
		r->format = i < 2 ? BP_AGG_FORMAT_FULL : BP_AGG_FORMAT_LIN2018;
		r->n_senders = 1;
		r->senders[0].family = family;
		r->senders[0].length = family == 4 ? 24 : 64;
		memcpy(r->senders[0].bytes, family == 4 ? sender4 : sender6, family == 4 ? 3 : 8);
	}
	bp_disaggregator_set_rules(d, &rules);
	return d;
}

static uint32_t plain_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++) {
		sum += (uint32_t)p[i] << (i & 1 ? 0 : 8);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

/* Parses the headers of a frame, each of which must be correct. Returns the length of the payload.
 */
static unsigned read_restored(const uint8_t *p, unsigned len, unsigned rule, unsigned ip_at,
	const uint8_t **payload, unsigned in_front)
{
	const uint8_t *ip = p + ip_at, *udp;
	const unsigned address = rule % 2 == 0 ? 4 : 16;
	unsigned l4_len;
	uint8_t to[16];

	destination_of(rule, to);
	if (address == 4) {
		HOLDS(ip[0] == 0x45 && ip[9] == 17 && ip[8] != 0);
		HOLDS(bp_be16(ip + 2) == len - ip_at);
		HOLDS((bp_be16(ip + 6) & ~0x4000) == 0);
		HOLDS(plain_sum(ip, 20, 0) == 0xffff);
		HOLDS(memcmp(ip + 12, sender4, 3) == 0 && memcmp(ip + 16, to, 4) == 0);
		udp = ip + 20;
		l4_len = len - ip_at - 20;
		HOLDS(plain_sum(udp, l4_len, plain_sum(ip + 12, 8, 17 + l4_len)) == 0xffff);
	} else {
		HOLDS(ip[0] >> 4 == 6 && ip[6] == 17 && ip[7] != 0);
		HOLDS((bp_be32(ip) & 0xfffff) == 0);
		HOLDS(bp_be16(ip + 4) == len - ip_at - 40);
		HOLDS(memcmp(ip + 8, sender6, 8) == 0 && memcmp(ip + 24, to, 16) == 0);
		udp = ip + 40;
		l4_len = len - ip_at - 40;
		HOLDS(plain_sum(udp, l4_len, plain_sum(ip + 8, 32, 17 + l4_len)) == 0xffff);
	}
	HOLDS(bp_be16(udp) != 0 && bp_be16(udp + 2) == 5555);
	HOLDS(bp_be16(udp + 4) == l4_len && bp_be16(udp + 6) != 0);
	HOLDS(in_front == 0 || memcmp(udp + 8, "\xfa\0\0\0\0\0", 6) == 0);
	*payload = udp + 8 + in_front;
	return l4_len - 8 - in_front;
}

/* `len` bytes of the aggregate's UDP payload are at `payload`. */
static void judge_split(const uint8_t *frame, const uint8_t *end, unsigned rule)
{
	const unsigned in_front = rule < 2 ? 0 : BP_AGG_LIN2018_HEADER;
	const uint8_t *at = packet.payload + packet.message[0].offset;

	HOLDS(packet.count >= 1 && packet.rule == rule);
	HOLDS(packet.payload > frame && at <= end);
	for (unsigned i = 0; i < packet.count; i++) {
		const uint32_t len = bp_disagg_frame_len(&packet, i);
		uint8_t *restored = malloc(len);
		const uint8_t *payload;
		unsigned n;

		if (restored == NULL)
			abort();
		bp_disagg_write(&packet, i, 1, (uint16_t)(i * 4711), &restored);
		HOLDS(memcmp(restored, frame, packet.ip_at) == 0);
		n = read_restored(restored, len, rule, packet.ip_at, &payload, in_front);
		HOLDS(n <= (size_t)(end - at));
		HOLDS(memcmp(payload, at, n) == 0);
		HOLDS(rule < 2 || n == BP_AGG_LIN2018_MESSAGE_LEN);
		at += n;
		free(restored);
	}
	HOLDS(at == end);
}

/* The end of the UDP payload of a decapsulated frame, by its own lengths. */
static const uint8_t *end_of(const uint8_t *frame)
{
	const uint8_t *ip = frame + packet.ip_at;

	return ip + (ip[0] >> 4 == 4 ? bp_be16(ip + 2) : 40 + bp_be16(ip + 4));
}

/* The single pass of a plain aggregate takes nothing that the other one does not split, makes the
 * same frames of what it takes, and counts the same. */
static void check_restore_ip4(
	struct bp_disaggregator *d, const uint8_t *frame, uint32_t len, enum bp_disagg_verdict v)
{
	static uint8_t *base[BP_AGG_FULL_MOST], want[FRAME_MOST];
	struct bp_disagg_length length[BP_AGG_FULL_MOST], *same = length;
	struct bp_disagg_buffers to = {
		.base = base, .n = bp_disaggregator_ip4_count(frame, len), .length = length};
	uint8_t rule = 0xff, *at = want;
	unsigned n = 0;

	for (unsigned i = 0; i < to.n; i++)
		base[i] = exact_copy(frame, len);
	if (to.n != 0)
		n = bp_disaggregator_restore_ip4(d, frame, len, PORT, false, 0, 0xfffe, &to, &rule);
	HOLDS(n == 0 || (v == BP_DISAGG_SPLIT && n == packet.count && rule == packet.rule));
	for (unsigned i = 0; i < n; i++) {
		const uint32_t restored = bp_disagg_frame_len(&packet, i);

		HOLDS(same->n != 0 && same->len == restored);
		same += --same->n == 0;
		HOLDS(restored <= len && len <= sizeof(want));
		bp_disagg_write(&packet, i, 1, (uint16_t)(0xfffe + i), &at);
		HOLDS(memcmp(base[i], want, restored) == 0);
	}
	for (unsigned i = 0; i < to.n; i++)
		free(base[i]);
	if (n == 0)
		bp_disaggregator_read(d, frame, len, len, PORT, false, 0,
			&(struct bp_disagg_packet){0}, &rule, &(enum bp_disagg_rejection){0});
	HOLDS(same_bytes(stats, twin_stats, sizeof(stats)));
}

static void evaluate(const uint8_t *bytes, size_t len, uint32_t frame_len)
{
	struct bp_disaggregator *d = fresh(stats), *twin = fresh(twin_stats);
	uint8_t *frame = exact_copy(bytes, len), rule = 0xff;
	enum bp_disagg_rejection why = BP_DISAGG_REFUSALS;

	/* twice, so that the second is a duplicate */
	for (unsigned i = 1; i <= 2; i++) {
		const enum bp_disagg_verdict v = bp_disaggregator_read(
			d, frame, (uint32_t)len, frame_len, PORT, false, 0, &packet, &rule, &why);

		HOLDS(v == BP_DISAGG_OTHER || rule < 4);
		if (v == BP_DISAGG_REJECTED) {
			HOLDS(why < BP_DISAGG_REFUSALS);
			HOLDS(stats[rule].refused == i);
		} else if (v == BP_DISAGG_BYPASS) {
			HOLDS(stats[rule].plain == i);
		} else if (v == BP_DISAGG_SPLIT) {
			HOLDS(frame_len == len);
			HOLDS(stats[rule].aggregates == i);
			HOLDS(stats[rule].messages == (uint64_t)packet.count * i);
			HOLDS(stats[rule].duplicate == (rule < 2 ? i - 1 : 0));
			judge_split(frame, end_of(frame), rule);
		}
		if (frame_len == len && len <= FRAME_MOST)
			check_restore_ip4(twin, frame, (uint32_t)len, v);
	}
	bp_disaggregator_free(d);
	bp_disaggregator_free(twin);
	free(frame);
}

static void seal(uint8_t *p, size_t len)
{
	uint32_t crc;

	if (len < BP_AGG_FULL_HEADER || len - BP_AGG_FULL_HEADER < bp_be16(p + 4))
		return;
	crc = bp_crc32c_portable(BP_CRC32C_INIT, p, 12);
	bp_put_be32(p + 12, ~bp_crc32c_portable(crc, p + BP_AGG_FULL_HEADER, bp_be16(p + 4)));
}

/* Right headers around a payload, which begins as the rule's format does. */
static void reassembly(const uint8_t *payload, size_t len, unsigned rule, bool tag)
{
	static uint8_t frame[FRAME_MOST];
	uint8_t *ip = frame + 14 + (tag ? 4 : 0);
	uint8_t *udp = ip + (rule % 2 == 0 ? 20 : 40);
	const unsigned l4_len = 8 + (unsigned)len;
	uint8_t to[16];
	uint32_t sum;

	if (len < 2 || (size_t)(udp + l4_len - frame) > sizeof(frame))
		return;
	memset(frame, 2, 12);
	bp_put_be32(frame + 12, 0x81000064);
	bp_put_be16(ip - 2, rule % 2 == 0 ? 0x0800 : 0x86dd);
	memset(ip, 0, (size_t)(udp + 8 - ip));
	destination_of(rule, to);
	if (rule % 2 == 0) {
		bp_put_be16(ip, 0x45b8);
		bp_put_be16(ip + 2, (uint16_t)(20 + l4_len));
		bp_put_be16(ip + 8, 64 << 8 | 17);
		memcpy(ip + 12, sender4, 4);
		memcpy(ip + 16, to, 4);
		bp_put_be16(ip + 10, (uint16_t)~plain_sum(ip, 20, 0));
	} else {
		bp_put_be32(ip, 0x6b812345);
		bp_put_be16(ip + 4, (uint16_t)l4_len);
		bp_put_be16(ip + 6, 17 << 8 | 64);
		memcpy(ip + 8, sender6, 16);
		memcpy(ip + 24, to, 16);
	}
	memcpy(udp + 8, payload, len);
	if (rule < 2) {
		bp_put_be16(udp + 8, BP_AGG_FULL_MAGIC);
		seal(udp + 8, len);
	} else {
		udp[8] = BP_AGG_LIN2018_PACKET;
	}
	bp_put_be16(udp, 40000);
	bp_put_be16(udp + 2, 5555);
	bp_put_be16(udp + 4, (uint16_t)l4_len);
	sum = rule % 2 == 0 ? plain_sum(ip + 12, 8, 17 + l4_len)
			    : plain_sum(ip + 8, 32, 17 + l4_len);
	sum = ~plain_sum(udp, l4_len, sum) & 0xffff;
	bp_put_be16(udp + 6, (uint16_t)(sum != 0 ? sum : 0xffff));
	evaluate(frame, (size_t)(udp + l4_len - frame), (uint32_t)(udp + l4_len - frame));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		evaluate(data + 1, size - 1, (uint32_t)(size - 1 + (data[0] >> 7)));
	else
		reassembly(data + 1, size - 1, data[0] >> 1 & 3, data[0] & 8);
	return 0;
}
