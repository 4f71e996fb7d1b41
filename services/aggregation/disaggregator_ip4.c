/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/copy_sum.h"
#include "services/aggregation/disaggregator_state.h"
#include "proto/net/sum_carry.h"

/*
 * Path for plain aggregates: format full, IPv4 without tags and options. Its messages are copied
 * from the directory entries to their frames in one pass, and their headers are composed in
 * registers from the common fields.
 *
 * This path refuses nothing. A packet that is not a plain aggregate has no effect here;
 * bp_disaggregator_read() checks it again and reports the reason.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

#define HEADERS (BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR)

/* Offsets of the pieces in a frame: the second has eight bytes, between two of 16. */
#define IP_AT 16u
#define PIECE_AT (BP_ETHER_HDR + BP_AGG_FULL_PIECE4)
#define CHECK_AT (HEADERS - 2)
/* Bytes of the third one. */
#define PIECE_SRC 2u
#define PIECE_LEN 14u

static inline uint32_t fold_half(uint64_t sum)
{
	return (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);
}

/* The checksum from a sum that is not 0. */
static inline uint32_t check_of(uint32_t half)
{
	return (half + (half << 16 | half >> 16)) >> 16 ^ 0xffff;
}

/* Copies the fields of the aggregate's head for its messages; returns the third piece. */
static inline bp_v16 begin(struct bp_disaggregator_head *h, const uint8_t *frame)
{
	static const bp_v16 destination = {0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255};
	uint32_t dst;
	uint16_t tos;

	memcpy(&tos, frame + BP_ETHER_HDR, 2);
	memcpy(&dst, frame + BP_ETHER_HDR + BP_IP4_DST, 4);
	h->front = bp_v16_load(frame);
	h->fixed = (uint64_t)dst + tos;
	return bp_v16_load(frame + PIECE_AT) & destination;
}

/* The following messages have this length in bytes and these remaining hops. */
static inline bp_v16 go_on(struct bp_disaggregator_head *h, bp_v16 piece, bool dont_fragment,
	unsigned len, unsigned hops)
{
	const uint16_t udp = __builtin_bswap16((uint16_t)(BP_UDP_HDR + len));
	const uint32_t fragment = dont_fragment ? BP_IP4_DF >> 8 : 0;

	h->ip = (uint64_t)(hops | BP_PROTO_UDP << 8) << 48 | (uint64_t)fragment << 32 |
		__builtin_bswap16((uint16_t)(HEADERS - BP_ETHER_HDR + len));
	h->ip_sum = fold_half(bp_sum_add(h->fixed, h->ip));
	h->udp_sum = udp + (BP_PROTO_UDP << 8);
	h->tail = len - 17 < 8 ? 8 * (24 - len) : 64;
	piece[PIECE_LEN] = (uint8_t)udp;
	piece[PIECE_LEN + 1] = (uint8_t)(udp >> 8);
	return piece;
}

/* Copies a payload, and returns its bp_sum() with the other summands. */
static inline uint64_t copy(uint8_t *to, const uint8_t *from, unsigned len, unsigned tail,
	uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t a, b = 0, c = 0;

	if (__builtin_expect(tail == 64, 0)) {
		a = bp_copy_and_sum(to, from, len);
	} else {
		c = bp_sum_word(from + len - 8);
		memcpy(to, from, 16);
		memcpy(to + len - 8, &c, 8);
		a = bp_sum_word(from);
		b = bp_sum_word(from + 8);
		c >>= tail;
	}
	return bp_sum_six(a, b, c, d, e, f);
}

/* The next message may be fragmented, so it has an identification. */
static inline void set_id(struct bp_disaggregator_head *h, uint16_t id)
{
	h->ip = (h->ip & ~0xffff0000ull) | (uint64_t)__builtin_bswap16(id) << 16;
	h->ip_sum = fold_half(bp_sum_add(h->fixed, h->ip));
}

/* Writes a frame from its head's pieces and its payload. */
static inline void write_frame(const struct bp_disaggregator_head *h, uint8_t *to, bp_v16 piece,
	const uint8_t *payload, unsigned len)
{
	const uint64_t first = bp_v16_first(piece), last = bp_v16_last(piece);
	const uint64_t sum = copy(to + HEADERS, payload, len, h->tail, first, last, h->udp_sum);
	const uint32_t src = (uint32_t)(first >> 8 * PIECE_SRC), ip_sum = src + h->ip_sum;
	const uint16_t ip_check = (uint16_t)check_of(ip_sum + (ip_sum < src));
	uint32_t check = check_of(fold_half(sum));

	check |= (check - 1) >> 16; /* 0 would mean no checksum (RFC 768) */
	memcpy(to, &h->front, 16);
	memcpy(to + IP_AT, &h->ip, 8);
	memcpy(to + PIECE_AT, &piece, 16);
	memcpy(to + PIECE_AT, &ip_check, 2);
	memcpy(to + CHECK_AT, &check, 2);
}

static void record_rule(struct bp_disaggregator *d, unsigned rule)
{
	struct bp_disaggregator_ip4 *u = &d->ip4;

	u->rule = (uint8_t)rule;
	/* no address matches these if each must be checked */
	u->mask = 0;
	u->value = 1;
	if (rule != BP_AGG_NO_RULE && d->rule[rule].possible) {
		const struct bp_agg_senders_prefix *p = &d->rule[rule].senders.prefix[0];

		u->mask = p->mask[0] << 8 * PIECE_SRC;
		u->value = p->value[0] << 8 * PIECE_SRC;
	}
}

/* The rule for the destination of the aggregate, which is mostly that of the preceding one. */
static inline unsigned find_rule(
	struct bp_disaggregator *d, const struct bp_datagram *g, unsigned port)
{
	/* destination, source port, destination port: the input port instead of the second */
	const uint64_t to = (bp_sum_word(bp_datagram_dst(g)) & 0xffff0000ffffffff) |
			    (uint64_t)(uint16_t)port << 32;

	if (__builtin_expect(to != d->ip4.to, 0)) {
		d->ip4.to = to;
		record_rule(d, bp_disaggregator_rule_of(d, g, port));
	}
	return d->ip4.rule;
}

static __attribute__((noinline)) bool other_sender(
	const struct bp_disaggregator_rule *r, uint64_t piece)
{
	const uint64_t address[2] = {piece >> 8 * PIECE_SRC & UINT32_MAX, 0};
	uint8_t bytes[4];

	memcpy(bytes, address, 4);
	return bp_datagram_sender_possible(4, bytes, 1, 1) &&
	       bp_agg_senders_has(&r->senders, address);
}

/* Whether this may be a message's sender. */
static inline bool sender_ok(
	const struct bp_disaggregator *d, const struct bp_disaggregator_rule *r, bp_v16 piece)
{
	const uint64_t first = bp_v16_first(piece);

	if ((bp_v16_last(piece) & 0xffff0000) == 0) /* its port */
		return false;
	return __builtin_expect((first & d->ip4.mask) == d->ip4.value, 1) || other_sender(r, first);
}

/* Whether it is a plain aggregate for a rule, whose number is then in d->ip4.rule, with an
 * undamaged header and directory. */
static inline bool check(struct bp_disaggregator *d, const uint8_t *frame, uint32_t len,
	unsigned port, bool routed, uint64_t mac, struct bp_datagram *g, struct bp_agg_full_at4 *at)
{
	unsigned rule;

	if (!bp_datagram_is_simple_ip4(frame, len) ||
		!bp_datagram_parse_simple_ip4(frame, len, len, g) ||
		!bp_disaggregator_for_this_machine(frame, routed, mac))
		return false;
	rule = find_rule(d, g, port);
	return rule != BP_AGG_NO_RULE && d->rule[rule].format == BP_AGG_FORMAT_FULL &&
	       bp_datagram_lengths_ok(g) && bp_datagram_ip_ok(g) && bp_datagram_has_checksum(g) &&
	       bp_datagram_udp_ok(g, bp_datagram_payload_sum(g)) &&
	       bp_agg_full_entries4_begin(
		       &d->ip4.entries, at, bp_datagram_payload(g), bp_datagram_payload_len(g));
}

/* Restores `count` messages; `id` is the identification of the first. False: a message is
 * invalid. */
static inline bool restore(struct bp_disaggregator *d, const struct bp_datagram *g,
	struct bp_agg_full_at4 at, unsigned count, uint16_t id,
	const struct bp_disagg_buffers *buffers)
{
	struct bp_agg_full_entries4 *x = &d->ip4.entries;
	const struct bp_disaggregator_rule *r = &d->rule[d->ip4.rule];
	struct bp_disaggregator_head *h = &d->ip4.head;
	const uint8_t *payload = x->end;
	const uint8_t *const end = bp_datagram_payload(g) + bp_datagram_payload_len(g);
	uint8_t *const *base = buffers->base;
	const size_t data_at = buffers->data_at;
	struct bp_disagg_length *length = buffers->length;
	unsigned since = 0; /* the first message of that length */

	at.piece = begin(h, g->frame);
	for (unsigned i = 0; i < count; i++) {
		switch (bp_agg_full_entries4_next(x, &at)) {
		case BP_AGG_FULL_BAD:
			return false;
		case BP_AGG_FULL_ALL:
			if (x->hops == 0)
				return false;
			length->n = (uint8_t)(i - since);
			length += length->n != 0;
			length->len = (uint16_t)(HEADERS + x->len);
			since = i;
			at.piece = go_on(h, at.piece, g->dont_fragment, x->len, x->hops);
			break;
		case BP_AGG_FULL_SENDER:
			break;
		}
		if (!sender_ok(d, r, at.piece) || x->len > end - payload)
			return false;
		if (!g->dont_fragment)
			set_id(h, (uint16_t)(id + i));
		write_frame(h, base[i] + data_at, at.piece, payload, x->len);
		payload += x->len;
	}
	length->n = (uint8_t)(count - since);
	return at.p == x->end && payload == end;
}

unsigned bp_disaggregator_restore_ip4(struct bp_disaggregator *d, const uint8_t *frame,
	uint32_t len, unsigned port, bool routed, uint64_t mac, uint16_t id,
	const struct bp_disagg_buffers *buffers, uint8_t *rule)
{
	struct bp_agg_full_at4 at;
	struct bp_datagram g;
	const uint8_t *p;
	unsigned count;

	if (!check(d, frame, len, port, routed, mac, &g, &at))
		return 0;
	p = bp_datagram_payload(&g);
	count = p[BP_AGG_FULL_AT_COUNT];
	if (count == 0 || count > buffers->n || !restore(d, &g, at, count, id, buffers))
		return 0;
	*rule = d->ip4.rule;
	bp_disaggregator_record(d, &g, *rule, bp_be16(p + BP_AGG_FULL_AT_STREAM),
		bp_be32(p + BP_AGG_FULL_AT_SEQUENCE));
	bp_disaggregator_count(d, *rule, len, count,
		(uint64_t)count * HEADERS +
			(uint64_t)(p + bp_datagram_payload_len(&g) - d->ip4.entries.end));
	return count;
}
