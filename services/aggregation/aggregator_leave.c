/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_parts.h"
#include "proto/agg_paper.h"

/* How aggregates leave. */

void bp_aggregator_settle(struct bp_aggregator *a)
{
	struct bp_agg_stats *s = &a->stats[a->taken_rule];

	if (a->taken == 0)
		return;
	bp_agg_stat_add(&s->messages, a->taken);
	bp_agg_stat_add(&s->message_octets, a->taken_octets);
	bp_agg_stat_add(&s->waiting, a->taken);
	a->taken = 0;
	a->taken_octets = 0;
}

/* Completes the UDP payload: where it begins, its length and its sum. */
BP_DATAGRAM_INLINE uint8_t *end_payload(bool paper, const struct bp_agg_stream *s,
	struct bp_agg_staged *g, size_t *len, uint64_t *sum)
{
	const struct bp_agg_full_writer *w = &s->writer;
	uint8_t *p;

	if (paper) {
		p = w->buf + w->front - BP_AGG_PAPER_HEADER;
		bp_agg_paper_put_header(p, BP_AGG_PAPER_PACKET);
		*len = BP_AGG_PAPER_LEN((size_t)w->count);
		/* its octets but for the first are 0 */
		*sum = bp_sum_add(s->sum, bp_head_word((uint64_t)BP_AGG_PAPER_PACKET << 56));
		return p;
	}
	p = bp_agg_full_end_summed(w, g->number, g->sequence++, len, sum);
	*sum = bp_sum_add(*sum, bp_sum_moved(s->sum, w->directory));
	return p;
}

/* Writes Ethernet header, IP and UDP before the payload; returns where they begin. */
BP_DATAGRAM_INLINE uint8_t *put_heads(struct bp_aggregator *a, const struct bp_aggregator_rule *r,
	bool paper, unsigned family, unsigned tags, const struct bp_agg_stream *s,
	const uint8_t *src, uint16_t sport, uint8_t *payload, size_t len, uint64_t sum)
{
	const bool fixed = bp_agg_key_dont_fragment(&s->key);
	struct bp_datagram_head h = {
		.src = paper ? s->writer.last_addr : src,
		.dst = (const uint8_t *)s->key.word,
		.sport = paper ? s->writer.last_port : sport,
		.dport = (uint16_t)bp_agg_key_udp(&s->key),
		.id = fixed || family == 6 ? 0 : a->id++,
		.family = (uint8_t)family,
		.tos = (uint8_t)bp_agg_key_tos(&s->key),
		.hops = BP_AGG_HOPS,
		.dont_fragment = fixed,
	};
	uint8_t *head = payload - bp_datagram_head_len(family), *frame, macs[12];

	/* they may lie where the head goes */
	memcpy(macs, s->writer.buf - BP_AGG_MACS, sizeof(macs));
	if (r->has_from) {
		h.src = r->from;
		h.sport = r->from_udp;
	}
	bp_datagram_put_head(head, &h, (unsigned)len, sum);
	bp_put_be16(head - 2, family == 4 ? BP_ETHER_IP4 : BP_ETHER_IP6);
	frame = head - tags - BP_ETHER_HDR;
	memcpy(frame + sizeof(macs), &s->key.word[2], tags);
	memcpy(frame, macs, sizeof(macs));
	return frame;
}

/* Completes an aggregate: where its frame begins. Inlined for what is usual, with constants.
 * `tags`: octets of them. */
BP_DATAGRAM_INLINE uint8_t *finish(struct bp_aggregator *a, const struct bp_aggregator_rule *r,
	const struct bp_agg_stream *s, struct bp_agg_staged *g, const uint8_t *src, uint16_t sport,
	bool paper, unsigned family, unsigned tags, size_t *frame_len)
{
	uint8_t *payload, *frame;
	uint64_t sum;
	size_t len;

	payload = end_payload(paper, s, g, &len, &sum);
	frame = put_heads(a, r, paper, family, tags, s, src, sport, payload, len, sum);
	*frame_len = (size_t)(payload + len - frame);
	return frame;
}

void bp_aggregator_enter(struct bp_aggregator *a, unsigned rule, enum bp_agg_flush reason,
	const struct bp_aggregator_tally *t)
{
	struct bp_agg_stats *st = &a->stats[rule];

	bp_agg_stat_add(&st->aggregates, t->aggregates);
	bp_agg_stat_add(&st->aggregate_octets, t->octets);
	bp_agg_stat_add(&st->flushed[reason], t->aggregates);
	bp_agg_stat_add(&st->delay_ns, t->delay_ns);
	bp_agg_stat_add(&st->waiting, -t->messages);
}

static inline void count(struct bp_aggregator *a, const struct bp_agg_stream *s, uint32_t stream,
	unsigned rule, enum bp_agg_flush reason, unsigned octets, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_aggregator_tally t = {0};

	bp_aggregator_count(&t, &a->stats[rule], &a->streams.row[stream], s->writer.count,
		bp_aggregator_octets(a, s), octets, s->arrived_ns, s->began_ns, now_ns, wall_ns);
	bp_aggregator_enter(a, rule, reason, &t);
}

static inline struct bp_agg_output output(const struct bp_aggregator *a,
	const struct bp_agg_stream *s, unsigned rule, const uint8_t *frame, size_t len)
{
	return (struct bp_agg_output){.buffer = s->buffer,
		.offset = (uint16_t)(frame - (s->writer.buf - BP_AGG_AHEAD)),
		.len = (uint16_t)len,
		.port = a->rule[rule].port,
		.rule = (uint8_t)rule,
		.at = a->at};
}

void bp_aggregator_finish(struct bp_aggregator *a, uint32_t stream, struct bp_agg_output *out)
{
	const struct bp_agg_stream *s = &a->streams.stream[stream];
	const struct bp_agg_stream_rest *rest = &a->streams.rest[stream];
	struct bp_agg_staged *g = &a->streams.staged[stream];
	const unsigned rule = bp_agg_key_rule(&s->key), tags = 4 * bp_agg_key_tags(&s->key);
	const struct bp_aggregator_rule *r = &a->rule[rule];
	const bool paper = r->format == BP_AGG_FORMAT_PAPER;
	const uint8_t *frame;
	size_t len;

	if (__builtin_expect(r->family != 4 || tags != 0, 0))
		frame = finish(a, r, s, g, rest->src, rest->sport, paper, r->family, tags, &len);
	else if (paper)
		frame = finish(a, r, s, g, rest->src, rest->sport, true, 4, 0, &len);
	else
		frame = finish(a, r, s, g, rest->src, rest->sport, false, 4, 0, &len);
	*out = output(a, s, rule, frame, len);
}

void bp_aggregator_leave_unlike(struct bp_aggregator *a, uint32_t stream, uint8_t *base,
	void *buffer, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_agg_staged *g = &a->streams.staged[stream];
	const unsigned rule = bp_agg_usual_rule(g->usual);
	struct bp_agg_stream s = {.key = bp_agg_usual_key(g->usual)};
	struct bp_agg_output out;
	const uint8_t *frame;
	size_t len;

	bp_aggregator_unstage_to(a, g, &s, base, buffer);
	frame = finish(a, &a->rule[rule], &s, g, g->src, g->sport, false, 4, 0, &len);
	out = output(a, &s, rule, frame, len);
	count(a, &s, stream, rule, reason, out.len, now_ns, wall_ns);
	a->hooks.send(a->hooks.arg, &out);
}

void bp_aggregator_leave(struct bp_aggregator *a, uint32_t stream, enum bp_agg_flush reason,
	uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_agg_stream *s = &a->streams.stream[stream];
	struct bp_agg_output out;

	if (bp_agg_staged_count(&a->streams.staged[stream]) != 0) {
		bp_aggregator_leave_staged(a, bp_agg_usual_rule(a->streams.staged[stream].usual),
			&stream, 1, reason, now_ns, wall_ns);
		return;
	}
	bp_aggregator_finish(a, stream, &out);
	bp_aggregator_settle(a);
	count(a, s, stream, out.rule, reason, out.len, now_ns, wall_ns);
	bp_aggregator_end(a, s);
	bp_agg_streams_move(&a->streams, stream, BP_AGG_LIST_IDLE);
	a->hooks.send(a->hooks.arg, &out);
}

/* When the rule's first aggregate is due; UINT64_MAX: never, or it has none. */
static uint64_t first_due(const struct bp_aggregator *a, unsigned rule)
{
	const uint32_t first = bp_agg_streams_first(&a->streams, rule);

	return first != BP_AGG_NO_STREAM
		       ? bp_aggregator_due(&a->rule[rule], bp_aggregator_began_ns(a, first))
		       : UINT64_MAX;
}

uint64_t bp_aggregator_next(const struct bp_aggregator *a)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < a->n_rules; i++) {
		const uint64_t due = first_due(a, i);

		if (due < next)
			next = due;
	}
	return next;
}

/* The rule whose first aggregate has been due for longest, or BP_AGG_RULES_MAX. */
static unsigned most_due(const struct bp_aggregator *a, uint64_t now_ns)
{
	unsigned rule = BP_AGG_RULES_MAX;
	uint64_t since = now_ns;

	for (unsigned i = 0; i < a->n_rules; i++) {
		const uint64_t due = first_due(a, i);

		if (due == UINT64_MAX || due > since || (due == since && rule != BP_AGG_RULES_MAX))
			continue;
		since = due;
		rule = i;
	}
	return rule;
}

void bp_aggregator_poll(struct bp_aggregator *a, uint64_t now_ns, uint64_t wall_ns)
{
	if (now_ns < a->soonest_ns)
		return;
	for (unsigned n = 0; n < BP_AGG_AT_ONCE; n++) {
		const unsigned rule = most_due(a, now_ns);

		if (rule == BP_AGG_RULES_MAX)
			break;
		bp_aggregator_leave(a, bp_agg_streams_first(&a->streams, rule), BP_AGG_FLUSH_TIME,
			now_ns, wall_ns);
	}
	a->soonest_ns = bp_aggregator_next(a);
}

bool bp_aggregator_flush_some(
	struct bp_aggregator *a, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n_rules; i++) {
		uint32_t first;

		while ((first = bp_agg_streams_first(&a->streams, i)) != BP_AGG_NO_STREAM) {
			if (n++ == BP_AGG_AT_ONCE)
				return false;
			bp_aggregator_leave(a, first, reason, now_ns, wall_ns);
		}
	}
	a->soonest_ns = UINT64_MAX;
	return true;
}

void bp_aggregator_flush(
	struct bp_aggregator *a, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns)
{
	while (!bp_aggregator_flush_some(a, reason, now_ns, wall_ns))
		;
}

bool bp_aggregator_empty(const struct bp_aggregator *a)
{
	for (unsigned i = 0; i < a->n_rules; i++)
		if (bp_agg_streams_first(&a->streams, i) != BP_AGG_NO_STREAM)
			return false;
	return true;
}
