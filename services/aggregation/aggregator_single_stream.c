/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_check.h"
#include "proto/aggregation/agg_full_same_template.h"
#include "proto/aggregation/agg_full_like.h"

/*
 * Fast path for IPv4 messages without tags of the same stream as the preceding message. The head is
 * compared piece by piece with that of the preceding one, so no rule or stream has to be looked up.
 * Many senders of one kind produce only such messages.
 *
 * Most messages also match the template of the last one (services/aggregation/template.h). Runs of
 * such messages are matched first and then appended to aggregates, so that each of the two loops
 * needs few registers.
 */

#define BURST 64u
#define FOUND 4u          /* messages that match: it was worth a try */
#define MIN_EQUAL_MAX 16u /* messages */

/* Offsets of the pieces of a head in a frame. */
static const uint8_t piece_at[3] = {0, 16, 26};

/* Fields that are equal in all heads of a stream: destination MAC, type, version and length of the
 * header, TOS; fragment, protocol; destination and its port. */
static const bp_v16 common[3] = {
	{255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255},
	{0, 0, 0, 0, 255, 255, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0},
	{0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 0, 0, 0, 0},
};

/* Whether it is for the stream of that head. */
static inline bool is_of_stream(
	const struct bp_aggregator_single_stream *u, const struct bp_agg_input *in)
{
	bp_v16 differ = bp_v16_of(0);

	if (in->len < BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR || in->port != u->port ||
		in->routed != u->routed || in->mac != u->mac)
		return false;
	for (unsigned i = 0; i < 3; i++)
		differ |= (bp_v16_load(in->frame + piece_at[i]) ^ u->head[i]) & common[i];
	return bp_v16_same(differ, bp_v16_of(0));
}

static inline void note(struct bp_aggregator *a, const struct bp_agg_input *in, unsigned len)
{
	struct bp_aggregator_single_stream *u = &a->single;
	const struct bp_aggregator_rule *r = &a->rule[u->rule];

	for (unsigned i = 0; i < 3; i++)
		u->head[i] = bp_v16_load(in->frame + piece_at[i]);
	u->len = (uint16_t)len;
	bp_agg_template_set(&u->template, in, len, r->format == BP_AGG_FORMAT_LIN2018, &r->senders);
}

void bp_aggregator_single_stream_set(
	struct bp_aggregator *a, const struct bp_agg_input *in, uint32_t stream)
{
	struct bp_aggregator_single_stream *u = &a->single;

	u->stream = BP_AGG_NO_STREAM;
	if (!bp_datagram_is_simple_ip4(in->frame, in->len))
		return;
	u->stream = stream;
	u->rule = in->rule;
	u->port = in->port;
	u->routed = in->routed;
	u->mac = in->mac;
	u->equal = 1;
	u->min_equal = 1;
	note(a, in, bp_be16(in->frame + BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_LEN) - BP_UDP_HDR);
}

/* ---- appending ---- */

/* A message's source address, and its UDP header. */
static inline const uint8_t *source_of(const uint8_t *frame)
{
	return frame + BP_ETHER_HDR + BP_IP4_SRC;
}

static inline const uint8_t *udp_of(const uint8_t *frame)
{
	return frame + BP_ETHER_HDR + BP_IP4_HDR;
}

/* The first message of an aggregate in format lin2018; its sender becomes that of the packet. */
static inline void record_sender(struct bp_agg_full_writer *w, const uint8_t *frame)
{
	memcpy(w->last_addr, source_of(frame), 4);
	w->last_port = bp_be16(udp_of(frame));
	w->last_hops = frame[BP_ETHER_HDR + BP_IP4_TTL];
}

/* Appends `n` messages, at least one, in format lin2018; they must fit. sum[]: the part of each in
 * the sum of the aggregate. */
static inline void append_run_lin2018(
	struct bp_agg_stream *s, const struct bp_agg_input *in, const uint32_t *sum, unsigned n)
{
	struct bp_agg_full_writer *w = &s->writer;
	uint8_t *to = w->buf + w->front + (size_t)BP_AGG_LIN2018_MESSAGE_LEN * w->count;
	uint64_t all = 0;

	if (w->count == 0)
		record_sender(w, in->frame);
	for (unsigned i = 0; i < n; i++) {
		memcpy(to, udp_of(in[i].frame) + BP_UDP_HDR + BP_AGG_LIN2018_HEADER,
			BP_AGG_LIN2018_MESSAGE_LEN);
		to += BP_AGG_LIN2018_MESSAGE_LEN;
		all += sum[i];
	}
	w->count = (uint8_t)(w->count + n);
	s->sum = bp_sum_add(s->sum, all);
}

/* Appends one in format full. False: the aggregate would exceed its size, or its directory must be
 * moved. */
static inline __attribute__((always_inline)) bool append_full(
	struct bp_agg_stream *s, const uint8_t *frame, unsigned len, uint64_t sum)
{
	const uint8_t *udp = udp_of(frame);
	struct bp_agg_full_writer *w = &s->writer;
	const unsigned before = w->payloads;

	if (!bp_agg_full_append4(w, source_of(frame), bp_be16(udp),
		    frame[BP_ETHER_HDR + BP_IP4_TTL], udp + BP_UDP_HDR, len))
		return false;
	s->sum = bp_sum_add(s->sum, bp_sum_moved(sum, before));
	return true;
}

/* Appends messages of the same length and with the same number of remaining hops as the last one
 * in the aggregate, in format full; they must fit. */
static inline void append_full_same_template(struct bp_agg_stream *s, const struct bp_agg_input *in,
	const uint32_t *sum, unsigned n, unsigned len)
{
	struct bp_agg_full_same_template w = bp_agg_full_same_template_begin(&s->writer);
	unsigned at = 8 * (s->writer.payloads & 1);
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *from = source_of(in[i].frame);

		bp_agg_full_same_template_append(
			&w, bp_v16_load(from), from + BP_IP4_HDR - BP_IP4_SRC + BP_UDP_HDR, len);
		all += (uint64_t)sum[i] << at;
		at ^= 8 * (len & 1);
	}
	bp_agg_full_same_template_end(&s->writer, &w, n);
	s->sum = bp_sum_add(s->sum, all);
}

/* Appends the messages of one template that fit, of `n`, at least one, in format full; returns
 * their number. The first message of an aggregate always fits. */
static inline unsigned append_run_full(struct bp_agg_stream *s, const struct bp_agg_input *in,
	const uint32_t *sum, unsigned n, unsigned len, unsigned hops)
{
	struct bp_agg_full_writer *w = &s->writer;
	unsigned i = 0;

	if (w->count == 0) {
		const uint8_t *udp = udp_of(in->frame);

		bp_agg_full_first4(
			w, source_of(in->frame), bp_be16(udp), hops, udp + BP_UDP_HDR, len);
		s->sum = sum[0];
		i = 1;
	}
	while (i < n) {
		unsigned more = n - i;

		if (w->last_len == len && w->last_hops == hops)
			while (more != 0 && !bp_agg_full_same_template_fit(w, more))
				more /= 2;
		else
			more = 0;
		if (more != 0)
			append_full_same_template(s, in + i, sum + i, more, len);
		else if (append_full(s, in[i].frame, len, sum[i]))
			more = 1;
		else
			break;
		i += more;
	}
	return i;
}

/* ---- placing ---- */

/* Counts of the stream during a burst, which are added to its counters at the end. */
struct tally {
	uint64_t n, bytes; /* messages taken, and of their frames */
	uint64_t gone,
		flushed_bytes; /* aggregates that were begun and have left, and of their frames */
	uint64_t flushed_messages, flushed_message_bytes; /* messages in these */
};

static void enter(struct bp_aggregator *a, struct tally *t)
{
	a->taken += t->n;
	a->taken_bytes += t->bytes;
	t->n = 0;
	t->bytes = 0;
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

/* ---- leaving ---- */

/* Sends the aggregate of the stream. If it began in this burst, so that no message has waited, the
 * counts are collected; it stays on the list of its rule, to be begun again or moved at the end. */
static void leave(struct bp_aggregator *a, uint32_t stream, enum bp_agg_flush reason,
	struct tally *t, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_agg_stream *s = &a->streams.stream[stream];
	struct bp_agg_output out;

	if (s->began_ns != now_ns || reason != BP_AGG_FLUSH_FULL) {
		enter(a, t);
		bp_aggregator_flush_stream(a, stream, reason, now_ns, wall_ns);
		return;
	}
	bp_aggregator_finish(a, stream, &out);
	t->gone++;
	t->flushed_bytes += out.len;
	t->flushed_messages += s->writer.count;
	t->flushed_message_bytes += bp_aggregator_bytes(a, s);
	bp_aggregator_end(a, s);
	a->hooks.send(a->hooks.arg, &out);
}

/* Adds the collected counts to the counters. */
static void settle(struct bp_aggregator *a, uint32_t stream, struct tally *t, uint64_t wall_ns)
{
	struct bp_agg_stream_row *row = &a->streams.row[stream];
	struct bp_agg_stats *st = &a->stats[a->single.rule];

	enter(a, t);
	if (t->gone == 0)
		return;
	bp_aggregator_settle(a);
	bp_agg_stat_add(&st->aggregates, t->gone);
	bp_agg_stat_add(&st->aggregate_bytes, t->flushed_bytes);
	bp_agg_stat_add(&st->flushed[BP_AGG_FLUSH_FULL], t->gone);
	bp_agg_stat_add(&st->delay[0], t->gone);
	bp_agg_stat_add(&st->waiting, -t->flushed_messages);
	bp_agg_stat_add(&row->messages, t->flushed_messages);
	bp_agg_stat_add(&row->message_bytes, t->flushed_message_bytes);
	bp_agg_stat_add(&row->aggregates, t->gone);
	bp_agg_stat_add(&row->aggregate_bytes, t->flushed_bytes);
	atomic_store_explicit(&row->last_ns, wall_ns, memory_order_relaxed);
	if (a->streams.stream[stream].buffer == NULL)
		bp_agg_streams_move(&a->streams, stream, BP_AGG_LIST_IDLE);
}

/* ---- taking ---- */

/* State during a burst. */
struct taking {
	struct bp_aggregator *a;
	struct bp_agg_stream *s;
	const struct bp_aggregator_rule *r;
	const struct bp_agg_input *burst;
	uint64_t now_ns, wall_ns;
	struct tally t;
};

/* Counts `n` messages of `len` bytes that were added to the aggregate, each from a frame of this
 * size. */
static inline void taken(struct taking *k, unsigned n, unsigned len, uint32_t frame_len)
{
	const uint32_t more = n * (frame_len - bp_agg_min_len(len));

	if (more != 0)
		k->s->more += more;
	k->s->arrived_ns += n * k->now_ns;
	k->t.n += n;
	k->t.bytes += (uint64_t)n * frame_len;
}

/* `next`: the first frame that is not in the aggregate. */
static inline void flush_if_full(struct taking *k, const struct bp_agg_input *next)
{
	if (k->s->writer.count != k->r->most)
		return;
	k->a->at = (uint8_t)(next - k->burst - 1);
	leave(k->a, k->a->single.stream,
		k->r->most == k->r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, &k->t,
		k->now_ns, k->wall_ns);
}

/* Puts messages of one template into aggregates: returns how many. */
static inline __attribute__((always_inline)) unsigned place(
	struct taking *k, struct bp_agg_input *in, const uint32_t *sum, unsigned n, bool paper)
{
	const struct bp_aggregator_single_stream *u = &k->a->single;
	const unsigned len = u->template.end - (BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR);
	unsigned i = 0;

	for (unsigned j = 0; j < n; j++) {
		in[j].verdict = BP_AGG_TAKEN;
		in[j].rule = u->rule;
	}
	while (i < n) {
		unsigned most, done;

		if (k->s->buffer == NULL && !begin(k->a, u->stream, in[i].frame, k->now_ns))
			break;
		most = (unsigned)k->r->most - k->s->writer.count;
		most = most < n - i ? most : n - i;
		done = most;
		if (paper)
			append_run_lin2018(k->s, in + i, sum + i, most);
		else
			done = append_run_full(k->s, in + i, sum + i, most, len, u->template.hops);
		taken(k, done, len, in->frame_len);
		i += done;
		flush_if_full(k, in + i);
		if (done != most)
			break;
	}
	return i;
}

/* Takes a message of the stream of any length. */
static inline __attribute__((always_inline)) bool take_one(
	struct taking *k, struct bp_agg_input *in, bool paper, unsigned *len)
{
	const struct bp_aggregator_single_stream *u = &k->a->single;
	uint64_t sum;

	if (!is_of_stream(u, in) || !bp_aggregator_check_simple_ip4(k->r, in, paper, len, &sum) ||
		(k->s->buffer == NULL && !begin(k->a, u->stream, in->frame, k->now_ns)))
		return false;
	if (paper) {
		if (k->s->writer.count == 0)
			record_sender(&k->s->writer, in->frame);
		bp_aggregator_append_lin2018(
			&k->s->writer, udp_of(in->frame) + BP_UDP_HDR, &k->s->sum);
	} else if (!append_full(k->s, in->frame, *len, sum)) {
		return false;
	}
	in->verdict = BP_AGG_TAKEN;
	in->rule = u->rule;
	taken(k, 1, *len, in->frame_len);
	flush_if_full(k, in + 1);
	return true;
}

/* Records that `found` of `n` messages matched the template. With frequently changing lengths, the
 * template is tried only after increasingly long runs of equal lengths. */
static inline void record_match(struct bp_aggregator_single_stream *u, unsigned found, unsigned n)
{
	if (found >= FOUND || found == n) {
		u->min_equal = 1;
		return;
	}
	u->equal = 0;
	if (u->min_equal < MIN_EQUAL_MAX)
		u->min_equal *= 2;
}

static inline void record_len(struct bp_aggregator_single_stream *u, unsigned len)
{
	if (len != u->len)
		u->equal = 0;
	else if (u->equal < MIN_EQUAL_MAX)
		u->equal++;
	u->len = (uint16_t)len;
}

static inline __attribute__((always_inline)) unsigned take(
	struct taking *k, struct bp_agg_input *in, unsigned n, bool paper)
{
	struct bp_aggregator_single_stream *u = &k->a->single;
	const struct bp_agg_input *other = NULL; /* the last that did not match */
	unsigned i = 0, len;

	while (i < n) {
		if (u->equal >= u->min_equal) {
			uint32_t sum[BURST];
			unsigned matched, placed;

			if (other != NULL)
				note(k->a, other, u->len);
			other = NULL;
			matched = bp_agg_template_match_run(&u->template, in + i, n - i, sum);
			placed = place(k, in + i, sum, matched, paper);
			k->a->matched += placed;
			record_match(u, matched, n - i);
			i += placed;
			if (placed != matched || i == n)
				break;
		}
		if (!take_one(k, &in[i], paper, &len))
			break;
		record_len(u, len);
		other = &in[i++];
	}
	if (other != NULL)
		note(k->a, other, u->len);
	settle(k->a, u->stream, &k->t, k->wall_ns);
	return i;
}

unsigned bp_aggregator_take_single_stream(struct bp_aggregator *a, struct bp_agg_input *in,
	unsigned n, unsigned at, uint64_t now_ns, uint64_t wall_ns)
{
	const unsigned rule = a->single.rule;
	struct taking k = {.a = a,
		.s = &a->streams.stream[a->single.stream],
		.r = &a->rule[rule],
		.burst = in,
		.now_ns = now_ns,
		.wall_ns = wall_ns};

	if (bp_agg_staged_count(&a->streams.staged[a->single.stream]) != 0 &&
		!bp_aggregator_unstage(a, a->single.stream))
		bp_agg_streams_move(&a->streams, a->single.stream, BP_AGG_LIST_IDLE);
	/* other messages between them may have begun one for another station */
	if (k.s->buffer != NULL &&
		!bp_aggregator_same_target(k.s->target, (const uint8_t *)&a->single.head[0]))
		return 0;
	if (a->taken_rule != rule) {
		bp_aggregator_settle(a);
		a->taken_rule = rule;
	}
	return k.r->format == BP_AGG_FORMAT_LIN2018 ? take(&k, in + at, n, true)
						    : take(&k, in + at, n, false);
}

bool bp_aggregator_is_single_stream(const struct bp_aggregator *a, const struct bp_agg_input *in)
{
	return is_of_stream(&a->single, in);
}
