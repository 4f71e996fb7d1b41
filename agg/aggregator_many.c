/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/aggregator_many_parts.h"
#include "proto/agg_full_like.h"

/*
 * What becomes of a burst of several streams, in steps that each go over all of it, so that what
 * one message waits for is filled by the others: read (fetch the slot of the stream), guess (fetch
 * the stream), look (fetch where in the aggregate it goes), and place, in the order in which they
 * came.
 *
 * The usual message, of IPv4 without tags, is judged and placed here: what makes its stream is one
 * word, and all it needs of the stream is one cache line. The general way does all others, and what
 * happens seldom.
 */

/* ---- look ---- */

/* Fetches what may lie there. It need not: where there is no stream or no aggregate, it is an
 * address like any other, and not one to be reckoned with as a pointer. */
static inline __attribute__((always_inline)) void fetch(const void *base, size_t at)
{
	__builtin_prefetch((const void *)((uintptr_t)base + at), 1);
}

/*
 * Fetches where messages go, and with the first and the last one of an aggregate what these need.
 * Those are found without a branch, which nobody could foretell. gcc takes a function that does
 * nothing else for one without effect, and its calls away: hence inlined before it looks at that.
 */
static inline __attribute__((always_inline)) void look(const struct bp_aggregator_burst *k)
{
	const struct bp_agg_streams *t = &k->a->streams;
	uint8_t seldom[BP_AGGREGATOR_BURST];
	unsigned n = 0;

	for (unsigned i = 0; i < k->n; i++) {
		const struct bp_agg_full_writer *w = &k->s[i]->writer;

		fetch(w->buf, BP_AGG_FULL_HEADER + w->directory);
		fetch(w->buf, (size_t)w->front + w->payloads);
		seldom[n] = (uint8_t)i;
		n += (uint8_t)(w->count - 1) >= (uint8_t)(w->most - 2);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct bp_agg_stream *s = k->s[seldom[i]];
		const size_t stream = (size_t)(s - t->stream);

		fetch(&s->buffer, 0);
		fetch(s->writer.buf, 0);
		fetch(t->link, stream * sizeof(t->link[0]));
		fetch(t->rest, stream * sizeof(t->rest[0]));
		fetch(t->row, stream * sizeof(t->row[0]));
	}
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *buffer = k->s[seldom[i]]->buffer;

		fetch(buffer, 0);
		fetch(buffer, 64);
	}
}

/* ---- place ---- */

/* Enters what was taken, before anything else does so. */
static void enter(struct bp_aggregator_burst *k)
{
	k->a->taken += k->taken;
	k->a->taken_octets += k->taken_octets;
	k->taken = 0;
	k->taken_octets = 0;
}

static inline void taken(struct bp_aggregator_burst *k, const struct bp_agg_input *in)
{
	if (__builtin_expect(in->rule != k->a->taken_rule, 0)) {
		enter(k);
		bp_aggregator_settle(k->a);
		k->a->taken_rule = in->rule;
	}
	k->taken++;
	k->taken_octets += in->frame_len;
}

/* Lets the general way do what is to be done about a usual message. */
static __attribute__((noinline)) void place_general(struct bp_aggregator_burst *k, unsigned i)
{
	struct bp_agg_input *in = &k->in[i];
	const uint8_t *ip = in->frame + AT_IP;
	struct bp_aggregator_message m = {
		.key = bp_agg_usual_key(k->usual[i]),
		.sum = k->sum[i],
		.payload = in->frame + AT_PAYLOAD,
		.hash = k->hash[i],
		.stream = (uint32_t)(k->s[i] - k->a->streams.stream),
		.len = (uint16_t)k->len[i],
		.todo = BP_AGG_TODO_TAKE,
		.mimic = k->a->rule[in->rule].format == BP_AGG_FORMAT_FULL &&
			 bp_agg_full_is(in->frame + AT_PAYLOAD, k->len[i]),
		.hops = ip[BP_IP4_TTL],
		.sport = bp_be16(in->frame + AT_UDP),
		.src = ip + BP_IP4_SRC,
	};

	enter(k);
	k->a->at = (uint8_t)(k->at + i);
	bp_aggregator_do(k->a, in, &m, k->now_ns, k->wall_ns);
	if (in->verdict != BP_AGG_TAKEN)
		return;
	k->s[i] = &k->a->streams.stream[m.stream];
	k->last = i;
}

static __attribute__((noinline)) void place_odd(struct bp_aggregator_burst *k, unsigned i)
{
	struct bp_aggregator_message *m = &k->message[i];

	if ((k->general >> i & 1) == 0)
		return;
	enter(k);
	k->a->at = (uint8_t)(k->at + i);
	m->stream = (uint32_t)(k->s[i] - k->a->streams.stream);
	bp_aggregator_do(k->a, &k->in[i], m, k->now_ns, k->wall_ns);
	if (k->in[i].verdict != BP_AGG_TAKEN)
		return;
	k->s[i] = &k->a->streams.stream[m->stream];
	k->last = i;
}

/* Begins an aggregate with a message. False: there is no buffer. */
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
	bp_aggregator_append_paper(w, f + AT_PAYLOAD, &s->sum);
	return true;
}

/* Appends what is not like the message before. False: it is for the general way. */
static inline bool append_unlike(struct bp_aggregator_burst *k, unsigned i)
{
	const uint8_t *f = k->in[i].frame;
	const bool paper = k->a->rule[k->in[i].rule].format == BP_AGG_FORMAT_PAPER;
	struct bp_agg_stream *s = k->s[i];
	struct bp_agg_full_writer *w = &s->writer;
	uint64_t sum;

	if (w->count == 0)
		return begin(k, i, paper);
	if (paper) {
		bp_aggregator_append_paper(w, f + AT_PAYLOAD, &s->sum);
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

	enter(k);
	k->a->at = (uint8_t)(k->at + i);
	bp_aggregator_leave(k->a, (uint32_t)(k->s[i] - k->a->streams.stream),
		r->most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, k->now_ns,
		k->wall_ns);
}

/* Puts a usual message into its stream's aggregate. */
static inline __attribute__((always_inline)) void place(struct bp_aggregator_burst *k, unsigned i)
{
	struct bp_agg_input *in = &k->in[i];
	struct bp_agg_stream *s = k->s[i];
	const uint8_t *f = in->frame;

	if (__builtin_expect(
		    s->usual != k->usual[i] ||
			    (s->writer.count != 0 && !bp_aggregator_same_target(s->target, f)),
		    0)) {
		place_general(k, i);
		return;
	}
	if (!bp_agg_full_append_like(&s->writer, f + AT_IP + BP_IP4_SRC, f[AT_IP + BP_IP4_TTL],
		    f + AT_PAYLOAD, k->len[i], k->sum[i], &s->sum) &&
		!append_unlike(k, i)) {
		place_general(k, i);
		return;
	}
	if (__builtin_expect(in->frame_len != bp_agg_least(k->len[i]), 0))
		k->a->streams.rest[s - k->a->streams.stream].more +=
			in->frame_len - bp_agg_least(k->len[i]);
	s->arrived_ns += k->now_ns;
	in->verdict = BP_AGG_TAKEN;
	k->last = i;
	taken(k, in);
	if (s->writer.count == s->writer.most)
		leave(k, i);
}

static __attribute__((noinline)) void place_mixed(struct bp_aggregator_burst *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		if ((k->odd >> i & 1) != 0)
			place_odd(k, i);
		else
			place(k, i);
	}
}

/* Where the last two are of one stream, the next may be, too: who takes these is to try first. The
 * usual message is always like the last one; of an earlier one the aggregate may have left. */
static void note_usual(struct bp_aggregator_burst *k)
{
	const unsigned i = k->last;

	if (i == k->n)
		return;
	if (k->n == 1 || (i != 0 && k->s[i] == k->s[i - 1]))
		bp_aggregator_usual_set(
			k->a, &k->in[i], (uint32_t)(k->s[i] - k->a->streams.stream));
	else
		k->a->usual.stream = BP_AGG_NO_STREAM;
}

static void take(struct bp_aggregator_burst *k)
{
	const struct bp_agg_streams *t = &k->a->streams;

	bp_aggregator_many_read(k);
	for (unsigned i = 0; i < k->n; i++) {
		if (__builtin_expect(((k->odd ^ k->general) >> i & 1) != 0, 0))
			continue;
		k->s[i] = bp_agg_streams_guess(t, k->hash[i]);
		__builtin_prefetch(k->s[i], 1);
	}
	look(k);
	if (__builtin_expect(k->odd == 0, 1)) {
		for (unsigned i = 0; i < k->n; i++)
			place(k, i);
	} else {
		place_mixed(k);
	}
	enter(k);
	if (k->unlike < k->n)
		bp_aggregator_many_note(
			k->a, &k->in[k->unlike], k->usual[k->unlike], k->len[k->unlike]);
}

void bp_aggregator_take_many(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	unsigned at, bool last, uint64_t now_ns, uint64_t wall_ns)
{
	struct bp_aggregator_burst k;

	k.a = a;
	k.in = in + at;
	k.now_ns = now_ns;
	k.wall_ns = wall_ns;
	k.odd = 0;
	k.general = 0;
	k.taken = 0;
	k.taken_octets = 0;
	k.n = n;
	k.at = at;
	k.last = n;
	k.unlike = n;
	take(&k);
	if (last)
		note_usual(&k);
}
