/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_check.h"

/* The general path: processes any frame, one by one. */

static struct bp_agg_sender sender(const struct bp_aggregator_message *m, unsigned family)
{
	struct bp_agg_sender from = {.port = m->sport, .hops = m->hops};

	memcpy(from.addr, m->src, family == 4 ? 4 : 16);
	return from;
}

static void record_sender(
	struct bp_agg_full_writer *w, const struct bp_aggregator_message *m, unsigned family)
{
	const struct bp_agg_sender from = sender(m, family);

	bp_agg_full_set_sender(w, &from);
}

static void read_datagram(const struct bp_aggregator *a, struct bp_agg_input *in,
	struct bp_aggregator_message *m, const struct bp_datagram *d)
{
	const struct bp_aggregator_rule *r;
	unsigned rule;

	if (!bp_aggregator_for_us(in))
		return;
	bp_agg_match_words(d->family, bp_datagram_dst(d), m->key.word);
	rule = bp_agg_match_find(&a->match, in->port, d->family, m->key.word, d->dport);
	if (rule == BP_AGG_NO_RULE)
		return;
	r = &a->rule[rule];
	in->rule = (uint8_t)rule;
	m->key.word[2] = 0;
	memcpy(&m->key.word[2], d->frame + 12, d->l3 - BP_ETHER_HDR);
	m->key.word[3] = bp_agg_key_last(d->dport, rule, d->tos, d->family, d->dont_fragment,
		(unsigned)(d->l3 - BP_ETHER_HDR) / 4);
	m->hash = bp_agg_streams_hash(&a->streams, &m->key);
	bp_agg_streams_prefetch_slot(&a->streams, m->hash);
	m->payload = bp_datagram_payload(d);
	/* 0: of a fragment, which may be reassembled before it is checked */
	m->ambiguous_payload = r->format == BP_AGG_FORMAT_FULL &&
			       (d->l4_len >= BP_UDP_HDR + 2u || d->l4_len == 0) &&
			       d->l4 + BP_UDP_HDR + 2u <= d->len && bp_agg_full_is(m->payload, 2);
	if (!bp_aggregator_check(r, d, in->routed, &m->sum, &in->pass)) {
		/* a damaged frame is not delivered, so it needs no flush before it; nor does a
		 * dropped frame */
		in->verdict = m->ambiguous_payload ? BP_AGG_AMBIGUOUS_PAYLOAD : BP_AGG_PASS;
		m->todo = m->ambiguous_payload || in->pass == BP_AGG_PASS_CHECKSUM
				  ? BP_AGG_TODO_NONE
				  : BP_AGG_TODO_PASS;
		bp_agg_stat_add(&a->stats[rule].passed, 1);
		return;
	}
	m->todo = BP_AGG_TODO_TAKE;
	m->len = (uint16_t)bp_datagram_payload_len(d);
	m->src = bp_datagram_src(d);
	m->hops = d->hops;
	m->sport = d->sport;
}

/*
 * A packet that is not a complete datagram. The first fragment of a datagram passes after the
 * earlier messages of its sender; the other fragments do not identify the sender, and cannot be
 * delivered without the first one. Hosts set DF in all packets except those that they fragment.
 */
static void read_fragment(
	const struct bp_aggregator *a, struct bp_agg_input *in, struct bp_aggregator_message *m)
{
	struct bp_datagram d;

	if (!bp_datagram_parse_fragment(in->frame, in->len, in->frame_len, &d))
		return;
	read_datagram(a, in, m, &d);
	if (m->todo == BP_AGG_TODO_PASS && d.family == 4)
		m->todo = BP_AGG_TODO_PASS_BOTH;
}

void bp_aggregator_read(
	const struct bp_aggregator *a, struct bp_agg_input *in, struct bp_aggregator_message *m)
{
	struct bp_datagram d;

	in->verdict = BP_AGG_OTHER;
	m->todo = BP_AGG_TODO_NONE;
	if (bp_datagram_parse_general(in->frame, in->len, in->frame_len, &d))
		read_datagram(a, in, m, &d);
	else
		read_fragment(a, in, m);
}

/* The rule with the oldest aggregate. At least one aggregate exists. */
static uint32_t oldest(const struct bp_aggregator *a)
{
	uint32_t stream = BP_AGG_NO_STREAM;

	for (unsigned i = 0; i < a->n_rules; i++) {
		const uint32_t first = bp_agg_streams_first(&a->streams, i);

		if (first != BP_AGG_NO_STREAM &&
			(stream == BP_AGG_NO_STREAM || bp_aggregator_began_ns(a, first) <
							       bp_aggregator_began_ns(a, stream)))
			stream = first;
	}
	return stream;
}

/* Begins the stream of a message. */
static uint32_t begin_stream(struct bp_aggregator *a, const struct bp_aggregator_message *m,
	uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_agg_streams *t = &a->streams;
	uint32_t stream = bp_agg_streams_idle(t);
	const uint64_t r = bp_aggregator_random(a);
	struct bp_agg_sender from;
	struct bp_agg_stats *s;

	if (stream == BP_AGG_NO_STREAM) {
		stream = oldest(a);
		bp_aggregator_flush_stream(a, stream, BP_AGG_FLUSH_EVICTED, now_ns, wall_ns);
	}
	if (bp_agg_streams_in_use(t, stream)) {
		s = &a->stats[bp_agg_key_rule(&t->stream[stream].key)];
		bp_agg_stat_add(&s->evicted, 1);
		bp_agg_stat_add(&s->streams, -(uint64_t)1);
	}
	if (a->single.stream == stream)
		a->single.stream = BP_AGG_NO_STREAM;
	bp_agg_streams_begin(t, stream, &m->key, m->hash, (uint16_t)r, (uint32_t)(r >> 32));
	from = sender(m, bp_agg_key_family(&m->key));
	memcpy(t->rest[stream].src, from.addr, sizeof(t->rest[stream].src));
	t->rest[stream].sport = from.port;
	memcpy(t->staged[stream].src, from.addr, sizeof(t->staged[stream].src));
	t->staged[stream].sport = from.port;
	s = &a->stats[bp_agg_key_rule(&m->key)];
	bp_agg_stat_add(&s->begun, 1);
	bp_agg_stat_add(&s->streams, 1);
	return stream;
}

/* Begins an aggregate for a message, and its stream if there is none. False: no buffer, and
 * nothing is changed. */
static bool begin_aggregate(struct bp_aggregator *a, const struct bp_aggregator_rule *r,
	struct bp_aggregator_message *m, const uint8_t *frame, uint64_t now_ns, uint64_t wall_ns)
{
	void *buffer;
	uint8_t *base = a->hooks.get(a->hooks.arg, &buffer);

	if (base == NULL)
		return false;
	if (m->stream == BP_AGG_NO_STREAM)
		m->stream = begin_stream(a, m, now_ns, wall_ns);
	bp_aggregator_begin(a, m->stream, base, buffer, frame, now_ns);
	return true;
}

/*
 * The directory has reached the payloads, and the aggregate is not full. Moves the payloads up by
 * the maximum distance that leaves space for a full aggregate. This is rare, since the front is
 * sized for N messages if the buffer is large enough.
 */
static void widen(struct bp_agg_full_writer *w, unsigned room)
{
	const unsigned rest = w->size - BP_AGG_FULL_HEADER - w->directory; /* remaining bytes */
	const unsigned front = room - BP_AGG_AHEAD - rest;

	memmove(w->buf + front, w->buf + w->front, w->payloads);
	w->front = (uint16_t)front;
}

/* Appends in format full. False: the aggregate would exceed its size. */
static inline bool append_full(
	struct bp_agg_full_writer *w, const struct bp_aggregator_message *m, unsigned room)
{
	struct bp_agg_sender from;

	if (__builtin_expect(w->family == 4, 1) &&
		__builtin_expect(
			bp_agg_full_append4(w, m->src, m->sport, m->hops, m->payload, m->len), 1))
		return true;
	from = sender(m, w->family);
	if (w->family == 6 && bp_agg_full_append_of(6, w, &from, m->payload, m->len))
		return true;
	if (bp_agg_full_len(w) + bp_agg_full_cost(w, &from, m->len) > w->size)
		return false;
	widen(w, room);
	return bp_agg_full_append(w, &from, m->payload, m->len);
}

/* Adds a message to the aggregate of its stream. False: no buffer for a new aggregate. */
static inline bool place(struct bp_aggregator *a, struct bp_agg_input *in,
	struct bp_aggregator_message *m, uint64_t now_ns, uint64_t wall_ns)
{
	const struct bp_aggregator_rule *r = &a->rule[in->rule];
	struct bp_agg_stream *s = NULL;
	const bool paper = r->format == BP_AGG_FORMAT_LIN2018;
	uint64_t sum;

	if (m->stream != BP_AGG_NO_STREAM) {
		s = &a->streams.stream[m->stream];
		if (s->buffer != NULL && !bp_aggregator_same_target(s->target, in->frame))
			bp_aggregator_flush_stream(
				a, m->stream, BP_AGG_FLUSH_HEADER, now_ns, wall_ns);
	}
	if (s == NULL || s->buffer == NULL) {
		if (!begin_aggregate(a, r, m, in->frame, now_ns, wall_ns))
			return false;
		s = &a->streams.stream[m->stream];
	}
	if (paper) {
		if (s->writer.count == 0)
			record_sender(&s->writer, m, r->family);
		bp_aggregator_append_lin2018(&s->writer, m->payload, &s->sum);
	} else {
		sum = bp_sum_moved(m->sum, s->writer.payloads);
		if (__builtin_expect(!append_full(&s->writer, m, a->room), 0)) {
			bp_aggregator_flush_stream(
				a, m->stream, BP_AGG_FLUSH_SIZE, now_ns, wall_ns);
			if (!begin_aggregate(a, r, m, in->frame, now_ns, wall_ns))
				return false;
			sum = m->sum;
			append_full(&s->writer, m, a->room);
		}
		s->sum = bp_sum_add(s->sum, sum);
	}
	if (in->frame_len != bp_agg_min_len(m->len))
		s->more += in->frame_len - bp_agg_min_len(m->len);
	s->arrived_ns += now_ns;
	bp_aggregator_taken(a, in->rule, in->frame_len);
	if (s->writer.count == r->most)
		bp_aggregator_flush_stream(a, m->stream,
			r->most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, now_ns,
			wall_ns);
	return true;
}

/* Finds the stream, as it is now: those before it in the burst may have begun or ended some. */
static inline void find_stream(const struct bp_aggregator *a, struct bp_aggregator_message *m)
{
	if (__builtin_expect(m->stream == BP_AGG_NO_STREAM ||
				     !bp_agg_key_same(&a->streams.stream[m->stream].key, &m->key),
		    0))
		m->stream = bp_agg_streams_find(&a->streams, &m->key, m->hash);
}

/* Moves the staged messages of a stream, if any, to an aggregate. */
static inline void unstage(struct bp_aggregator *a, uint32_t stream)
{
	if (stream != BP_AGG_NO_STREAM && bp_agg_staged_count(&a->streams.staged[stream]) != 0 &&
		!bp_aggregator_unstage(a, stream))
		bp_agg_streams_move(&a->streams, stream, BP_AGG_LIST_IDLE);
}

/* Sends the held messages of a stream, if any, before a message that passes. */
static void release_before(
	struct bp_aggregator *a, uint32_t stream, uint64_t now_ns, uint64_t wall_ns)
{
	unstage(a, stream);
	if (stream != BP_AGG_NO_STREAM && a->streams.stream[stream].buffer != NULL)
		bp_aggregator_flush_stream(a, stream, BP_AGG_FLUSH_ORDER, now_ns, wall_ns);
}

static uint32_t twin(const struct bp_aggregator *a, const struct bp_aggregator_message *m)
{
	const struct bp_agg_key key = bp_agg_key_twin(&m->key);

	return bp_agg_streams_find(&a->streams, &key, bp_agg_streams_hash(&a->streams, &key));
}

void bp_aggregator_do(struct bp_aggregator *a, struct bp_agg_input *in,
	struct bp_aggregator_message *m, uint64_t now_ns, uint64_t wall_ns)
{
	find_stream(a, m);
	unstage(a, m->stream);
	if (m->todo == BP_AGG_TODO_TAKE) {
		in->verdict = BP_AGG_TAKEN;
		if (place(a, in, m, now_ns, wall_ns))
			return;
		in->verdict = m->ambiguous_payload ? BP_AGG_AMBIGUOUS_PAYLOAD : BP_AGG_PASS;
		in->pass = BP_AGG_PASS_NO_BUFFER;
		bp_agg_stat_add(&a->stats[in->rule].passed, 1);
		return;
	}
	release_before(a, m->stream, now_ns, wall_ns);
	if (m->todo == BP_AGG_TODO_PASS_BOTH)
		release_before(a, twin(a, m), now_ns, wall_ns);
}
