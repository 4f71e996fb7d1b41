/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_burst.h"
#include "proto/aggregation/agg_full_like.h"

/*
 * Processing of a burst of several streams in steps, which overlap the cache misses of different
 * messages: read (prefetch the slot of the stream), guess (prefetch the stream), look (prefetch the
 * append position in the aggregate), and place. Each of the first three steps runs some messages
 * ahead of the next one.
 *
 * This file places IPv4 messages without tags: one word identifies the stream of such a message,
 * and placing it needs one cache line of the stream. The general path processes all other messages
 * and rare cases.
 */

/* ---- prefetch ---- */

/* Messages that are read together before the preceding ones are placed. The number of prefetches
 * must be small: a processor has about twenty outstanding cache misses and drops prefetches beyond
 * them. */
#define CHUNK 16u
#define AHEAD                                                                                      \
	4u /* messages that begin or complete aggregates: what they need is fetched before         \
	    */

/* In which order messages of a burst are placed, by their index; each list ascends. */
struct order {
	uint8_t append[BP_AGGREGATOR_BURST], begin[BP_AGGREGATOR_BURST], end[BP_AGGREGATOR_BURST];
	unsigned n_append, n_begin, n_end;
	uint64_t unexpected; /* 0: all were of the streams that were guessed */
};

/* Prefetches an address that may be invalid: without a stream or an aggregate, it is an arbitrary
 * address, which must not be used for pointer arithmetic. */
static inline __attribute__((always_inline)) void fetch(const void *base, size_t at)
{
	__builtin_prefetch((const void *)((uintptr_t)base + at), 1);
}

/*
 * Prefetches the append positions of messages and sorts the messages without an unpredictable
 * branch: those that begin an aggregate, those that complete one, and the others. gcc treats a
 * function that only prefetches as having no effect and removes its calls: hence always_inline,
 * which is applied earlier.
 */
static inline __attribute__((always_inline)) void prefetch_and_sort(
	const struct bp_aggregator_burst *k, struct order *o, unsigned from, unsigned until)
{
	unsigned append = o->n_append, begin = o->n_begin, end = o->n_end;
	uint64_t unexpected = 0;

	for (unsigned i = from; i < until; i++) {
		const struct bp_agg_stream *s = k->s[i];
		const struct bp_agg_full_writer *w = &s->writer;
		const unsigned first = w->count == 0, last = w->count + 1u == w->most;

		fetch(w->buf, BP_AGG_FULL_HEADER + w->directory);
		fetch(w->buf, (size_t)w->front + w->payloads);
		o->append[append] = (uint8_t)i;
		o->begin[begin] = (uint8_t)i;
		o->end[end] = (uint8_t)i;
		append += (first | last) ^ 1;
		begin += first;
		end += (first ^ 1) & last;
		unexpected |= (s->key4 ^ k->key4[i]) |
			      bp_agg_staged_count(&k->a->streams.staged[s - k->a->streams.stream]);
	}
	o->unexpected = unexpected;
	o->n_append = append;
	o->n_begin = begin;
	o->n_end = end;
}

/* Additional data for the first message of an aggregate. */
static inline __attribute__((always_inline)) void prefetch_begin(
	const struct bp_aggregator_burst *k, const struct bp_agg_stream *s)
{
	const struct bp_agg_streams *t = &k->a->streams;
	const size_t stream = (size_t)(s - t->stream);

	fetch(&s->buffer, 0);
	fetch(t->link, stream * sizeof(t->link[0]));
}

/* Also for the last one. */
static inline __attribute__((always_inline)) void prefetch_end(
	const struct bp_aggregator_burst *k, const struct bp_agg_stream *s)
{
	const struct bp_agg_streams *t = &k->a->streams;
	const size_t stream = (size_t)(s - t->stream);

	fetch(&s->buffer, 0);
	fetch(s->writer.buf, 0);
	fetch(t->link, stream * sizeof(t->link[0]));
	fetch(t->rest, stream * sizeof(t->rest[0]));
	fetch(t->staged, stream * sizeof(t->staged[0]));
	fetch(t->row, stream * sizeof(t->row[0]));
}

/* After this prefetch: the neighbors of a stream on its list, */
static inline __attribute__((always_inline)) void prefetch_neighbors(
	const struct bp_aggregator_burst *k, const struct bp_agg_stream *s)
{
	const struct bp_agg_streams *t = &k->a->streams;
	const struct bp_agg_link *l = &t->link[s - t->stream];

	fetch(t->link, l->before * sizeof(t->link[0]));
	fetch(t->link, l->behind * sizeof(t->link[0]));
}

/* and its aggregate's buffer. */
static inline __attribute__((always_inline)) void prefetch_buffer(
	const struct bp_aggregator_burst *k, const struct bp_agg_stream *s)
{
	prefetch_neighbors(k, s);
	fetch(s->buffer, 0);
	fetch(s->buffer, 64);
}

/* ---- place ---- */

void bp_aggregator_burst_settle(struct bp_aggregator_burst *k)
{
	k->a->taken += k->taken;
	k->a->taken_bytes += k->taken_bytes;
	k->taken = 0;
	k->taken_bytes = 0;
}

static inline void taken(struct bp_aggregator_burst *k, const struct bp_agg_input *in)
{
	if (__builtin_expect(in->rule != k->a->taken_rule, 0)) {
		bp_aggregator_burst_settle(k);
		bp_aggregator_settle(k->a);
		k->a->taken_rule = in->rule;
	}
	k->taken++;
	k->taken_bytes += in->frame_len;
}

/* Passes a message that was read here to the general path. */
static __attribute__((noinline)) void place_general(struct bp_aggregator_burst *k, unsigned i)
{
	struct bp_agg_input *in = &k->in[i];
	const uint8_t *ip = in->frame + AT_IP;
	struct bp_aggregator_message m = {
		.key = bp_agg_key4_expand(k->key4[i]),
		.sum = k->sum[i],
		.payload = in->frame + AT_PAYLOAD,
		.hash = k->hash[i],
		.stream = (uint32_t)(k->s[i] - k->a->streams.stream),
		.len = (uint16_t)k->len[i],
		.todo = BP_AGG_TODO_TAKE,
		.ambiguous_payload = k->a->rule[in->rule].format == BP_AGG_FORMAT_FULL &&
				     bp_agg_full_is(in->frame + AT_PAYLOAD, k->len[i]),
		.hops = ip[BP_IP4_TTL],
		.sport = bp_be16(in->frame + AT_UDP),
		.src = ip + BP_IP4_SRC,
	};

	bp_aggregator_burst_settle(k);
	k->a->at = (uint8_t)(k->at + i);
	bp_aggregator_do(k->a, in, &m, k->now_ns, k->wall_ns);
	if (in->verdict != BP_AGG_TAKEN)
		return;
	k->s[i] = &k->a->streams.stream[m.stream];
}

static __attribute__((noinline)) void place_other(struct bp_aggregator_burst *k, unsigned i)
{
	struct bp_aggregator_message *m = &k->message[i];

	bp_aggregator_burst_settle(k);
	k->a->at = (uint8_t)(k->at + i);
	m->stream = (uint32_t)(k->s[i] - k->a->streams.stream);
	bp_aggregator_do(k->a, &k->in[i], m, k->now_ns, k->wall_ns);
	if (k->in[i].verdict != BP_AGG_TAKEN)
		return;
	k->s[i] = &k->a->streams.stream[m->stream];
}

/* Begins an aggregate with a message. False: no buffer. */
static __attribute__((noinline)) bool begin(struct bp_aggregator_burst *k, unsigned i, bool paper)
{
	const uint8_t *f = k->in[i].frame;
	struct bp_agg_stream *s = k->s[i];
	struct bp_agg_full_writer *w = &s->writer;
	void *buffer;
	uint8_t *base = k->a->hooks.get(k->a->hooks.arg, &buffer);

	if (base == NULL)
		return false;
	bp_aggregator_begin(k->a, (uint32_t)(s - k->a->streams.stream), base, buffer, f, k->now_ns);
	if (!paper) {
		bp_agg_full_first4(w, f + AT_IP + BP_IP4_SRC, bp_be16(f + AT_UDP),
			f[AT_IP + BP_IP4_TTL], f + AT_PAYLOAD, k->len[i]);
		s->sum = k->sum[i];
		return true;
	}
	memcpy(w->last_addr, f + AT_IP + BP_IP4_SRC, 4);
	w->last_port = bp_be16(f + AT_UDP);
	w->last_hops = f[AT_IP + BP_IP4_TTL];
	bp_aggregator_append_lin2018(w, f + AT_PAYLOAD, &s->sum);
	return true;
}

/* Appends a message that differs from the one before. False: the general path must process it. */
static inline bool append_different(struct bp_aggregator_burst *k, unsigned i)
{
	const uint8_t *f = k->in[i].frame;
	const bool paper = k->a->rule[k->in[i].rule].format == BP_AGG_FORMAT_LIN2018;
	struct bp_agg_stream *s = k->s[i];
	struct bp_agg_full_writer *w = &s->writer;
	uint64_t sum;

	if (w->count == 0)
		return begin(k, i, paper);
	if (paper) {
		bp_aggregator_append_lin2018(w, f + AT_PAYLOAD, &s->sum);
		return true;
	}
	sum = bp_sum_moved(k->sum[i], w->payloads);
	if (!bp_agg_full_append4(w, f + AT_IP + BP_IP4_SRC, bp_be16(f + AT_UDP),
		    f[AT_IP + BP_IP4_TTL], f + AT_PAYLOAD, k->len[i]))
		return false;
	s->sum = bp_sum_add(s->sum, sum);
	return true;
}

static __attribute__((noinline)) void leave(struct bp_aggregator_burst *k, unsigned i)
{
	const struct bp_aggregator_rule *r = &k->a->rule[k->in[i].rule];

	bp_aggregator_burst_settle(k);
	k->a->at = (uint8_t)(k->at + i);
	bp_aggregator_flush_stream(k->a, (uint32_t)(k->s[i] - k->a->streams.stream),
		r->most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, k->now_ns,
		k->wall_ns);
}

static inline __attribute__((always_inline)) bool is_target(
	const struct bp_aggregator_burst *k, unsigned i)
{
	return bp_aggregator_same_target(k->s[i]->target, k->in[i].frame);
}

/* Appends a message to the aggregate of its stream. False: impossible, and nothing is changed. */
static inline __attribute__((always_inline)) bool append(struct bp_aggregator_burst *k, unsigned i)
{
	struct bp_agg_input *in = &k->in[i];
	struct bp_agg_stream *s = k->s[i];
	const uint8_t *f = in->frame;

	if (!bp_agg_full_append_like(&s->writer, f + AT_IP + BP_IP4_SRC, f[AT_IP + BP_IP4_TTL],
		    f + AT_PAYLOAD, k->len[i], k->sum[i], &s->sum) &&
		!append_different(k, i))
		return false;
	if (__builtin_expect(in->frame_len != bp_agg_min_len(k->len[i]), 0))
		s->more += in->frame_len - bp_agg_min_len(k->len[i]);
	s->arrived_ns += k->now_ns;
	in->verdict = BP_AGG_TAKEN;
	taken(k, in);
	return true;
}

/* Puts a message into its stream's aggregate. */
static inline __attribute__((always_inline)) void place(struct bp_aggregator_burst *k, unsigned i)
{
	const struct bp_agg_stream *s = k->s[i];

	if (__builtin_expect(
		    bp_agg_staged_count(&k->a->streams.staged[s - k->a->streams.stream]) != 0, 0)) {
		place_general(k, i);
		return;
	}
	if (__builtin_expect(
		    s->key4 != k->key4[i] || (s->writer.count != 0 && !is_target(k, i)), 0) ||
		__builtin_expect(!append(k, i), 0)) {
		place_general(k, i);
		return;
	}
	if (s->writer.count == s->writer.most)
		leave(k, i);
}

/* Appends a message of this stream to an existing aggregate that it does not complete. False: not
 * the case, and nothing is changed. */
static inline __attribute__((always_inline)) bool place_appended_one(
	struct bp_aggregator_burst *k, unsigned i)
{
	const struct bp_agg_full_writer *w = &k->s[i]->writer;

	return w->count != 0 && w->count + 1u < w->most && is_target(k, i) && append(k, i);
}

/* Begins an aggregate with a message of this stream if none exists and the aggregate is not full
 * immediately. False: not the case, and nothing is changed. */
static inline __attribute__((always_inline)) bool place_first(
	struct bp_aggregator_burst *k, unsigned i)
{
	return k->s[i]->writer.count == 0 && k->a->rule[k->in[i].rule].most != 1 && append(k, i);
}

/*
 * Places the remaining messages in order of arrival after the first elements of the lists were
 * placed: when a message is processed, all messages before it have their verdict.
 */
static __attribute__((noinline)) void place_rest(
	struct bp_aggregator_burst *k, const struct order *o, unsigned n_append, unsigned n_begin)
{
	uint64_t placed = 0;

	for (unsigned i = 0; i < n_append; i++)
		placed |= 1ull << o->append[i];
	for (unsigned i = 0; i < n_begin; i++)
		placed |= 1ull << o->begin[i];
	for (unsigned i = 0; i < k->n; i++)
		if ((placed >> i & 1) == 0)
			place(k, i);
}

/* Reads messages, and places those that are only appended in order of arrival. False: a message
 * was of another kind, and all messages were placed. */
static inline __attribute__((always_inline)) bool place_appended(
	struct bp_aggregator_burst *k, struct order *o)
{
	unsigned placed = 0, due = 0;

	for (unsigned from = 0;; from += CHUNK) {
		bp_aggregator_burst_find_streams(
			k, from + 3 * CHUNK < k->n ? from + 3 * CHUNK : k->n);
		if (from < k->n) {
			prefetch_and_sort(k, o, from, from + CHUNK < k->n ? from + CHUNK : k->n);
			if (__builtin_expect(o->unexpected != 0, 0))
				break;
		}
		while (placed < due &&
			__builtin_expect(place_appended_one(k, o->append[placed]), 1))
			placed++;
		if (__builtin_expect(placed < due, 0))
			break;
		if (from >= k->n)
			return true;
		due = o->n_append;
	}
	bp_aggregator_burst_find_streams(k, k->n);
	place_rest(k, o, placed, 0);
	return false;
}

/* Places the messages that begin an aggregate, and the appends that follow them. False: as
 * above. */
static inline __attribute__((always_inline)) bool place_begun(
	struct bp_aggregator_burst *k, const struct order *o)
{
	for (unsigned i = 0; i < o->n_begin; i++) {
		if (i + AHEAD < o->n_begin)
			prefetch_begin(k, k->s[o->begin[i + AHEAD]]);
		if (i + AHEAD / 2 < o->n_begin)
			prefetch_neighbors(k, k->s[o->begin[i + AHEAD / 2]]);
		if (__builtin_expect(!place_first(k, o->begin[i]), 0) &&
			!place_appended_one(k, o->begin[i])) {
			place_rest(k, o, o->n_append, i);
			return false;
		}
	}
	return true;
}

static inline __attribute__((always_inline)) void place_completing(
	struct bp_aggregator_burst *k, const struct order *o)
{
	for (unsigned i = 0; i < o->n_end; i++) {
		if (i + AHEAD < o->n_end)
			prefetch_end(k, k->s[o->end[i + AHEAD]]);
		if (i + AHEAD / 2 < o->n_end)
			prefetch_buffer(k, k->s[o->end[i + AHEAD / 2]]);
		place(k, o->end[i]);
	}
}

/* Places the messages with a bit set, in order of arrival. */
static __attribute__((noinline)) void place_in_order(struct bp_aggregator_burst *k, uint64_t which)
{
	struct order o;

	bp_aggregator_burst_find_streams(k, k->n);
	o.n_append = o.n_begin = o.n_end = 0;
	for (uint64_t left = which; left != 0; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(left);

		prefetch_and_sort(k, &o, i, i + 1);
	}
	for (unsigned i = 0; i < o.n_begin; i++)
		prefetch_begin(k, k->s[o.begin[i]]);
	for (unsigned i = 0; i < o.n_end; i++)
		prefetch_end(k, k->s[o.end[i]]);
	for (unsigned i = 0; i < o.n_end; i++)
		prefetch_buffer(k, k->s[o.end[i]]);
	for (uint64_t left = which; left != 0; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(left);

		if (__builtin_expect((k->others >> i & 1) != 0, 0))
			place_other(k, i);
		else
			place(k, i);
	}
}

/*
 * Places messages that are all plain IPv4: first those that are only appended, then those that
 * begin aggregates, then those that complete them. So the branches of each step are predictable and
 * its data is in the cache. The result equals that of processing in order of arrival, as long as
 * the first step only extends aggregates: if an earlier message of a burst changes the kind of the
 * next one of its stream, the remaining messages are placed in order of arrival. Returns false in
 * this case.
 */
static bool place_in_steps(struct bp_aggregator_burst *k)
{
	struct order o;

	o.n_append = o.n_begin = o.n_end = 0;
	if (!place_appended(k, &o))
		return false;
	for (unsigned i = 0; i < AHEAD && i < o.n_begin; i++)
		prefetch_begin(k, k->s[o.begin[i]]);
	for (unsigned i = 0; i < AHEAD && i < o.n_end; i++)
		prefetch_end(k, k->s[o.end[i]]);
	for (unsigned i = 0; i < AHEAD / 2 && i < o.n_begin; i++)
		prefetch_neighbors(k, k->s[o.begin[i]]);
	if (!place_begun(k, &o))
		return false;
	for (unsigned i = 0; i < AHEAD / 2 && i < o.n_end; i++)
		prefetch_buffer(k, k->s[o.end[i]]);
	place_completing(k, &o);
	return true;
}

/* Steps are for streams with mostly one message each in a burst; otherwise they are tried less and
 * less often. */
#define SKIP_MOST 32 /* bursts */

void bp_aggregator_append_one(struct bp_aggregator_burst *k, unsigned i)
{
	if ((k->others >> i & 1) != 0)
		place_other(k, i);
	else
		place(k, i);
}

void bp_aggregator_append_burst(struct bp_aggregator_burst *k)
{
	struct bp_aggregator_multi_stream *multi = &k->a->multi;
	const uint64_t all = ~0ull >> (64 - k->n);

	if (k->others != 0) {
		place_in_order(k, all & (~k->others | k->general));
	} else if (multi->skip != 0) {
		multi->skip--;
		place_in_order(k, all);
	} else if (place_in_steps(k)) {
		multi->skipped = 0;
	} else {
		multi->skip = multi->skipped;
		multi->skipped =
			multi->skipped < SKIP_MOST / 2 ? 2 * multi->skipped + 1 : SKIP_MOST;
	}
}
