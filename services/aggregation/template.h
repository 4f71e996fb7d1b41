/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_TEMPLATE_H
#define BP_SERVICES_AGGREGATION_TEMPLATE_H

#include "services/aggregation/aggregator.h"
#include "services/aggregation/match.h"
#include "proto/aggregation/agg_lin2018.h"
#include "proto/net/checksum_four.h"

/*
 * A template of messages: of one stream, with the same payload length and hop limit, from one port
 * and one /8, and in frames of one length. The common fields were validated with one message; the
 * others are compared with it. The remaining checks are the checksums, the source port, and whether
 * the source is one of the rule's senders, which is a comparison, too. Four messages are checked at
 * a time.
 */

/* Layouts of the payload. */
enum bp_agg_template_kind {
	BP_AGG_TEMPLATE_NONE,
	BP_AGG_TEMPLATE_LIN2018, /* format lin2018: flag header, and the message behind byte 48 */
	BP_AGG_TEMPLATE_FULL,    /* the bytes from 48 on are more of it */
};

/* Bytes of each frame that are read, however short its message is. */
#define BP_AGG_TEMPLATE_READS 48u

struct bp_agg_template {
	bp_v16 head[3], compared[3]; /* bytes 0, 16 and 32 on of the one, and which of them count */
	bp_v16 last;                 /* those of the last 16 bytes that were not read before */
	bp_v4 ip, udp, sum;          /* to be added to the sums: of IP header, UDP, and payload */
	uint64_t lens, mac;          /* of the input */
	uint32_t end;                /* of the UDP payload, from the frame's first byte */
	uint16_t from;
	uint8_t kind; /* enum bp_agg_template_kind */
	uint8_t hops;
};

/*
 * Sets *x to the template of the message in `in`, which a rule with these senders accepted. The
 * message is simple as in bp_datagram_is_simple_ip4() and has a payload of `len` bytes. `paper`:
 * the rule's format is lin2018. False: no template is possible, because too few bytes of the frame
 * are readable or the payload has up to 6 bytes.
 */
bool bp_agg_template_set(struct bp_agg_template *x, const struct bp_agg_input *in, unsigned len,
	bool paper, const struct bp_agg_senders *senders);

/*
 * As above, for messages to several destinations: those that have all bits of `to` (network byte
 * order) as this message's destination has, and the same port, if `port` is true. Any hop limit but
 * 0 is accepted.
 */
bool bp_agg_template_set_streams(struct bp_agg_template *x, const struct bp_agg_input *in,
	unsigned len, bool paper, const struct bp_agg_senders *senders, uint32_t to, bool port);

/* Port and `routed` of an input, to be compared. */
static inline uint16_t bp_agg_template_from(const struct bp_agg_input *in)
{
	uint16_t from;

	memcpy(&from, &in->port, sizeof(from));
	return from;
}

/* `len` and `frame_len`, likewise. */
static inline uint64_t bp_agg_template_lens(const struct bp_agg_input *in)
{
	uint64_t lens;

	memcpy(&lens, &in->len, sizeof(lens));
	return lens;
}
_Static_assert(
	offsetof(struct bp_agg_input, routed) == offsetof(struct bp_agg_input, port) + 1 &&
		offsetof(struct bp_agg_input, frame_len) == offsetof(struct bp_agg_input, len) + 4,
	"each two are compared as one number");

/* Offsets of the pieces of the headers in a frame. */
static inline bp_v16 bp_agg_template_piece(const uint8_t *frame, unsigned i)
{
	return bp_v16_load(frame + (size_t)i * 16);
}

/*
 * Compares in[0..4). True: all four match; then sum[0..4) are the bp_sum() of their payloads;
 * with format lin2018, of their messages without the flag header. Constants: `kind`, x->kind;
 * `streams`, whether *x is by bp_agg_template_set_streams().
 */
static inline __attribute__((always_inline)) bool bp_agg_template_match4(
	const struct bp_agg_template *x, const struct bp_agg_input *in,
	enum bp_agg_template_kind kind, bool streams, uint32_t *sum)
{
	static const bp_v8_s16 all = {1, 1, 1, 1, 1, 1, 1, 1};
	/* the source; from the destination to the checksum; the payload's first bytes */
	static const bp_v8_s16 source = {0, 0, 0, 0, 0, 1, 1, 0};
	static const bp_v8_s16 addresses = {0, 0, 0, 0, 0, 1, 1, 1}, to = {1, 0, 0, 0, 0, 0, 0, 0};
	static const bp_v8_s16 header = {1, 1, 1, 1, 1, 0, 0, 0};
	static const bp_v8_s16 first = {0, 0, 0, 0, 0, 1, 1, 1};
	bp_v16 differ[3] = {bp_v16_of(0), bp_v16_of(0), bp_v16_of(0)}, lowest = bp_v16_of(255);
	bp_v16 hops = lowest;
	bp_v4 ip[2], udp[2], payload[2], ok;
	/* TTL */
	static const bp_v16 only_hops = {0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	uint64_t differs = 0;

	for (unsigned i = 0; i < 4; i++)
		differs |= (bp_agg_template_lens(&in[i]) ^ x->lens) | (in[i].mac ^ x->mac) |
			   (uint64_t)(bp_agg_template_from(&in[i]) ^ x->from);
	if (__builtin_expect(differs != 0, 0))
		return false;
#pragma GCC unroll 2
	for (unsigned two = 0; two < 2; two++) {
		bp_v4 i4[2], u4[2], p4[2];

#pragma GCC unroll 2
		for (unsigned i = 0; i < 2; i++) {
			const uint8_t *f = in[2 * two + i].frame;
			const bp_v16 a = bp_agg_template_piece(f, 0),
				     b = bp_agg_template_piece(f, 1);
			const bp_v16 c = bp_agg_template_piece(f, 2);

			differ[0] |= a ^ x->head[0];
			differ[1] |= b ^ x->head[1];
			differ[2] |= c ^ x->head[2];
			lowest = bp_v8_min(lowest, c);
			i4[i] = bp_v4_words(b, all);
			u4[i] = bp_v4_words(b, streams ? addresses : source);
			if (streams) {
				i4[i] += bp_v4_words(c, to);
				hops = bp_v16_min(hops, b);
			}
			if (kind == BP_AGG_TEMPLATE_LIN2018) {
				u4[i] += bp_v4_words(c, all);
				p4[i] = bp_v4_words(bp_agg_template_piece(f, 3), all);
				continue;
			} else {
				u4[i] += bp_v4_words(c, header);
				p4[i] = bp_v4_words(c, first);
			}
			for (unsigned at = BP_AGG_TEMPLATE_READS; at + 16 < x->end; at += 16)
				p4[i] += bp_v4_words(bp_v16_load(f + at), all);
			p4[i] += bp_v4_words(
				bp_v16_pick(bp_v16_load(f + x->end - 16), x->last), all);
		}
		ip[two] = bp_v4_sum_two(i4[0], i4[1]);
		udp[two] = bp_v4_sum_two(u4[0], u4[1]);
		payload[two] = bp_v4_sum_two(p4[0], p4[1]);
	}
	payload[0] = bp_v4_sum_four(payload[0], payload[1]) + x->sum;
	udp[0] = bp_v4_sum_four(udp[0], udp[1]) + x->udp + payload[0];
	ip[0] = bp_v4_sum_four(ip[0], ip[1]) + x->ip;
	memcpy(sum, &payload[0], sizeof(payload[0]));
	differ[0] &= x->compared[0];
	differ[1] &= x->compared[1];
	differ[2] &= x->compared[2];
	/* no source port is 0 */
	lowest = (bp_v16)((bp_v8_s16)lowest == 0) & (bp_v16)(bp_v8_s16){0, -1, 0, 0, 0, 0, 0, 0};
	if (streams)
		lowest |= (bp_v16)(hops == 0) & only_hops;
	ok = bp_v4_sums_ok(ip[0]) & bp_v4_sums_ok(udp[0]) &
	     (bp_v4)((bp_v16)(differ[0] | differ[1] | differ[2] | lowest) == 0);
	return bp_v16_all((bp_v16)ok);
}

/* Compares in[0..n): returns how many match, from the first on. sum[0..n) may all be written; of
 * those that are so it is the bp_sum() of the payload, with format lin2018 of the message without
 * the flag header. */
unsigned bp_agg_template_match_run(
	const struct bp_agg_template *x, const struct bp_agg_input *in, unsigned n, uint32_t *sum);

#endif
