/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/copy_sum.h"
#include "agg/disaggregator_parts.h"
#include "proto/agg_full_entries4.h"

/*
 * The usual aggregate: format full, IPv4 without tags and options. Its messages go from the
 * directory's entries straight to their frames, in one pass, and their heads are put together in
 * registers from what is the same in all of them.
 *
 * Nothing is refused here. What is not as usual leaves no trace, and is judged anew by
 * bp_disaggregator_read(), which says why.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

#define HEADERS (BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR)

/* A head in pieces, with the sums of their halves: of the aggregate, and of all messages since
 * length or hops was another. */
struct head {
	bp_v16 front;             /* octets 0..15: Ethernet, version, TOS */
	uint64_t ip;              /* 16..23: length, fragment, TTL, protocol */
	uint64_t dst;             /* of 24..31 the last two: the destination's first half */
	uint64_t udp;             /* of 32..39: its second half, port, length */
	uint32_t ip_sum, udp_sum; /* of what the checksums cover besides source and payload */
	uint32_t fixed;           /* of ip_sum, what is the aggregate's */
	uint32_t dst_sum;
	uint32_t tail; /* bits that a payload of 17 to 24 octets lacks of 24; 64: others */
};

static inline uint32_t halves(uint32_t v)
{
	return (v & 0xffff) + (v >> 16);
}

/* Of up to 32 bits, which are no 0: the checksum. */
static inline uint32_t fold(uint32_t sum)
{
	return (sum + (sum << 16 | sum >> 16)) >> 16 ^ 0xffff;
}

static inline void begin(struct head *h, const uint8_t *frame)
{
	uint16_t port, tos;
	uint32_t dst;

	h->front = bp_v16_load(frame);
	memcpy(&tos, frame + BP_ETHER_HDR, 2);
	memcpy(&dst, frame + BP_ETHER_HDR + BP_IP4_DST, 4);
	memcpy(&port, frame + BP_ETHER_HDR + BP_IP4_HDR + 2, 2);
	h->dst = (uint64_t)dst << 48;
	h->udp = (uint64_t)port << 32 | dst >> 16;
	h->dst_sum = halves(dst);
	h->fixed = h->dst_sum + tos;
	h->udp_sum = port;
}

/* The messages from here on have so many octets and hops to go. */
static inline void go_on(struct head *h, bool dont_fragment, unsigned len, unsigned hops)
{
	const uint32_t total = __builtin_bswap16((uint16_t)(HEADERS - BP_ETHER_HDR + len));
	const uint32_t udp = __builtin_bswap16((uint16_t)(BP_UDP_HDR + len));
	const uint32_t fragment = dont_fragment ? BP_IP4_DF >> 8 : 0;
	const uint32_t rest = hops | BP_PROTO_UDP << 8;
	const uint32_t port = h->udp >> 32 & 0xffff;

	h->ip = (uint64_t)rest << 48 | (uint64_t)fragment << 32 | total;
	h->udp = (h->udp & 0xffffffffffff) | (uint64_t)udp << 48;
	h->ip_sum = h->fixed + total + fragment + rest;
	h->udp_sum = h->dst_sum + port + 2 * udp + (BP_PROTO_UDP << 8);
	h->tail = len - 17 < 8 ? 8 * (24 - len) : 64;
}

/* Copies a payload, and returns its bp_sum(). */
static inline uint64_t copy(uint8_t *to, const uint8_t *from, unsigned len, unsigned tail)
{
	uint64_t a, b, c;

	if (__builtin_expect(tail == 64, 0))
		return bp_copy_and_sum(to, from, len);
	memcpy(&a, from, 8);
	memcpy(&b, from + 8, 8);
	memcpy(&c, from + len - 8, 8);
	memcpy(to, &a, 8);
	memcpy(to + 8, &b, 8);
	memcpy(to + len - 8, &c, 8);
	return bp_sum_add(bp_sum_add(a, b), c >> tail);
}

/* Source and port in network byte order. */
static inline void write_frame(const struct head *h, uint8_t *to, uint32_t src, uint32_t port,
	uint32_t id, uint64_t payload_sum)
{
	const uint32_t src_sum = halves(src);
	const uint64_t ip = h->ip | id << 16;
	const uint64_t src_dst = h->dst | (uint64_t)src << 16 | fold(h->ip_sum + id + src_sum);
	const uint64_t udp = h->udp | port << 16;
	uint64_t sum = bp_sum_add(payload_sum, h->udp_sum + src_sum + port);
	uint16_t check;

	sum = (sum + (sum << 32 | sum >> 32)) >> 32;
	check = (uint16_t)fold((uint32_t)sum);
	check = (uint16_t)(check - (check == 0)); /* 0 would say that there is none (RFC 768) */
	memcpy(to, &h->front, 16);
	memcpy(to + 16, &ip, 8);
	memcpy(to + 24, &src_dst, 8);
	memcpy(to + 32, &udp, 8);
	memcpy(to + 40, &check, 2);
}

/* The rule for the aggregate's destination, which mostly is that of the one before. */
static inline unsigned find_rule(
	struct bp_disaggregator *d, const struct bp_datagram *g, unsigned port)
{
	/* destination, source port, destination port: the port it came in on instead of the second
	 */
	const uint64_t to = (bp_sum_word(bp_datagram_dst(g)) & 0xffff0000ffffffff) |
			    (uint64_t)(uint16_t)port << 32;

	if (__builtin_expect(to != d->usual.to, 0)) {
		d->usual.rule = (uint8_t)bp_disaggregator_rule_of(d, g, port);
		d->usual.to = to;
	}
	return d->usual.rule;
}

static __attribute__((noinline)) bool other_sender(
	const struct bp_disaggregator_rule *r, uint32_t src)
{
	const uint64_t address[2] = {src, 0};

	return bp_datagram_sender_possible(4, (const uint8_t *)&src, 1, 1) &&
	       bp_agg_senders_has(&r->senders, address);
}

unsigned bp_disaggregator_usual(struct bp_disaggregator *d, const uint8_t *frame, uint32_t len,
	unsigned port, bool routed, uint64_t mac, uint16_t id,
	const struct bp_disagg_buffers *buffers, uint8_t *rule)
{
	const struct bp_disaggregator_rule *r;
	struct bp_agg_full_entries4 x;
	const uint8_t *p, *payload, *end;
	uint32_t mask, value, step;
	struct bp_datagram g;
	struct head h;
	unsigned number, count;

	if (!bp_datagram_is_usual(frame, len) || !bp_datagram_parse_usual(frame, len, len, &g) ||
		!bp_disaggregator_for_this_machine(frame, routed, mac))
		return 0;
	number = find_rule(d, &g, port);
	if (number == BP_AGG_NO_RULE || !bp_datagram_lengths_ok(&g) || !bp_datagram_ip_ok(&g) ||
		!bp_datagram_has_checksum(&g) ||
		!bp_datagram_udp_ok(&g, bp_datagram_payload_sum(&g)))
		return 0;
	r = &d->rule[number];
	p = bp_datagram_payload(&g);
	end = p + bp_datagram_payload_len(&g);
	if (r->format != BP_AGG_FORMAT_FULL ||
		!bp_agg_full_entries4_begin(&x, p, bp_datagram_payload_len(&g)))
		return 0;
	count = p[BP_AGG_FULL_AT_COUNT];
	if (count > buffers->n)
		return 0;
	payload = x.end;
	/* no address is as these say where each has to be looked at */
	mask = r->possible ? (uint32_t)r->senders.prefix[0].mask[0] : 0;
	value = r->possible ? (uint32_t)r->senders.prefix[0].value[0] : 1;
	step = g.dont_fragment ? 0 : 1;
	begin(&h, frame);
	for (unsigned i = 0; i < count; i++) {
		uint8_t *to = buffers->base[i] + buffers->data_at;
		uint32_t src, number_of;
		uint64_t sum;

		switch (bp_agg_full_entries4_next(&x)) {
		case BP_AGG_FULL_BAD:
			return 0;
		case BP_AGG_FULL_ALL:
			if (x.hops == 0)
				return 0;
			go_on(&h, g.dont_fragment, x.len, x.hops);
			break;
		case BP_AGG_FULL_SENDER:
			break;
		}
		src = __builtin_bswap32(x.addr);
		if (__builtin_expect((src & mask) != value, 0) && !other_sender(r, src))
			return 0;
		if (x.port == 0 || x.len > end - payload)
			return 0;
		sum = copy(to + HEADERS, payload, x.len, h.tail);
		number_of = step != 0 ? __builtin_bswap16((uint16_t)(id + i)) : 0;
		write_frame(&h, to, src, __builtin_bswap16((uint16_t)x.port), number_of, sum);
		buffers->len[i] = (uint16_t)(HEADERS + x.len);
		payload += x.len;
	}
	if (count == 0 || x.at != x.end || payload != end)
		return 0;
	bp_disaggregator_note(d, &g, number, bp_be16(p + BP_AGG_FULL_AT_STREAM),
		bp_be32(p + BP_AGG_FULL_AT_SEQUENCE));
	bp_disaggregator_count(
		d, number, len, count, (uint64_t)count * HEADERS + (uint64_t)(end - x.end));
	*rule = (uint8_t)number;
	return count;
}
