/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/aggregator_judge.h"
#include "agg/aggregator_message.h"
#include "proto/agg_full_alike.h"

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

/* What is known of a message that waits to be placed. */
struct job {
	uint64_t usual; /* bp_agg_key_usual(); 0: general[] has it */
	uint64_t sum;   /* of its payload */
	uint32_t hash, stream;
	uint32_t len; /* of its payload */
	enum { NONE, USUAL, GENERAL } kind;
};

/* Of a frame of the usual shape. */
#define AT_IP BP_ETHER_HDR
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)
#define AT_PAYLOAD (AT_UDP + BP_UDP_HDR)

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

/* Reads a frame. False: its reading is left to the general way. */
static inline __attribute__((always_inline)) bool read_usual(
	const struct bp_aggregator *a, struct bp_agg_input *in, struct job *j)
{
	const uint8_t *f = in->frame, *ip = f + AT_IP;
	const struct bp_aggregator_rule *r;
	uint64_t to[2];
	unsigned rule, len;

	if (!is_usual(in))
		return false;
	in->verdict = BP_AGG_OTHER;
	j->kind = NONE;
	if (!bp_aggregator_for_us(in))
		return true;
	bp_agg_match_words(4, ip + BP_IP4_DST, to);
	rule = bp_agg_match_find(&a->match, in->port, 4, to, bp_be16(f + AT_UDP + 2));
	if (rule == BP_AGG_NO_RULE)
		return true;
	r = &a->rule[rule];
	if (!bp_aggregator_judge_usual(r, in, r->format == BP_AGG_FORMAT_PAPER, &len, &j->sum))
		return false;
	in->rule = (uint8_t)rule;
	j->kind = USUAL;
	j->len = len;
	j->usual = (bp_sum_word(ip + BP_IP4_DST) & BP_AGG_USUAL_FRAME) |
		   bp_agg_key_usual_rest(rule, ip[1], (ip[BP_IP4_FRAGMENT] & BP_IP4_DF >> 8) != 0);
	j->hash = bp_agg_streams_hash_usual(&a->streams, j->usual);
	bp_agg_streams_prefetch_slot(&a->streams, j->hash);
	return true;
}

/* Fetches where a message goes, and with the last one of an aggregate what its leaving needs. gcc
 * takes a function that does nothing else for one without effect, and its calls away: hence inlined
 * before it looks at that. */
static inline __attribute__((always_inline)) void look(
	const struct bp_aggregator *a, uint32_t stream)
{
	const struct bp_agg_streams *t = &a->streams;
	const struct bp_agg_stream *s;
	const struct bp_agg_full_writer *w;

	if (stream == BP_AGG_NO_STREAM)
		return;
	s = &t->stream[stream];
	w = &s->writer;
	if (w->count == 0) {
		__builtin_prefetch(&s->buffer, 1);
		__builtin_prefetch(&t->link[stream], 1);
		__builtin_prefetch(&t->rest[stream], 1);
		return;
	}
	__builtin_prefetch(w->buf + BP_AGG_FULL_HEADER + w->directory, 1);
	__builtin_prefetch(w->buf + w->front + w->payloads, 1);
	if (w->count + 1u >= w->most) {
		__builtin_prefetch(w->buf, 1);
		__builtin_prefetch(&s->buffer, 1);
		__builtin_prefetch(&t->link[stream], 1);
		__builtin_prefetch(&t->rest[stream], 1);
		__builtin_prefetch(&t->row[stream], 1);
	}
}

/* Lets the general way do what is to be done about a usual message. */
static __attribute__((noinline)) bool place_general(struct bp_aggregator *a,
	struct bp_agg_input *in, struct job *j, uint64_t now_ns, uint64_t wall_ns)
{
	const uint8_t *ip = in->frame + AT_IP;
	struct bp_aggregator_message m = {
		.key = bp_agg_usual_key(j->usual),
		.sum = j->sum,
		.payload = in->frame + AT_PAYLOAD,
		.hash = j->hash,
		.stream = j->stream,
		.len = (uint16_t)j->len,
		.todo = BP_AGG_TODO_TAKE,
		.mimic = a->rule[in->rule].format == BP_AGG_FORMAT_FULL &&
			 bp_agg_full_is(in->frame + AT_PAYLOAD, j->len),
		.hops = ip[BP_IP4_TTL],
		.sport = bp_be16(in->frame + AT_UDP),
		.src = ip + BP_IP4_SRC,
	};

	bp_aggregator_do(a, in, &m, now_ns, wall_ns);
	j->stream = m.stream;
	return in->verdict == BP_AGG_TAKEN;
}

/* Appends in format full to what holds a message already. False: it is not like that one, or there
 * may be no room. */
static inline bool append_like(struct bp_agg_full_writer *w, const uint8_t *f, const struct job *j)
{
	struct bp_agg_full_alike x;

	if (w->count == 0 || j->len != w->last_len || f[AT_IP + BP_IP4_TTL] != w->last_hops)
		return false;
	if (!bp_agg_full_alike_fit(w, 1))
		return false;
	x = bp_agg_full_alike_begin(w);
	bp_agg_full_alike_append(&x, bp_v16_load(f + AT_IP + BP_IP4_SRC), f + AT_PAYLOAD, j->len);
	bp_agg_full_alike_end(w, &x, 1);
	return true;
}

static inline bool append(
	struct bp_agg_stream *s, bool paper, const uint8_t *f, const struct job *j)
{
	struct bp_agg_full_writer *w = &s->writer;
	const uint64_t sum = bp_sum_moved(j->sum, w->payloads);

	if (paper) {
		bp_aggregator_append_paper(w, f + AT_PAYLOAD, &s->sum);
		return true;
	}
	if (!append_like(w, f, j) &&
		!bp_agg_full_append4(w, f + AT_IP + BP_IP4_SRC, bp_be16(f + AT_UDP),
			f[AT_IP + BP_IP4_TTL], f + AT_PAYLOAD, j->len))
		return false;
	s->sum = bp_sum_add(s->sum, sum);
	return true;
}

/* Begins an aggregate of a stream that has none. False: there is no buffer. */
static inline bool begin(
	struct bp_aggregator *a, uint32_t stream, const uint8_t *frame, bool paper, uint64_t now_ns)
{
	struct bp_agg_full_writer *w = &a->streams.stream[stream].writer;
	void *buffer;
	uint8_t *base = a->hooks.get(a->hooks.arg, &buffer);

	if (base == NULL)
		return false;
	bp_aggregator_begin(a, stream, base, buffer, frame, now_ns);
	if (paper) {
		memcpy(w->last_addr, frame + AT_IP + BP_IP4_SRC, 4);
		w->last_port = bp_be16(frame + AT_UDP);
		w->last_hops = frame[AT_IP + BP_IP4_TTL];
	}
	return true;
}

/* Puts a usual message into its stream's aggregate. False: there is no buffer for a new one, and it
 * passes. */
static inline __attribute__((always_inline)) bool place(struct bp_aggregator *a,
	struct bp_agg_input *in, struct job *j, uint64_t now_ns, uint64_t wall_ns)
{
	const struct bp_aggregator_rule *r = &a->rule[in->rule];
	const bool paper = r->format == BP_AGG_FORMAT_PAPER;
	struct bp_agg_stream *s;

	if (__builtin_expect(j->stream == BP_AGG_NO_STREAM, 0))
		return place_general(a, in, j, now_ns, wall_ns);
	s = &a->streams.stream[j->stream];
	if (__builtin_expect(s->usual != j->usual, 0))
		return place_general(a, in, j, now_ns, wall_ns);
	if (s->writer.count != 0 ? !bp_aggregator_same_target(s->target, in->frame)
				 : !begin(a, j->stream, in->frame, paper, now_ns))
		return place_general(a, in, j, now_ns, wall_ns);
	if (__builtin_expect(!append(s, paper, in->frame, j), 0))
		return place_general(a, in, j, now_ns, wall_ns);
	if (__builtin_expect(in->frame_len != bp_agg_least(j->len), 0))
		a->streams.rest[j->stream].more += in->frame_len - bp_agg_least(j->len);
	s->arrived_ns += now_ns;
	in->verdict = BP_AGG_TAKEN;
	bp_aggregator_taken(a, in->rule, in->frame_len);
	if (s->writer.count == r->most)
		bp_aggregator_leave(a, j->stream,
			r->most == r->messages ? BP_AGG_FLUSH_FULL : BP_AGG_FLUSH_SIZE, now_ns,
			wall_ns);
	return true;
}

/* `at`: of in[0] in the burst. */
static void take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n, unsigned at,
	uint64_t now_ns, uint64_t wall_ns)
{
	const struct bp_agg_streams *t = &a->streams;
	struct bp_aggregator_message general[BURST];
	struct job job[BURST];
	unsigned last = n;

	for (unsigned i = 0; i < n; i++) {
		struct job *j = &job[i];

		if (__builtin_expect(read_usual(a, &in[i], j), 1))
			continue;
		bp_aggregator_read(a, &in[i], &general[i]);
		j->kind = general[i].todo == BP_AGG_TODO_NOTHING ? NONE : GENERAL;
		j->hash = general[i].hash;
	}
	for (unsigned i = 0; i < n; i++) {
		struct job *j = &job[i];

		if (j->kind == NONE)
			continue;
		j->stream = bp_agg_streams_guess(t, j->hash);
		if (j->stream != BP_AGG_NO_STREAM)
			__builtin_prefetch(&t->stream[j->stream], 1);
	}
	for (unsigned i = 0; i < n; i++)
		if (job[i].kind != NONE)
			look(a, job[i].stream);
	for (unsigned i = 0; i < n; i++) {
		struct job *j = &job[i];

		if (j->kind == NONE)
			continue;
		a->at = (uint8_t)(at + i);
		if (__builtin_expect(j->kind == USUAL, 1)) {
			if (place(a, &in[i], j, now_ns, wall_ns))
				last = i;
			continue;
		}
		general[i].stream = j->stream;
		bp_aggregator_do(a, &in[i], &general[i], now_ns, wall_ns);
		j->stream = general[i].stream;
		if (in[i].verdict == BP_AGG_TAKEN)
			last = i;
	}
	if (last < n)
		bp_aggregator_usual_set(a, &in[last], job[last].stream);
}

void bp_aggregator_take(struct bp_aggregator *a, struct bp_agg_input *in, unsigned n,
	uint64_t now_ns, uint64_t wall_ns)
{
	unsigned usual = 0;

	bp_aggregator_poll(a, now_ns, wall_ns);
	if (a->usual.stream != BP_AGG_NO_STREAM)
		usual = bp_aggregator_take_usual(a, in, n, now_ns, wall_ns);
	if (usual != n)
		take(a, in + usual, n - usual, usual, now_ns, wall_ns);
	a->at = 0;
	bp_aggregator_settle(a);
}
