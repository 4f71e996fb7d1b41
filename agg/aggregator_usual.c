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
	s->waited_ns += t->n * (now_ns - a->streams.stream[stream].began_ns);
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
			memcpy(w->last.addr, ip + BP_IP4_SRC, 4);
			w->last.port = bp_be16(udp);
			w->last.hops = ip[BP_IP4_TTL];
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

static inline __attribute__((always_inline)) unsigned take(struct bp_aggregator *a,
	struct bp_agg_input *in, unsigned n, bool paper, uint64_t now_ns, uint64_t wall_ns)
{
	const struct bp_aggregator_usual u = a->usual;
	const struct bp_aggregator_rule *r = &a->rule[u.rule];
	const unsigned most = r->most;
	struct bp_agg_stream *s = &a->streams.stream[u.stream];
	struct tally t = {0};
	unsigned i;

	for (i = 0; i < n && is_usual(&u, &in[i]); i++) {
		unsigned len;
		uint64_t sum;

		if (!bp_aggregator_judge_usual(r, &in[i], paper, &len, &sum))
			break;
		if (s->buffer == NULL && !begin(a, u.stream, in[i].frame, now_ns))
			break;
		if (!append(s, paper, in[i].frame, len, sum))
			break;
		in[i].verdict = BP_AGG_TAKEN;
		in[i].rule = u.rule;
		t.n++;
		t.octets += in[i].frame_len;
		if (s->writer.count != most)
			continue;
		enter(a, u.stream, &t, now_ns);
		a->at = (uint8_t)i;
		bp_aggregator_leave(a, u.stream,
			most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, now_ns,
			wall_ns);
	}
	enter(a, u.stream, &t, now_ns);
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
