/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/aggregator_judge.h"
#include "proto/agg_full_alike.h"

/*
 * The usual message: without tags, IPv4, and of the stream of the last one before. That is said by
 * its head, piece by piece: what it must have in common with that one's is compared at once, and no
 * rule or stream has to be looked for. Many senders of one kind make nothing else.
 *
 * Mostly it is also as long, has as many hops to go and comes from the same /8. Such a message is
 * like the last one: its lengths are right because that one's were, and only what differs has to be
 * judged.
 */

/* Where the pieces of a head lie in a frame. */
static const uint8_t piece_at[3] = {0, 14, 26};

/* What the heads of one stream have in common: destination MAC, type, version and length of the
 * header, TOS; fragment, protocol; destination and its port. */
static const bp_v16 common[3] = {
	{255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255},
	{255, 255, 0, 0, 0, 0, 255, 255, 0, 255, 0, 0, 0, 0, 0, 0},
	{0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 0, 0, 0, 0},
};
/* What those of messages that are alike have in common, too: both lengths, TTL, first octet of the
 * source. */
static const bp_v16 alike[3] = {
	{255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255},
	{255, 255, 255, 255, 0, 0, 255, 255, 255, 255, 0, 0, 255, 0, 0, 0},
	{0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 255, 255, 0, 0},
};

static inline bool same_head(const uint8_t *f, const bp_v16 head[3], const bp_v16 asked[3])
{
	const bp_v16 a = (bp_v16_load(f + piece_at[0]) ^ head[0]) & asked[0];
	const bp_v16 b = (bp_v16_load(f + piece_at[1]) ^ head[1]) & asked[1];
	const bp_v16 c = (bp_v16_load(f + piece_at[2]) ^ head[2]) & asked[2];

	return bp_v16_same(a | b | c, bp_v16_of(0));
}

static inline bool same_input(const struct bp_aggregator_usual *u, const struct bp_agg_input *in)
{
	return in->port == u->port && in->routed == u->routed && in->mac == u->mac;
}

/* Whether it is for the stream of that head. */
static inline bool is_usual(const struct bp_aggregator_usual *u, const struct bp_agg_input *in)
{
	return in->len >= BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR &&
	       same_head(in->frame, u->head, common) && same_input(u, in);
}

static inline void note_head(struct bp_aggregator_usual *u, const uint8_t *frame, unsigned len)
{
	for (unsigned i = 0; i < 3; i++)
		u->head[i] = bp_v16_load(frame + piece_at[i]);
	u->len = (uint16_t)len;
}

void bp_aggregator_usual_set(
	struct bp_aggregator *a, const struct bp_agg_input *in, uint32_t stream)
{
	struct bp_aggregator_usual *u = &a->usual;

	u->stream = BP_AGG_NO_STREAM;
	if (!bp_datagram_is_usual(in->frame, in->len))
		return;
	u->stream = stream;
	u->rule = in->rule;
	u->port = in->port;
	u->routed = in->routed;
	u->mac = in->mac;
	note_head(u, in->frame,
		bp_be16(in->frame + BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_LEN) - BP_UDP_HDR);
}

/* Messages of this burst that are in the aggregate and not in its sums yet. */
struct tally {
	unsigned n;
	uint32_t octets, payloads;
};

static inline void enter(struct bp_aggregator *a, uint32_t stream, struct tally *t, uint64_t now_ns)
{
	struct bp_agg_stream *s = &a->streams.stream[stream];

	if (t->octets != bp_agg_least(0) * t->n + t->payloads)
		a->streams.rest[stream].more += t->octets - bp_agg_least(0) * t->n - t->payloads;
	s->arrived_ns += t->n * now_ns;
	a->taken += t->n;
	a->taken_octets += t->octets;
	*t = (struct tally){0};
}

static bool begin(struct bp_aggregator *a, uint32_t stream, const uint8_t *frame, uint64_t now_ns)
{
	void *buffer;
	uint8_t *base = a->hooks.get(a->hooks.arg, &buffer);

	if (base == NULL)
		return false;
	bp_aggregator_begin(a, stream, base, buffer, frame, now_ns);
	return true;
}

/* False: the aggregate would exceed its size, or its directory must be moved. */
static inline __attribute__((always_inline)) bool append(
	struct bp_agg_stream *s, bool paper, const uint8_t *frame, unsigned len, uint64_t sum)
{
	const uint8_t *ip = frame + BP_ETHER_HDR, *udp = ip + BP_IP4_HDR;
	struct bp_agg_full_writer *w = &s->writer;
	const unsigned before = w->payloads;

	if (paper) {
		if (w->count == 0) {
			memcpy(w->last_addr, ip + BP_IP4_SRC, 4);
			w->last_port = bp_be16(udp);
			w->last_hops = ip[BP_IP4_TTL];
		}
		bp_aggregator_append_paper(w, udp + BP_UDP_HDR, &s->sum);
		return true;
	}
	if (!bp_agg_full_append4(
		    w, ip + BP_IP4_SRC, bp_be16(udp), ip[BP_IP4_TTL], udp + BP_UDP_HDR, len))
		return false;
	s->sum = bp_sum_add(s->sum, bp_sum_moved(sum, before));
	return true;
}

/*
 * Takes messages like the last one, into the aggregate that holds that one, which has room for
 * `most` more: as many as there are in a row. What changes from one to the next is in registers.
 * Format paper's then all fit there, if nothing is called: senders behind the rule's first prefix
 * are left to take_one().
 */
static inline __attribute__((always_inline)) unsigned take_alike(struct bp_aggregator *a,
	struct bp_agg_stream *s, const struct bp_aggregator_rule *r, struct bp_agg_input *in,
	unsigned most, bool paper, struct tally *t)
{
	const struct bp_aggregator_usual *u = &a->usual;
	const bp_v16 head[3] = {u->head[0], u->head[1], u->head[2]};
	const uint8_t *old = (const uint8_t *)u->head;
	const unsigned len = u->len, end = BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR + len;
	/* what the checksums cover and is the same in all */
	const uint64_t to = bp_load32(old + 32 + 4), ip_sum = to + bp_load32(old + 16);
	const uint64_t udp_sum =
		to + __builtin_bswap16((uint16_t)(BP_UDP_HDR + len)) + (BP_PROTO_UDP << 8);
	struct bp_agg_full_alike w = {0};
	uint8_t *at = s->writer.buf + s->writer.front +
		      (size_t)BP_AGG_PAPER_MESSAGE_LEN * s->writer.count;
	const struct bp_agg_senders_prefix *const first = &r->senders.prefix[0];
	const uint64_t from = first->value[0], mask = first->mask[0];
	uint64_t sum = s->sum;
	uint32_t octets = 0;
	unsigned i;

	if (!paper) {
		if (len != s->writer.last_len || (u->head[1][8] != s->writer.last_hops))
			return 0;
		bp_agg_full_alike_begin(&w, &s->writer);
	}
	for (i = 0; i < most; i++) {
		const uint8_t *f = in[i].frame, *payload = f + end - len;
		uint64_t head_sum, all, own;
		uint32_t src, sport;

		if (in[i].len < end || in[i].len < in[i].frame_len || !same_head(f, head, alike) ||
			!same_input(u, &in[i]))
			break;
		src = bp_load32(f + 26);
		sport = bp_load32(f + 34) & 0xffff;
		head_sum = bp_sum_add(bp_sum_word(f + 18), ip_sum + src);
		all = bp_sum_add(bp_sum_word(f + 34), udp_sum + src);
		if (paper) {
			own = bp_sum_add(bp_sum_word(payload + BP_AGG_PAPER_HEADER),
				bp_sum_word(payload + BP_AGG_PAPER_HEADER + 8));
			all = bp_sum_add(all, bp_sum_word(payload) & 0xffffffffffff);
		} else {
			own = bp_aggregator_sum(payload, len);
		}
		all = bp_sum_add(all, own);
		if (!bp_sum_ok(head_sum) || !bp_sum_ok(all) || sport == 0 ||
			(paper ? (src & mask) != from
			       : !bp_agg_senders_has4(&r->senders, f + 26)) ||
			(paper ? *payload != BP_AGG_PAPER_MESSAGE : !bp_agg_full_alike_fits(&w)))
			break;
		if (paper) {
			memcpy(at, payload + BP_AGG_PAPER_HEADER, BP_AGG_PAPER_MESSAGE_LEN);
			at += BP_AGG_PAPER_MESSAGE_LEN;
			sum = bp_sum_add(sum, own);
		} else {
			sum = bp_sum_add(sum, bp_sum_moved(own, w.length - w.directory));
			bp_agg_full_alike_append(&w, src, sport, payload, len);
		}
		in[i].verdict = BP_AGG_TAKEN;
		in[i].rule = u->rule;
		octets += in[i].frame_len;
	}
	if (paper)
		s->writer.count = (uint8_t)(s->writer.count + i);
	else
		bp_agg_full_alike_end(&s->writer, &w, i);
	s->sum = sum;
	t->n += i;
	t->octets += octets;
	t->payloads += i * len;
	a->alike += i;
	return i;
}

/* Takes a usual message that is not like the last one, or the first of an aggregate. */
static inline __attribute__((always_inline)) bool take_one(struct bp_aggregator *a,
	struct bp_agg_stream *s, const struct bp_aggregator_rule *r, struct bp_agg_input *in,
	bool paper, uint64_t now_ns)
{
	struct bp_aggregator_usual *u = &a->usual;
	unsigned len;
	uint64_t sum;

	if (!is_usual(u, in) || !bp_aggregator_judge_usual(r, in, paper, &len, &sum) ||
		(s->buffer == NULL && !begin(a, u->stream, in->frame, now_ns)) ||
		!append(s, paper, in->frame, len, sum))
		return false;
	in->verdict = BP_AGG_TAKEN;
	in->rule = u->rule;
	note_head(u, in->frame, len);
	return true;
}

static inline __attribute__((always_inline)) unsigned take(struct bp_aggregator *a,
	struct bp_agg_input *in, unsigned n, bool paper, uint64_t now_ns, uint64_t wall_ns)
{
	const uint32_t stream = a->usual.stream;
	const struct bp_aggregator_rule *r = &a->rule[a->usual.rule];
	const unsigned most = r->most;
	struct bp_agg_stream *s = &a->streams.stream[stream];
	struct tally t = {0};
	bool like = true; /* lengths do not change all the time: worth a try */
	unsigned i = 0;

	while (i < n) {
		const uint16_t len = a->usual.len;

		if (s->buffer != NULL && like) {
			const unsigned left = most - s->writer.count;

			i += take_alike(a, s, r, in + i, left < n - i ? left : n - i, paper, &t);
		}
		if (s->buffer == NULL || s->writer.count != most) {
			if (i == n || !take_one(a, s, r, &in[i], paper, now_ns))
				break;
			like = a->usual.len == len;
			t.n++;
			t.octets += in[i++].frame_len;
			t.payloads += a->usual.len;
			if (s->writer.count != most)
				continue;
		}
		enter(a, stream, &t, now_ns);
		a->at = (uint8_t)(i - 1);
		bp_aggregator_leave(a, stream,
			most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, now_ns,
			wall_ns);
	}
	enter(a, stream, &t, now_ns);
	return i;
}

unsigned bp_aggregator_take_usual(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns)
{
	const unsigned rule = a->usual.rule;

	if (a->taken_rule != rule) {
		bp_aggregator_settle(a);
		a->taken_rule = rule;
	}
	return a->rule[rule].format == BP_AGG_FORMAT_PAPER ? take(a, in, n, true, now_ns, wall_ns)
							   : take(a, in, n, false, now_ns, wall_ns);
}
