/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_AGGREGATION_ROUNDTRIP_RIG_H
#define BP_TESTS_UNIT_SERVICES_AGGREGATION_ROUNDTRIP_RIG_H

#include "tests/unit/services/aggregation/disagg_ip4.h"
#include "tests/unit/services/aggregation/sequence_model.h"
#include "tests/unit/services/aggregation/udp_frame.h"

#include "services/aggregation/aggregator.h"
#include "proto/aggregation/agg_lin2018.h"

/*
 * Two gateways and a link: datagrams go into an aggregator on port LAN, its output is queued on the
 * link in order, and reaches a disaggregator on port WAN in an order that the test selects. Time is
 * virtual.
 */
enum { LAN = 3, WAN = 5 };
#define SENT_MOST 400u
#define WIRE_MOST (2 * SENT_MOST)
#define STREAMS_MOST 128u

/* A datagram, as it was sent. */
struct sent {
	struct udp u;
	uint64_t at_ns;
	unsigned stream; /* all that may not overtake each other */
	uint8_t verdict; /* of the aggregator */
	unsigned got;    /* how often it came out at the far end */
};

/* Frames on the link. */
struct item {
	uint8_t *frame;
	unsigned len;
	bool plain;
	uint8_t rule;
	uint8_t at; /* with an aggregate: frames of the burst that came before it */
	uint64_t left_ns;
	unsigned n, message[BP_AGG_FULL_MOST]; /* which of `sent` are in it, in order */
};

static struct sent sent[SENT_MOST];
static unsigned n_sent;
static struct item wire[WIRE_MOST];
static unsigned n_wire;
/* Of each stream, what has not left the aggregator: which of `sent`, from head to tail. */
static struct {
	unsigned queue[SENT_MOST], head, tail;
} stream[STREAMS_MOST];
static unsigned n_streams;

static struct bp_agg_rules rules;
static struct bp_agg_stats agg_stats[BP_AGG_RULES_MAX];
static struct bp_disagg_stats stats[BP_AGG_RULES_MAX];
static struct bp_agg_stream_row *rows;
static struct bp_aggregator *a;
static struct bp_disaggregator *d;
static uint64_t now;
static unsigned room, buffers;

/* Aggregates that left within bp_aggregator_take(): they are between the frames of the burst. */
static struct item leaving[SENT_MOST];
static unsigned n_leaving;

static inline bool same_stream(const struct udp *x, const struct udp *y)
{
	return x->family == y->family && memcmp(x->dst, y->dst, 16) == 0 && x->dport == y->dport &&
	       x->tos == y->tos && x->dont_fragment == y->dont_fragment && x->n_tags == y->n_tags &&
	       memcmp(x->tags, y->tags, x->n_tags) == 0;
}

/* The stream of a datagram, also of an aggregate: they have the same of all that makes one. */
static inline unsigned stream_of(const struct udp *u)
{
	for (unsigned i = 0; i < n_sent; i++)
		if (sent[i].stream != UINT32_MAX && same_stream(&sent[i].u, u))
			return sent[i].stream;
	return UINT32_MAX;
}

static inline unsigned pop(unsigned s)
{
	assert_true(stream[s].head < stream[s].tail);
	return stream[s].queue[stream[s].head++];
}

static inline unsigned messages_in(const struct udp *u, unsigned rule)
{
	static struct bp_agg_message message[BP_AGG_FULL_MOST];
	struct bp_agg_lin2018 paper;
	struct bp_agg_full head;

	if (rules.aggregate[rule].format == BP_AGG_FORMAT_LIN2018) {
		assert_int_equal(bp_agg_lin2018_read(u->payload, u->len, BP_AGG_FULL_MOST, &paper),
			BP_AGG_LIN2018_OK);
		return paper.count;
	}
	assert_int_equal(
		bp_agg_full_read(u->payload, u->len, u->family, &head, message, BP_AGG_FULL_MOST),
		BP_AGG_FULL_OK);
	return head.count;
}

/* Puts an aggregate on the wire. Its messages are the oldest of its stream: that is the order. */
static inline void lay_aggregate(const struct item *from, unsigned before)
{
	struct item *i = &wire[n_wire++];
	static struct udp u;
	unsigned s;

	assert_true(n_wire < WIRE_MOST);
	*i = *from;
	udp_read(i->frame, i->len, &u);
	s = stream_of(&u);
	assert_true(s < n_streams);
	i->n = messages_in(&u, i->rule);
	for (unsigned k = 0; k < i->n; k++) {
		i->message[k] = pop(s);
		assert_int_equal(sent[i->message[k]].verdict, BP_AGG_TAKEN);
		assert_true(i->message[k] < before);
	}
}

static inline void lay_plain(unsigned which, const uint8_t *frame, unsigned len)
{
	struct item *i = &wire[n_wire++];

	assert_true(n_wire < WIRE_MOST);
	*i = (struct item){.frame = exact_copy(frame, len),
		.len = len,
		.plain = true,
		.left_ns = now,
		.n = 1,
		.message = {which}};
	assert_int_equal(pop(sent[which].stream), which);
}

static inline uint8_t *take_buffer(void *arg, void **buffer)
{
	*buffer = malloc(room);
	assert_non_null(*buffer);
	buffers++;
	return *buffer;
}

static inline void aggregate_leaves(void *arg, const struct bp_agg_output *o)
{
	struct item *i = &leaving[n_leaving++];

	assert_true(n_leaving < SENT_MOST);
	assert_true(o->offset + (unsigned)o->len <= room);
	assert_int_equal(o->port, LAN);
	*i = (struct item){.frame = exact_copy((uint8_t *)o->buffer + o->offset, o->len),
		.len = o->len,
		.rule = o->rule,
		.at = o->at,
		.left_ns = now};
	free(o->buffer);
	buffers--;
}

/* Aggregates after `at` frames of the burst that are not on the link yet. */
static inline void lay_what_left(unsigned *done, unsigned at, unsigned before)
{
	for (; *done < n_leaving && leaving[*done].at <= at; (*done)++)
		lay_aggregate(&leaving[*done], before);
}

/* Aggregates that leave by timeout or by a flush. */
static inline void lay_all_that_left(void)
{
	unsigned done = 0;

	for (unsigned i = 0; i < n_leaving; i++)
		assert_int_equal(leaving[i].at, 0);
	lay_what_left(&done, 0, n_sent);
	n_leaving = 0;
}

/* A burst of the `n` datagrams that are sent[n_sent..], now. */
static inline void send_burst(unsigned n)
{
	static uint8_t frame[64][FRAME_MOST];
	struct bp_agg_input in[64];
	const unsigned first = n_sent;
	unsigned done = 0;

	for (unsigned i = 0; i < n; i++) {
		const unsigned len = udp_write(&sent[first + i].u, frame[i]);

		in[i] = (struct bp_agg_input){.frame = exact_copy(frame[i], len),
			.len = len,
			.frame_len = len,
			.port = LAN};
	}
	bp_aggregator_take(a, in, n, now, 1 + now);
	for (unsigned i = 0; i < n; i++) {
		struct sent *m = &sent[first + i];

		m->verdict = in[i].verdict;
		m->at_ns = now;
		m->got = 0;
		m->stream = UINT32_MAX;
		assert_int_not_equal(m->verdict, BP_AGG_OTHER);
		if (m->verdict == BP_AGG_AMBIGUOUS_PAYLOAD)
			continue;
		m->stream = stream_of(&m->u);
		if (m->stream == UINT32_MAX) {
			assert_true(n_streams < STREAMS_MOST);
			m->stream = n_streams++;
			stream[m->stream].head = stream[m->stream].tail = 0;
		}
		stream[m->stream].queue[stream[m->stream].tail++] = first + i;
		n_sent = first + i + 1; /* stream_of() finds it */
	}
	n_sent = first + n;
	for (unsigned i = 0; i < n; i++) {
		/* frame i itself may have made it full */
		lay_what_left(&done, i, first + i + 1);
		if (in[i].verdict == BP_AGG_PASS)
			lay_plain(first + i, in[i].frame, in[i].len);
		free((void *)(uintptr_t)in[i].frame);
	}
	lay_what_left(&done, n, n_sent);
	assert_int_equal(done, n_leaving);
	n_leaving = 0;
}

static inline void begin_both(uint32_t agg_streams, uint32_t disagg_streams, uint64_t seed)
{
	const struct bp_disaggregator_options o = {
		.streams = disagg_streams, .stats = stats, .seed = seed};
	struct bp_aggregator_options ao = {.streams = agg_streams,
		.room = (uint16_t)room,
		.stats = agg_stats,
		.seed = seed,
		.hooks = {.get = take_buffer, .send = aggregate_leaves}};

	rows = aligned_alloc(64, agg_streams * sizeof(*rows));
	assert_non_null(rows);
	memset(rows, 0, agg_streams * sizeof(*rows));
	memset(agg_stats, 0, sizeof(agg_stats));
	memset(stats, 0, sizeof(stats));
	ao.rows = rows;
	a = bp_aggregator_new(&ao);
	d = bp_disaggregator_new(&o);
	assert_non_null(a);
	assert_non_null(d);
	n_sent = n_wire = n_streams = n_leaving = 0;
	now = 1000;
	bp_aggregator_set_rules(a, &rules, 1500, now);
	bp_disaggregator_set_rules(d, &rules);
}

static inline void end_both(void)
{
	for (unsigned i = 0; i < n_wire; i++)
		free(wire[i].frame);
	n_wire = 0;
	assert_int_equal(buffers, 0);
	bp_aggregator_free(a);
	bp_disaggregator_free(d);
	free(rows);
}

#endif
