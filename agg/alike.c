/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/alike.h"

#include "agg/datagram.h"
#include "proto/checksum_four.h"

/* What is asked for in each piece of a head. Destination MAC, type, version and length of the
 * header, TOS; lengths, fragment, TTL and protocol, first octet of the source; destination and its
 * port. */
static const bp_v16 asked[3] = {
	{255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255},
	{255, 255, 0, 0, 255, 255, 255, 255, 0, 0, 255, 0, 0, 0, 255, 255},
	{255, 255, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0},
};
#define AT_SRC (BP_ETHER_HDR + BP_IP4_SRC)
#define AT_DST (BP_ETHER_HDR + BP_IP4_DST)
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)
#define AT_PAYLOAD (AT_UDP + BP_UDP_HDR)

/* Port and `routed` of an input, to be compared. */
static inline uint16_t from_of(const struct bp_agg_input *in)
{
	uint16_t from;

	memcpy(&from, &in->port, sizeof(from));
	return from;
}

/* `len` and `frame_len`, likewise. */
static inline uint64_t lens_of(const struct bp_agg_input *in)
{
	uint64_t lens;

	memcpy(&lens, &in->len, sizeof(lens));
	return lens;
}
_Static_assert(
	offsetof(struct bp_agg_input, routed) == offsetof(struct bp_agg_input, port) + 1 &&
		offsetof(struct bp_agg_input, frame_len) == offsetof(struct bp_agg_input, len) + 4,
	"each two are compared as one number");

/* Where the pieces of a head lie in a frame. */
static inline bp_v16 piece(const uint8_t *frame, unsigned i)
{
	return bp_v16_load(frame + (size_t)i * 16);
}

static uint32_t word(const uint8_t *p)
{
	uint16_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* What each of four sums lacks: a sum that all have in common, and what so many words count too
 * little. */
static bp_v4 lacks(uint32_t sum, unsigned words)
{
	return (bp_v4){0} + (sum + words * BP_CHECKSUM_LESS);
}

static void set_payload(struct bp_alike *x, unsigned len)
{
	const unsigned first = BP_ALIKE_READS - AT_PAYLOAD;
	unsigned tail;

	x->payload = bp_v16_of(0);
	for (unsigned i = 0; i < len && i < first; i++)
		x->payload[16 - first + i] = 255;
	if (x->kind != BP_ALIKE_LONG)
		return;
	tail = (len - first - 1) % 16 + 1;
	for (unsigned i = 0; i < 16; i++)
		x->last[i] = (uint8_t)(i < tail ? 16 - tail + i : 0x80);
}

bool bp_alike_set(struct bp_alike *x, const struct bp_agg_input *in, unsigned len, bool paper,
	const struct bp_agg_senders *senders)
{
	const uint8_t *f = in->frame;
	const unsigned chunks = len > 6 ? (len - 6 + 15) / 16 : 0;
	uint32_t dst, from, udp;
	bp_v16 mask = bp_v16_of(0);

	x->kind = BP_ALIKE_NOTHING;
	if (in->len < BP_ALIKE_READS)
		return false;
	x->kind = paper ? BP_ALIKE_PAPER : len <= 6 ? BP_ALIKE_SHORT : BP_ALIKE_LONG;
	for (unsigned i = 0; i < 3; i++) {
		x->head[i] = piece(f, i);
		x->asked[i] = asked[i];
	}
	from = bp_agg_senders_mask4(senders, f + AT_SRC);
	memcpy((uint8_t *)&mask + AT_SRC - 16, &from, sizeof(from));
	x->asked[1] |= mask;
	if (paper)
		x->asked[2][AT_PAYLOAD - 32] = 255;
	set_payload(x, len);
	x->lens = lens_of(in);
	x->mac = in->mac;
	x->from = from_of(in);
	x->end = AT_PAYLOAD + len;
	x->hops = f[BP_ETHER_HDR + BP_IP4_TTL];

	dst = word(f + AT_DST);
	udp = word(f + AT_UDP + BP_UDP_LEN) + ((uint32_t)BP_PROTO_UDP << 8) + dst;
	x->ip = lacks(word(f + BP_ETHER_HDR) + word(f + AT_DST + 2), 8);
	x->udp = lacks(udp, paper ? 2 + 8 : 2 + 5);
	x->sum = lacks(0, paper ? 8 : 3 + 8 * chunks);
	return true;
}

/*
 * Judges in[0..4). True: all four are alike; then sum[0..4) are the bp_sum() of their payloads;
 * with format paper, of their messages without the flag header. `kind`: x->kind, as a constant.
 */
static inline __attribute__((always_inline)) bool four(const struct bp_alike *x,
	const struct bp_agg_input *in, enum bp_alike_kind kind, uint32_t *sum)
{
	static const bp_v8_asked all = {1, 1, 1, 1, 1, 1, 1, 1};
	/* the source; from the destination to the checksum; the payload's first octets */
	static const bp_v8_asked source = {0, 0, 0, 0, 0, 1, 1, 0};
	static const bp_v8_asked header = {1, 1, 1, 1, 1, 0, 0, 0};
	static const bp_v8_asked first = {0, 0, 0, 0, 0, 1, 1, 1};
	bp_v16 differ[3] = {bp_v16_of(0), bp_v16_of(0), bp_v16_of(0)}, least = bp_v16_of(255);
	bp_v4 ip[2], udp[2], payload[2], ok;
	uint64_t odd = 0;

	for (unsigned i = 0; i < 4; i++)
		odd |= (lens_of(&in[i]) ^ x->lens) | (in[i].mac ^ x->mac) |
		       (uint64_t)(from_of(&in[i]) ^ x->from);
	if (__builtin_expect(odd != 0, 0))
		return false;
#pragma GCC unroll 2
	for (unsigned two = 0; two < 2; two++) {
		bp_v4 i4[2], u4[2], p4[2];

#pragma GCC unroll 2
		for (unsigned i = 0; i < 2; i++) {
			const uint8_t *f = in[2 * two + i].frame;
			const bp_v16 a = piece(f, 0), b = piece(f, 1);
			const bp_v16 c = piece(f, 2);

			differ[0] |= a ^ x->head[0];
			differ[1] |= b ^ x->head[1];
			differ[2] |= c ^ x->head[2];
			least = bp_v8_least(least, c);
			i4[i] = bp_v4_words(b, all);
			u4[i] = bp_v4_words(b, source);
			if (kind == BP_ALIKE_PAPER) {
				u4[i] += bp_v4_words(c, all);
				p4[i] = bp_v4_words(piece(f, 3), all);
				continue;
			}
			u4[i] += bp_v4_words(c, header);
			if (kind == BP_ALIKE_SHORT) {
				p4[i] = bp_v4_words(c & x->payload, first);
				continue;
			}
			p4[i] = bp_v4_words(c, first);
			for (unsigned at = BP_ALIKE_READS; at + 16 < x->end; at += 16)
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
	differ[0] &= x->asked[0];
	differ[1] &= x->asked[1];
	differ[2] &= x->asked[2];
	/* no source port is 0 */
	least = (bp_v16)((bp_v8_asked)least == 0) & (bp_v16)(bp_v8_asked){0, -1, 0, 0, 0, 0, 0, 0};
	ok = bp_v4_sums_ok(ip[0]) & bp_v4_sums_ok(udp[0]) &
	     (bp_v4)((bp_v16)(differ[0] | differ[1] | differ[2] | least) == 0);
	return bp_v16_all((bp_v16)ok);
}

/* Judges one to three messages, in four places, the last one in all that are left. */
static inline __attribute__((always_inline)) bool few(const struct bp_alike *x,
	const struct bp_agg_input *in, unsigned n, enum bp_alike_kind kind, uint32_t *sum)
{
	struct bp_agg_input of[4];
	uint32_t sums[4];

	for (unsigned i = 0; i < 4; i++)
		of[i] = in[i < n ? i : n - 1];
	if (!four(x, of, kind, sums))
		return false;
	for (unsigned i = 0; i < n; i++)
		sum[i] = sums[i];
	return true;
}

static __attribute__((always_inline)) inline unsigned judge(const struct bp_alike *x,
	const struct bp_agg_input *in, unsigned n, enum bp_alike_kind kind, uint32_t *sum)
{
	unsigned i = 0;

	while (i + 4 <= n && four(x, in + i, kind, sum + i))
		i += 4;
	/* what is left, with some of those before */
	if (i + 4 > n && i < n &&
		(i != 0 ? four(x, in + n - 4, kind, sum + n - 4) : few(x, in, n, kind, sum)))
		return n;
	/* the next four, or so many as there are, are not all alike */
	while (i < n && few(x, in + i, 1, kind, sum + i))
		i++;
	return i;
}

unsigned bp_alike_judge(
	const struct bp_alike *x, const struct bp_agg_input *in, unsigned n, uint32_t *sum)
{
	switch (x->kind) {
	case BP_ALIKE_PAPER:
		return judge(x, in, n, BP_ALIKE_PAPER, sum);
	case BP_ALIKE_SHORT:
		return judge(x, in, n, BP_ALIKE_SHORT, sum);
	case BP_ALIKE_LONG:
		return judge(x, in, n, BP_ALIKE_LONG, sum);
	default:
		return 0;
	}
}
