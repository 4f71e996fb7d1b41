/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/aggregator_judge.h"
#include "agg/aggregator_message.h"
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

#define BURST 64u

/* What is known of a usual message that waits to be placed. */
struct job {
	uint64_t usual;          /* bp_agg_key_usual() */
	uint64_t sum;            /* of its payload */
	struct bp_agg_stream *s; /* a guess; stream[-1]: none is known */
	uint32_t hash, len;      /* len: of its payload */
};

/* A burst. */
struct many {
	struct bp_aggregator *a;
	struct bp_agg_input *in;
	uint64_t now_ns, wall_ns;
	uint64_t odd;     /* a bit for each that is no usual message */
	uint64_t general; /* and of those, for each that the general way does */
	unsigned n, at;   /* at: of in[0] in the whole burst */
	unsigned last;    /* that was taken; n: none */
	struct job job[BURST];
	struct bp_aggregator_message message[BURST]; /* of the general way */
};

/* Of a frame of the usual shape. */
#define AT_IP BP_ETHER_HDR
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)
#define AT_PAYLOAD (AT_UDP + BP_UDP_HDR)

/* ---- read ---- */

/* Whether a frame has IPv4 without tags and options, with UDP, and is no fragment. */
static inline bool is_usual(const struct bp_agg_input *in)
{
	const uint8_t *f = in->frame;
	uint32_t type, fragment;

	if (in->len < AT_PAYLOAD)
		return false;
	type = bp_load32(f + BP_ETHER_HDR - 2) ^ 0x00450008u;
	fragment = bp_load32(f + AT_IP + BP_IP4_FRAGMENT) ^ (uint32_t)BP_PROTO_UDP << 24;
	return ((type & 0x00ffffffu) | (fragment & 0xff00ffbfu)) == 0;
}

enum reading { USUAL, NOTHING, GENERAL };

static inline __attribute__((always_inline)) enum reading read_usual(
	const struct bp_aggregator *a, struct bp_agg_input *in, struct job *j)
{
	const uint8_t *f = in->frame, *ip = f + AT_IP;
	const struct bp_aggregator_rule *r;
	uint64_t to[2];
	unsigned rule, len;

	if (!is_usual(in))
		return GENERAL;
	in->verdict = BP_AGG_OTHER;
	if (!bp_aggregator_for_us(in))
		return NOTHING;
	bp_agg_match_words(4, ip + BP_IP4_DST, to);
	rule = bp_agg_match_find(&a->match, in->port, 4, to, bp_be16(f + AT_UDP + 2));
	if (rule == BP_AGG_NO_RULE)
		return NOTHING;
	r = &a->rule[rule];
	if (!bp_aggregator_judge_usual(r, in, r->format == BP_AGG_FORMAT_PAPER, &len, &j->sum))
		return GENERAL;
	in->rule = (uint8_t)rule;
	j->len = len;
	j->usual = (bp_sum_word(ip + BP_IP4_DST) & BP_AGG_USUAL_FRAME) |
		   bp_agg_key_usual_rest(rule, ip[1], (ip[BP_IP4_FRAGMENT] & BP_IP4_DF >> 8) != 0);
	j->hash = bp_agg_streams_hash_usual(&a->streams, j->usual);
	bp_agg_streams_prefetch_slot(&a->streams, j->hash);
	return USUAL;
}

static void read_odd(struct many *k, unsigned i, enum reading what)
{
	struct job *j = &k->job[i];

	k->odd |= 1ull << i;
	j->s = &k->a->streams.stream[-1];
	if (what == NOTHING)
		return;
	bp_aggregator_read(k->a, &k->in[i], &k->message[i]);
	if (k->message[i].todo == BP_AGG_TODO_NOTHING)
		return;
	k->general |= 1ull << i;
	j->hash = k->message[i].hash;
}

/* ---- look ---- */

/*
 * Fetches where messages go, and with the first and the last one of an aggregate what these need.
 * Those are found without a branch, which nobody could foretell. gcc takes a function that does
 * nothing else for one without effect, and its calls away: hence inlined before it looks at that.
 */
static inline __attribute__((always_inline)) void look(const struct many *k)
{
	const struct bp_agg_streams *t = &k->a->streams;
	uint8_t seldom[BURST];
	unsigned n = 0;

	for (unsigned i = 0; i < k->n; i++) {
		const struct bp_agg_full_writer *w = &k->job[i].s->writer;

		__builtin_prefetch(w->buf + BP_AGG_FULL_HEADER + w->directory, 1);
		__builtin_prefetch(w->buf + w->front + w->payloads, 1);
		seldom[n] = (uint8_t)i;
		n += (uint8_t)(w->count - 1) >= (uint8_t)(w->most - 2);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct bp_agg_stream *s = k->job[seldom[i]].s;
		const size_t stream = (size_t)(s - t->stream);

		__builtin_prefetch(&s->buffer, 1);
		__builtin_prefetch(s->writer.buf, 1);
		__builtin_prefetch(&t->link[stream], 1);
		__builtin_prefetch(&t->rest[stream], 1);
		__builtin_prefetch(&t->row[stream], 1);
	}
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *buffer = k->job[seldom[i]].s->buffer;

		__builtin_prefetch(buffer, 1);
		__builtin_prefetch(buffer + 64, 1);
	}
}

/* ---- place ---- */

/* Lets the general way do what is to be done about a usual message. */
static __attribute__((noinline)) void place_general(struct many *k, unsigned i)
{
	struct bp_agg_input *in = &k->in[i];
	struct job *j = &k->job[i];
	const uint8_t *ip = in->frame + AT_IP;
	struct bp_aggregator_message m = {
		.key = bp_agg_usual_key(j->usual),
		.sum = j->sum,
		.payload = in->frame + AT_PAYLOAD,
		.hash = j->hash,
		.stream = (uint32_t)(j->s - k->a->streams.stream),
		.len = (uint16_t)j->len,
		.todo = BP_AGG_TODO_TAKE,
		.mimic = k->a->rule[in->rule].format == BP_AGG_FORMAT_FULL &&
			 bp_agg_full_is(in->frame + AT_PAYLOAD, j->len),
		.hops = ip[BP_IP4_TTL],
		.sport = bp_be16(in->frame + AT_UDP),
		.src = ip + BP_IP4_SRC,
	};

	k->a->at = (uint8_t)(k->at + i);
	bp_aggregator_do(k->a, in, &m, k->now_ns, k->wall_ns);
	if (in->verdict != BP_AGG_TAKEN)
		return;
	j->s = &k->a->streams.stream[m.stream];
	k->last = i;
}

static __attribute__((noinline)) void place_odd(struct many *k, unsigned i)
{
	struct bp_aggregator_message *m = &k->message[i];

	if ((k->general >> i & 1) == 0)
		return;
	k->a->at = (uint8_t)(k->at + i);
	m->stream = (uint32_t)(k->job[i].s - k->a->streams.stream);
	bp_aggregator_do(k->a, &k->in[i], m, k->now_ns, k->wall_ns);
	if (k->in[i].verdict != BP_AGG_TAKEN)
		return;
	k->job[i].s = &k->a->streams.stream[m->stream];
	k->last = i;
}

/* Appends what is not like the message before. False: it is for the general way. */
static __attribute__((noinline)) bool append_unlike(struct many *k, unsigned i)
{
	const struct bp_agg_input *in = &k->in[i];
	const struct job *j = &k->job[i];
	const uint8_t *f = in->frame;
	const bool paper = k->a->rule[in->rule].format == BP_AGG_FORMAT_PAPER;
	struct bp_agg_stream *s = j->s;
	struct bp_agg_full_writer *w = &s->writer;
	uint64_t sum;

	if (w->count == 0) {
		void *buffer;
		uint8_t *base = k->a->hooks.get(k->a->hooks.arg, &buffer);

		if (base == NULL)
			return false;
		bp_aggregator_begin(
			k->a, (uint32_t)(s - k->a->streams.stream), base, buffer, f, k->now_ns);
		if (paper) {
			memcpy(w->last_addr, f + AT_IP + BP_IP4_SRC, 4);
			w->last_port = bp_be16(f + AT_UDP);
			w->last_hops = f[AT_IP + BP_IP4_TTL];
		}
	}
	if (paper) {
		bp_aggregator_append_paper(w, f + AT_PAYLOAD, &s->sum);
		return true;
	}
	sum = bp_sum_moved(j->sum, w->payloads);
	if (!bp_agg_full_append4(w, f + AT_IP + BP_IP4_SRC, bp_be16(f + AT_UDP),
		    f[AT_IP + BP_IP4_TTL], f + AT_PAYLOAD, j->len))
		return false;
	s->sum = bp_sum_add(s->sum, sum);
	return true;
}

static __attribute__((noinline)) void leave(struct many *k, unsigned i)
{
	const struct bp_aggregator_rule *r = &k->a->rule[k->in[i].rule];

	k->a->at = (uint8_t)(k->at + i);
	bp_aggregator_leave(k->a, (uint32_t)(k->job[i].s - k->a->streams.stream),
		r->most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, k->now_ns,
		k->wall_ns);
}

/* Puts a usual message into its stream's aggregate. */
static inline __attribute__((always_inline)) void place(struct many *k, unsigned i)
{
	struct bp_agg_input *in = &k->in[i];
	struct job *j = &k->job[i];
	struct bp_agg_stream *s = j->s;
	const uint8_t *f = in->frame;

	if (__builtin_expect(
		    s->usual != j->usual ||
			    (s->writer.count != 0 && !bp_aggregator_same_target(s->target, f)),
		    0)) {
		place_general(k, i);
		return;
	}
	if (!bp_agg_full_append_like(&s->writer, f + AT_IP + BP_IP4_SRC, f + AT_UDP,
		    f[AT_IP + BP_IP4_TTL], f + AT_PAYLOAD, j->len, j->sum, &s->sum) &&
		!append_unlike(k, i)) {
		place_general(k, i);
		return;
	}
	if (__builtin_expect(in->frame_len != bp_agg_least(j->len), 0))
		k->a->streams.rest[s - k->a->streams.stream].more +=
			in->frame_len - bp_agg_least(j->len);
	s->arrived_ns += k->now_ns;
	in->verdict = BP_AGG_TAKEN;
	k->last = i;
	bp_aggregator_taken(k->a, in->rule, in->frame_len);
	if (s->writer.count == s->writer.most)
		leave(k, i);
}

static void take(struct many *k)
{
	const struct bp_agg_streams *t = &k->a->streams;

	for (unsigned i = 0; i < k->n; i++) {
		const enum reading what = read_usual(k->a, &k->in[i], &k->job[i]);

		if (__builtin_expect(what != USUAL, 0))
			read_odd(k, i, what);
	}
	for (unsigned i = 0; i < k->n; i++) {
		struct job *j = &k->job[i];

		if (__builtin_expect(((k->odd ^ k->general) >> i & 1) != 0, 0))
			continue;
		j->s = bp_agg_streams_guess(t, j->hash);
		__builtin_prefetch(j->s, 1);
	}
	look(k);
	for (unsigned i = 0; i < k->n; i++) {
		if (__builtin_expect((k->odd >> i & 1) != 0, 0))
			place_odd(k, i);
		else
			place(k, i);
	}
	if (k->last < k->n)
		bp_aggregator_usual_set(k->a, &k->in[k->last],
			(uint32_t)(k->job[k->last].s - k->a->streams.stream));
}

void bp_aggregator_take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns)
{
	unsigned usual = 0;

	bp_aggregator_poll(a, now_ns, wall_ns);
	if (a->usual.stream != BP_AGG_NO_STREAM)
		usual = bp_aggregator_take_usual(a, in, n, now_ns, wall_ns);
	if (usual != n) {
		struct many k;

		k.a = a;
		k.in = in + usual;
		k.now_ns = now_ns;
		k.wall_ns = wall_ns;
		k.odd = 0;
		k.general = 0;
		k.n = n - usual;
		k.at = usual;
		k.last = k.n;
		take(&k);
	}
	a->at = 0;
	bp_aggregator_settle(a);
}
