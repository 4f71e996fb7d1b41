/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/aggregator_judge.h"

/*
 * The usual message: without tags, IPv4, and of the stream of the last one before. That is said by
 * its head, word by word: what it must have in common with that one's is compared at once, and no
 * rule or stream has to be looked for. Many senders of one kind make nothing else.
 */

/* What the heads of one stream have in common, by where it lies in a frame. */
#define AT_TARGET 0u    /* destination MAC; two octets of the source */
#define AT_TYPE 12u     /* type, version and length of the header, TOS; length, id */
#define AT_FRAGMENT 20u /* fragment; TTL; protocol; checksum, source */
#define AT_TO 30u       /* destination; source port; destination port */

static const struct bp_aggregator_head common = {
	.target = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	.type = {0xff, 0xff, 0xff, 0xff},
	.fragment = {0xff, 0xff, 0, 0xff},
	.to = {0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0xff},
};

static inline uint64_t differs(const uint8_t *p, const uint8_t *of, const uint8_t *mask)
{
	return (bp_sum_word(p) ^ bp_sum_word(of)) & bp_sum_word(mask);
}

/* Whether it is for the stream of that head. */
static inline bool is_usual(const struct bp_aggregator_usual *u, const struct bp_agg_input *in)
{
	const uint8_t *f = in->frame;
	const struct bp_aggregator_head *h = &u->head;

	if (in->len < BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR)
		return false;
	return (differs(f + AT_TARGET, h->target, common.target) |
		       differs(f + AT_TYPE, h->type, common.type) |
		       differs(f + AT_FRAGMENT, h->fragment, common.fragment) |
		       differs(f + AT_TO, h->to, common.to)) == 0 &&
	       in->port == u->port && in->routed == u->routed && in->mac == u->mac;
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
	memcpy(u->head.target, in->frame + AT_TARGET, sizeof(u->head.target));
	memcpy(u->head.type, in->frame + AT_TYPE, sizeof(u->head.type));
	memcpy(u->head.fragment, in->frame + AT_FRAGMENT, sizeof(u->head.fragment));
	memcpy(u->head.to, in->frame + AT_TO, sizeof(u->head.to));
}

/* Messages of this burst that are in the aggregate and not in its sums yet. */
struct tally {
	unsigned n;
	uint32_t octets;
};

static inline void enter(struct bp_aggregator *a, uint32_t stream, struct tally *t, uint64_t now_ns)
{
	struct bp_agg_stream *s = &a->streams.stream[stream];

	s->octets += t->octets;
	s->waited_ns += t->n * (now_ns - a->streams.link[stream].began_ns);
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

static inline bool append(
	struct bp_agg_stream *s, bool paper, const struct bp_datagram *d, uint64_t sum)
{
	struct bp_agg_full_writer *w = &s->writer;
	const uint8_t *payload = bp_datagram_payload(d);
	struct bp_agg_sender from = {.port = d->sport, .hops = d->hops};
	unsigned before;

	memcpy(from.addr, bp_datagram_src(d), 4);
	if (paper) {
		bp_aggregator_append_paper(w, &from, payload, &s->sum);
		return true;
	}
	before = w->payloads;
	if (!bp_agg_full_append_of(4, w, &from, payload, bp_datagram_payload_len(d)))
		return false;
	s->sum = bp_sum_add(s->sum, bp_sum_moved(sum, before));
	return true;
}

unsigned bp_aggregator_take_usual(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns)
{
	const struct bp_aggregator_usual *u = &a->usual;
	const struct bp_aggregator_rule *r = &a->rule[u->rule];
	const bool paper = r->format == BP_AGG_FORMAT_PAPER;
	const uint32_t stream = u->stream;
	struct bp_agg_stream *s = &a->streams.stream[stream];
	struct tally t = {0};
	unsigned i;

	if (a->taken_rule != u->rule) {
		bp_aggregator_settle(a);
		a->taken_rule = u->rule;
	}
	for (i = 0; i < n && is_usual(u, &in[i]); i++) {
		struct bp_datagram d;
		uint64_t sum;

		if (!bp_datagram_parse_usual(in[i].frame, in[i].len, in[i].frame_len, &d) ||
			!bp_aggregator_judge(r, &d, false, &sum, &in[i].pass))
			break;
		if (s->buffer == NULL && !begin(a, stream, in[i].frame, now_ns))
			break;
		if (!append(s, paper, &d, sum))
			break;
		in[i].verdict = BP_AGG_TAKEN;
		in[i].rule = u->rule;
		t.n++;
		t.octets += in[i].frame_len;
		if (s->writer.count != r->most)
			continue;
		enter(a, stream, &t, now_ns);
		a->at = (uint8_t)i;
		bp_aggregator_leave(a, stream,
			r->most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, now_ns,
			wall_ns);
	}
	enter(a, stream, &t, now_ns);
	return i;
}
