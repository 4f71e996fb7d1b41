/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/enforce.h"

#define IP4_HDR 20u
#define IP6_HDR 40u
#define TCP_HDR 20u
#define PPPOE_HDR 6u
#define TIMESTAMPS 12u /* two NOPs and the option (RFC 7323, appendix A) */
#define HOP_LIMIT 64
#define WINDOW 1024

static uint32_t ip_of(const struct bp_frame *f)
{
	return f->ip6 ? IP6_HDR : IP4_HDR;
}

/* Whether the answer travels against the frame. */
static bool is_back(const struct bp_frame *f, const struct bp_answer *a)
{
	return a->to_client == f->to_broker;
}

/* EtherType, or a length (IEEE 802.3). */
static uint16_t type_of(const struct bp_frame *f)
{
	return bp_be16(f->data + f->l2 - 2);
}

/* The headers before IP are those of the frame, also in the other direction: a PPPoE session has
 * one identifier. Labels of MPLS are those of one direction. */
static bool has_link(const struct bp_frame *f, const struct bp_answer *a)
{
	const uint16_t type = type_of(f);

	return !is_back(f, a) || (type != BP_ETHER_MPLS && type != BP_ETHER_MPLS_UPSTREAM);
}

/* What the headers before IP say about the length of the IP datagram. */
static void put_link_length(const struct bp_frame *f, uint8_t *data, uint32_t ip_len)
{
	const uint16_t type = type_of(f);
	const uint32_t before = (uint32_t)(f->l3 - f->l2);

	if (type == BP_ETHER_PPPOE) /* behind its header (RFC 2516, 4) */
		bp_put_be16(data + f->l2 + 4, (uint16_t)(before - PPPOE_HDR + ip_len));
	else if (type <= BP_ETHER_LENGTH_MAX)
		bp_put_be16(data + f->l2 - 2, (uint16_t)(before + ip_len));
}

/* The timestamps of the frame (RFC 7323 3.2), 8 bytes; NULL: none. */
static const uint8_t *timestamps(const struct bp_frame *f)
{
	const uint8_t *p = f->data + f->l4 + TCP_HDR, *end = f->data + f->payload;

	while (end - p >= 10 && p[0] != 0) {
		if (p[0] == 8 && p[1] == 10)
			return p + 2;
		if (p[0] != 1 && p[1] < 2)
			break;
		p += p[0] == 1 ? 1 : p[1];
	}
	return NULL;
}

/* A receiver may ignore data without timestamps on a connection that has them (RFC 7323 3.2). Those
 * of an end are known only from a frame of the other. */
static uint32_t options_of(const struct bp_frame *f, const struct bp_answer *a)
{
	return a->len != 0 && is_back(f, a) && timestamps(f) != NULL ? TIMESTAMPS : 0;
}

uint32_t bp_answer_frame_size(const struct bp_frame *f, const struct bp_answer *a)
{
	const uint32_t size = f->l3 + ip_of(f) + TCP_HDR + options_of(f, a) + a->len;

	return has_link(f, a) && size <= BP_ANSWER_FRAME_MAX ? size : 0;
}

static void put_ip4(const struct bp_frame *f, bool back, uint8_t *ip, uint32_t l4_len)
{
	const uint8_t *old = f->data + f->l3;
	uint16_t sum;

	memset(ip, 0, IP4_HDR);
	ip[0] = 0x45;
	bp_put_be16(ip + 2, (uint16_t)(IP4_HDR + l4_len));
	ip[6] = 0x40; /* don't fragment */
	ip[8] = HOP_LIMIT;
	ip[9] = 6;
	memcpy(ip + 12, old + (back ? 16 : 12), 4);
	memcpy(ip + 16, old + (back ? 12 : 16), 4);
	sum = (uint16_t)~bp_sum_fold(bp_sum(ip, IP4_HDR, 0));
	memcpy(ip + 10, &sum, 2);
}

static void put_ip6(const struct bp_frame *f, bool back, uint8_t *ip, uint32_t l4_len)
{
	const uint8_t *old = f->data + f->l3;

	memset(ip, 0, 8);
	ip[0] = 0x60;
	bp_put_be16(ip + 4, (uint16_t)l4_len);
	ip[6] = 6;
	ip[7] = HOP_LIMIT;
	memcpy(ip + 8, old + (back ? 24 : 8), 16);
	memcpy(ip + 24, old + (back ? 8 : 24), 16);
}

static void put_timestamps(const struct bp_frame *f, uint8_t *p)
{
	const uint8_t *t = timestamps(f);

	memcpy(p, "\1\1\x08\x0a", 4);
	memcpy(p + 4, t + 4, 4); /* the latest that the peer has sent */
	memcpy(p + 8, t, 4);
}

/* Its checksum, of `len` bytes at `t`, with addresses at `ip`. The old one is subtracted: the bytes
 * are read several at a time, which would wait for a zero that was just stored there. */
static void put_tcp_sum(bool ip6, const uint8_t *ip, uint8_t *t, uint32_t len)
{
	uint64_t sum = (uint64_t)__builtin_bswap32(len) + (6u << 8);
	uint16_t folded;

	memcpy(&folded, t + 16, 2);
	sum += (uint16_t)~folded;
	sum = ip6 ? bp_sum(ip + 8, 32, sum) : bp_sum(ip + 12, 8, sum);
	folded = (uint16_t)~bp_sum_fold(bp_sum(t, len, sum));
	memcpy(t + 16, &folded, 2);
}

void bp_answer_frame_build(const struct bp_frame *f, const struct bp_answer *a, uint8_t *out)
{
	const bool back = is_back(f, a);
	const uint32_t options = options_of(f, a), l4_len = TCP_HDR + options + a->len;
	uint8_t *ip = out + f->l3, *t = ip + ip_of(f);

	memcpy(out, f->data, f->l3);
	if (back) {
		memcpy(out, f->data + 6, 6);
		memcpy(out + 6, f->data, 6);
	}
	put_link_length(f, out, ip_of(f) + l4_len);
	if (f->ip6)
		put_ip6(f, back, ip, l4_len);
	else
		put_ip4(f, back, ip, l4_len);
	bp_put_be16(t, back ? f->dport : f->sport);
	bp_put_be16(t + 2, back ? f->sport : f->dport);
	bp_put_be32(t + 4, a->seq);
	bp_put_be32(t + 8, a->tcp_flags & BP_TCP_ACK ? a->ack : 0);
	t[12] = (uint8_t)((TCP_HDR + options) / 4 << 4);
	t[13] = a->tcp_flags;
	bp_put_be16(t + 14, a->tcp_flags & BP_TCP_RST ? 0 : WINDOW);
	memset(t + 16, 0, 4);
	if (options != 0)
		put_timestamps(f, t + TCP_HDR);
	memcpy(t + TCP_HDR + options, a->data, a->len);
	put_tcp_sum(f->ip6, ip, t, l4_len);
}

uint32_t bp_frame_cut(uint8_t *data, const struct bp_frame *f, uint32_t keep)
{
	uint8_t *ip = data + f->l3, *t = data + f->l4;
	const uint32_t l4_len = (uint32_t)(f->payload - f->l4) + keep;
	const uint32_t header = (uint32_t)(ip[0] & 0xf) * 4;
	uint16_t sum;

	put_link_length(f, data, f->l4 - f->l3 + l4_len);
	if (keep < f->payload_len)
		t[13] &= (uint8_t)~BP_TCP_FIN;
	if (f->ip6) {
		bp_put_be16(ip + 4, (uint16_t)(f->l4 - f->l3 - IP6_HDR + l4_len));
	} else {
		bp_put_be16(ip + 2, (uint16_t)(f->l4 - f->l3 + l4_len));
		memset(ip + 10, 0, 2);
		sum = (uint16_t)~bp_sum_fold(bp_sum(ip, header, 0));
		memcpy(ip + 10, &sum, 2);
	}
	put_tcp_sum(f->ip6, ip, t, l4_len);
	return f->l4 + l4_len;
}

uint32_t bp_frame_changed(uint8_t *data, const struct bp_frame *f)
{
	const uint32_t l4_len = (uint32_t)(f->payload - f->l4) + f->payload_len;

	put_link_length(f, data, f->l4 - f->l3 + l4_len); /* without padding */
	put_tcp_sum(f->ip6, data + f->l3, data + f->l4, l4_len);
	return f->l4 + l4_len;
}
