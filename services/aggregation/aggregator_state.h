/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_STATE_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_STATE_H

#include "services/aggregation/aggregator.h"
#include "services/aggregation/template.h"
#include "services/aggregation/datagram.h"
#include "services/aggregation/match.h"
#include "services/aggregation/streams.h"
#include "proto/aggregation/agg_full_like.h"
#include "proto/aggregation/agg_lin2018.h"

/*
 * The internal state of an aggregator, private to the files aggregator_*.c. A message goes from
 * aggregator_take.c to aggregator_single_stream.c, aggregator_stage.c, aggregator_append.c or
 * aggregator_general.c, and its aggregate goes to aggregator_send.c. Each file calls only later
 * ones in this order.
 */

/*
 * Layout of an aggregate in its buffer: BP_AGG_AHEAD bytes, the writer's front (header and
 * directory), the payloads. The packet headers are written last, directly before the aggregate
 * header, which is then moved up to the payloads. Where nothing is moved they still fit in
 * BP_AGG_AHEAD. 80 bytes of headroom and 16 of the header put the directory and the payloads of a
 * full aggregate of short messages into few cache lines.
 */
#define BP_AGG_AHEAD 80u
_Static_assert(BP_AGG_AHEAD >= BP_DATAGRAM_HEAD_MOST, "the head fits before the aggregate");
/* Before that, both MAC addresses of the first message's frame are stored this many bytes before
 * the front. */
#define BP_AGG_MACS 16u
/* Format lin2018 needs no directory; this is the offset of its first message, after the flag
 * header. */
#define BP_AGG_LIN2018_FRONT 16u

#define BP_AGG_HOPS 64 /* TTL or hop limit of aggregates (RFC 1700) */

struct bp_aggregator_rule {
	uint64_t max_delay_ns;
	int32_t longest; /* payload of a message; -1: none is taken */
	uint16_t size;   /* bytes of an aggregate's UDP payload */
	uint16_t front;  /* of the writer, as it begins */
	uint16_t from_udp;
	uint8_t from[16];
	uint8_t family, format, port;
	uint8_t messages; /* N as configured */
	uint8_t most;     /* maximum of these that fit; less than N only in format lin2018 */
	bool has_from;
	bool stages; /* messages may be staged: all messages of one aggregate are certain to fit */
	struct bp_agg_senders senders; /* of others it takes no message */
};

/*
 * The stream of the previous message, where it is IPv4 without tags: its headers, 42 bytes in three
 * overlapping pieces, and the fields of its input.
 */
struct bp_aggregator_single_stream {
	bp_v16 head[3];
	struct bp_agg_template template; /* matches messages like this one */
	uint64_t mac;
	uint32_t stream; /* BP_AGG_NO_STREAM: none */
	uint16_t len;    /* of its payload */
	uint8_t rule, port;
	bool routed;
	/* number of preceding messages of this length; minimum number before the template is
	 * tried */
	uint8_t equal, min_equal;
};

/* The common properties of the messages of all streams of a rule, from the last message that was
 * processed without the template. */
struct bp_aggregator_multi_stream {
	struct bp_agg_template template; /* kind BP_AGG_TEMPLATE_NONE: there is none */
	uint64_t rest;                   /* bp_agg_key4_rest() of all */
	uint32_t shape;                  /* bp_aggregator_shape() */
	uint8_t rule;
	bool known;    /* there was one: `rule` is its */
	bool one_rule; /* all matching messages belong to that rule; otherwise the rule is searched
			*/
	/* number of bursts placed in order before steps are tried again; its previous value */
	uint8_t skip, skipped;
};

struct bp_aggregator {
	struct bp_agg_match match;
	struct bp_agg_streams streams;
	struct bp_aggregator_single_stream single;
	struct bp_aggregator_multi_stream multi;
	struct bp_aggregator_rule rule[BP_AGG_RULES_MAX];
	uint32_t n_rules;
	/* No aggregate is due before. It may be that none is even then: it moves on by poll. */
	uint64_t soonest_ns;
	struct bp_agg_stats *stats;
	struct bp_aggregator_hooks hooks;
	uint64_t random;
	/* Messages of one rule that were taken and are not in its statistics yet. */
	uint64_t taken, taken_bytes;
	uint32_t taken_rule;
	uint16_t room;
	uint16_t id; /* of IPv4, of the next aggregate that may be fragmented */
	uint8_t at;  /* for bp_agg_output */
	/* Staged messages were lost, and no buffer has been free since: nothing is staged, so that
	 * messages are bypassed. */
	bool starved;
	/* messages that were like the one before (aggregator_single_stream.c), for
	 * tests */
	uint64_t matched;
	uint64_t matched_streams; /* likewise (aggregator_take.c) */
	bool general;             /* all messages take the general path, for tests */
};

/* When the aggregate that is first in a rule's list is due. */
static inline uint64_t bp_aggregator_due(const struct bp_aggregator_rule *r, uint64_t began_ns)
{
	if (r->max_delay_ns == 0 || r->max_delay_ns > UINT64_MAX - began_ns)
		return UINT64_MAX;
	return began_ns + r->max_delay_ns;
}

static inline uint64_t bp_aggregator_random(struct bp_aggregator *a)
{
	return bp_mix64(a->random += 0x9e3779b97f4a7c15);
}

/* Begins an aggregate of a stream that has none, in a buffer from `get`. The caller maintains its
 * list and its deadline. `macs`: those of its first message, in the layout of a frame. */
static inline void bp_aggregator_begin_in(struct bp_agg_stream *s,
	const struct bp_aggregator_rule *r, uint8_t *base, void *buffer, const uint8_t *macs,
	uint64_t now_ns)
{
	bp_agg_full_begin(&s->writer, base + BP_AGG_AHEAD, r->front, r->size, r->family, r->most);
	s->buffer = buffer;
	s->sum = 0;
	s->arrived_ns = 0;
	s->more = 0;
	memcpy(s->target, macs, sizeof(s->target));
	memcpy(s->writer.buf - BP_AGG_MACS, macs, 12);
	s->began_ns = now_ns;
}

/* Records that a message of that rule arrived now and waits. */
static inline void bp_aggregator_waits(struct bp_aggregator *a, unsigned rule, uint64_t now_ns)
{
	const uint64_t due = bp_aggregator_due(&a->rule[rule], now_ns);

	if (due < a->soonest_ns)
		a->soonest_ns = due;
}

/* Both, for a message in such a frame. */
static inline void bp_aggregator_begin(struct bp_aggregator *a, uint32_t stream, uint8_t *base,
	void *buffer, const uint8_t *frame, uint64_t now_ns)
{
	struct bp_agg_stream *s = &a->streams.stream[stream];
	const unsigned rule = bp_agg_key_rule(&s->key);

	bp_aggregator_begin_in(s, &a->rule[rule], base, buffer, frame, now_ns);
	a->streams.staged[stream].state |= BP_AGG_STAGE_NONE;
	a->starved = false;
	bp_agg_streams_move(&a->streams, stream, rule);
	bp_aggregator_waits(a, rule, now_ns);
}

/* Bytes of the frames of the messages in a stream's aggregate. */
static inline uint32_t bp_aggregator_bytes(
	const struct bp_aggregator *a, const struct bp_agg_stream *s)
{
	const unsigned n = s->writer.count;
	const bool paper = a->rule[bp_agg_key_rule(&s->key)].format == BP_AGG_FORMAT_LIN2018;

	return bp_agg_min_len(0) * n + (paper ? BP_AGG_LIN2018_LEN(1) * n : s->writer.payloads) +
	       s->more;
}

/* The stream has none any more. */
static inline void bp_aggregator_end(struct bp_aggregator *a, struct bp_agg_stream *s)
{
	a->streams.staged[s - a->streams.stream].state &= ~BP_AGG_STAGE_NONE;
	s->buffer = NULL;
	s->writer.count = 0;
	s->writer.last_len = BP_AGG_FULL_UNLIKE;
}

/* Appends in format lin2018, whose aggregates leave when they are full: there is room. `payload` is
 * the message's, with its flag header. Who sent the first is the caller's to note. */
static inline void bp_aggregator_append_lin2018(
	struct bp_agg_full_writer *w, const uint8_t *payload, uint64_t *sum)
{
	const uint8_t *message = payload + BP_AGG_LIN2018_HEADER;

	bp_agg_lin2018_put(w->buf + w->front - BP_AGG_LIN2018_HEADER, w->count, message);
	w->count++;
	*sum = bp_sum(message, BP_AGG_LIN2018_MESSAGE_LEN, *sum);
}

/* Makes this the single stream, with the headers of `in`, which was the last accepted message;
 * where `in` has another form, there is no single stream. */
void bp_aggregator_single_stream_set(
	struct bp_aggregator *a, const struct bp_agg_input *in, uint32_t stream);
/* Takes messages of the single stream from in[at] of a burst on, as far as they go, of n: returns
 * how many. There is such a stream. */
unsigned bp_aggregator_take_single_stream(struct bp_aggregator *a, struct bp_agg_input *in,
	unsigned n, unsigned at, uint64_t now_ns, uint64_t wall_ns);
/* Whether it is of the single stream, and not tagged. */
bool bp_aggregator_is_single_stream(const struct bp_aggregator *a, const struct bp_agg_input *in);
/* Moves the staged messages of a stream into an aggregate. False: no buffer is free, and the
 * messages are lost. */
bool bp_aggregator_unstage(struct bp_aggregator *a, uint32_t stream);
/* Frees the staged messages of a stream; its records can be read until the next one is written. */
static inline void bp_aggregator_release(struct bp_aggregator *a, struct bp_agg_staged *g)
{
	struct bp_agg_stage *stage = &a->streams.stage;

	memcpy(stage->unused + stage->n, g->record, sizeof(g->record));
	stage->n += bp_agg_staged_count(g);
	g->state &= BP_AGG_STAGE_ONE - 1;
}

/* Sends the staged messages of `n` streams of a rule, as one aggregate for each stream. */
void bp_aggregator_flush_staged(struct bp_aggregator *a, unsigned rule, const uint32_t *stream,
	unsigned n, enum bp_agg_flush reason, uint64_t now_ns, uint64_t wall_ns);
/* When what a stream holds began. */
static inline uint64_t bp_aggregator_began_ns(const struct bp_aggregator *a, uint32_t stream)
{
	const struct bp_agg_staged *g = &a->streams.staged[stream];

	return bp_agg_staged_count(g) != 0
		       ? bp_agg_record_at(&a->streams.stage, g->record[0])->arrived_ns
		       : a->streams.stream[stream].began_ns;
}

/* Aggregates of a rule that left, not yet in its statistics. */
struct bp_aggregator_tally {
	uint64_t aggregates, messages, bytes, delay_ns;
};

void bp_aggregator_enter(struct bp_aggregator *a, unsigned rule, enum bp_agg_flush reason,
	const struct bp_aggregator_tally *t);

/* Counts one aggregate of `n` messages. `came`: bytes received for them; `arrived_ns`: the sum of
 * their arrival times; `began_ns`: the arrival time of the first; `bytes`: length of the
 * aggregate, bytes. */
static inline __attribute__((always_inline)) void bp_aggregator_count(struct bp_aggregator_tally *t,
	struct bp_agg_stats *st, struct bp_agg_stream_row *row, unsigned n, uint64_t came,
	unsigned bytes, uint64_t arrived_ns, uint64_t began_ns, uint64_t now_ns, uint64_t wall_ns)
{
	t->aggregates++;
	t->messages += n;
	t->bytes += bytes;
	t->delay_ns += n * now_ns - arrived_ns;
	bp_agg_stat_add(&st->delay[bp_agg_delay_bucket(now_ns - began_ns)], 1);
	bp_agg_stat_add(&row->messages, n);
	bp_agg_stat_add(&row->message_bytes, came);
	bp_agg_stat_add(&row->aggregates, 1);
	bp_agg_stat_add(&row->aggregate_bytes, bytes);
	atomic_store_explicit(&row->last_ns, wall_ns, memory_order_relaxed);
}

/* Completes the aggregate of a stream: *out is what is to be sent. */
void bp_aggregator_finish(struct bp_aggregator *a, uint32_t stream, struct bp_agg_output *out);
/* Enters what was taken into the statistics. */
void bp_aggregator_settle(struct bp_aggregator *a);
/* Sends the aggregate of a stream that has one. */
void bp_aggregator_flush_stream(struct bp_aggregator *a, uint32_t stream, enum bp_agg_flush reason,
	uint64_t now_ns, uint64_t wall_ns);

/*
 * A parsed frame and the action for it, for the general path: it accepts all frames, and the other
 * paths pass it the frames that they do not handle.
 */
struct bp_aggregator_message {
	struct bp_agg_key key;
	uint64_t sum; /* of its payload */
	const uint8_t *payload;
	uint32_t hash, stream; /* stream: a guess */
	uint16_t len;          /* of the payload */
	/* The action; PASS: also flush the stream, PASS_BOTH: also flush the stream that differs in
	 * Don't Fragment. */
	enum { BP_AGG_TODO_NONE, BP_AGG_TODO_TAKE, BP_AGG_TODO_PASS, BP_AGG_TODO_PASS_BOTH } todo;
	bool ambiguous_payload; /* begins like an aggregate */
	uint8_t hops;
	uint16_t sport;     /* host byte order */
	const uint8_t *src; /* address */
};

/* Parses a frame: writes its verdict, except for an accepted message, and all of *m but `stream`,
 * or only that there is no action. Prefetches the slot of its stream. */
void bp_aggregator_read(
	const struct bp_aggregator *a, struct bp_agg_input *in, struct bp_aggregator_message *m);
/* Does about it what is to be done, which is something; its stream is then in m->stream. */
void bp_aggregator_do(struct bp_aggregator *a, struct bp_agg_input *in,
	struct bp_aggregator_message *m, uint64_t now_ns, uint64_t wall_ns);

/* Whether two frames have the same destination MAC address. The source does not matter: devices of
 * a LAN share an aggregate. Both have 8 readable bytes. */
static inline bool bp_aggregator_same_target(const uint8_t *a, const uint8_t *b)
{
	return ((bp_load_le64(a) ^ bp_load_le64(b)) << 16) == 0;
}

/* Counts one accepted message of that rule. `bytes`: length of its frame, bytes. */
static inline void bp_aggregator_taken(struct bp_aggregator *a, unsigned rule, uint32_t bytes)
{
	if (__builtin_expect(rule != a->taken_rule, 0)) {
		bp_aggregator_settle(a);
		a->taken_rule = rule;
	}
	a->taken++;
	a->taken_bytes += bytes;
}

#endif
