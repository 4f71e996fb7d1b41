/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_AGGREGATION_AGGREGATOR_RIG_H
#define BP_TESTS_UNIT_SERVICES_AGGREGATION_AGGREGATOR_RIG_H

#include "tests/unit/services/aggregation/udp_frame.h"

#include "services/aggregation/aggregator.h"
#include "proto/aggregation/agg_full.h"
#include "proto/aggregation/agg_lin2018.h"

/* An aggregator with blocks of exactly the size of its buffers, and all that left it, as it is read
 * by what is not tested here. */
#define LEFT_MOST 4096u

struct left {
	struct udp u; /* the frame; u.payload is the aggregate */
	struct bp_agg_full head;
	struct bp_agg_message message[BP_AGG_FULL_MOST]; /* by bp_agg_full_read() */
	unsigned n, len;
	uint8_t port, rule, at;
};

static struct bp_agg_stats stats[BP_AGG_RULES_MAX];
static struct bp_agg_stream_row *rows;
static struct bp_agg_rules rules;
static struct bp_aggregator *a;
static struct left *left;
static unsigned n_left;
static unsigned buffers_out, buffers_most; /* in the aggregator, and how many there are */
static unsigned room;
static uint64_t now, wall;
static uint8_t verdict, why, by_rule; /* of the last frame */

static inline uint8_t *take_buffer(void *arg, void **buffer)
{
	if (buffers_out == buffers_most)
		return NULL;
	buffers_out++;
	*buffer = malloc(room);
	assert_non_null(*buffer);
	memset(*buffer, 0xa5, room);
	return *buffer;
}

/* Reads an aggregate that is to be perfect. */
static inline void read_left(const struct bp_agg_output *o, struct left *l)
{
	const bool paper = rules.aggregate[o->rule].format == BP_AGG_FORMAT_LIN2018;
	uint8_t *frame = exact_copy((uint8_t *)o->buffer + o->offset, o->len);

	udp_read(frame, o->len, &l->u);
	assert_int_equal(l->u.hops, 64);
	if (paper) {
		struct bp_agg_lin2018 p;

		assert_int_equal(
			bp_agg_lin2018_read(l->u.payload, l->u.len, 255, &p), BP_AGG_LIN2018_OK);
		assert_int_equal(p.type, BP_AGG_LIN2018_PACKET);
		assert_int_equal(get(l->u.payload + 1, 4) | l->u.payload[5], 0);
		l->n = p.count;
		for (unsigned i = 0; i < l->n; i++)
			l->message[i] = (struct bp_agg_message){
				.offset = (uint16_t)(6 + 16 * i), .len = 16};
	} else {
		assert_int_equal(bp_agg_full_read(l->u.payload, l->u.len, l->u.family, &l->head,
					 l->message, BP_AGG_FULL_MOST),
			BP_AGG_FULL_OK);
		l->n = l->head.count;
	}
	free(frame);
}

static inline void sent(void *arg, const struct bp_agg_output *o)
{
	struct left *l;

	assert_true(n_left < LEFT_MOST);
	assert_true(o->offset + (unsigned)o->len <= room);
	l = &left[n_left++];
	l->len = o->len;
	l->port = o->port;
	l->rule = o->rule;
	l->at = o->at;
	read_left(o, l);
	free(o->buffer);
	buffers_out--;
}

/* A rule for port 0, full, N = 3, 1 ms. */
static inline struct bp_agg_rule *add_rule(const char *to, unsigned length)
{
	struct bp_agg_rule *r = &rules.aggregate[rules.n_aggregate++];
	struct bp_address address = {.family = strchr(to, ':') != NULL ? 6 : 4};

	address_of(to, address.bytes);
	*r = (struct bp_agg_rule){.max_delay_ns = 1000000,
		.max_message = 1024,
		.messages = 3,
		.to = {bp_prefix_of(address, length), 5555, 5555}};
	return r;
}

static inline void begin_with(uint32_t streams, unsigned with_room)
{
	struct bp_aggregator_options o = {.streams = streams,
		.room = (uint16_t)with_room,
		.stats = stats,
		.seed = 7,
		.hooks = {.get = take_buffer, .send = sent}};

	room = with_room;
	rows = aligned_alloc(64, streams * sizeof(*rows));
	left = malloc(LEFT_MOST * sizeof(*left));
	assert_non_null(rows);
	assert_non_null(left);
	memset(rows, 0, streams * sizeof(*rows));
	memset(stats, 0, sizeof(stats));
	n_left = 0;
	buffers_out = 0;
	buffers_most = UINT32_MAX;
	now = 5000;
	wall = 1700000000000000000;
	rules = (struct bp_agg_rules){0};
	o.rows = rows;
	a = bp_aggregator_new(&o);
	assert_non_null(a);
}

static inline void rules_are_set(void)
{
	bp_aggregator_set_rules(a, &rules, 1500, now);
}

static inline int tear_down(void **state)
{
	if (a != NULL)
		bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_int_equal(buffers_out, 0);
	bp_aggregator_free(a);
	a = NULL;
	free(rows);
	free(left);
	return 0;
}

/* A datagram from 10.0.0.s:4000s to 10.1.0.9:5555 that says "s". */
static inline struct udp from_sender(unsigned s)
{
	struct udp u = {.macs = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, (uint8_t)s},
		.family = 4,
		.hops = 60,
		.src = {10, 0, 0, (uint8_t)s},
		.dst = {10, 1, 0, 9},
		.sport = (uint16_t)(40000 + s),
		.dport = 5555,
		.len = 4,
		.payload = {'s', (uint8_t)s, 0, 1}};

	return u;
}

/* Gives a frame in a block of exactly `len` bytes. */
static inline uint8_t give_bytes(const uint8_t *frame, unsigned len, unsigned frame_len)
{
	uint8_t *copy = exact_copy(frame, len);
	struct bp_agg_input in = {.frame = copy, .len = len, .frame_len = frame_len};

	bp_aggregator_take(a, &in, 1, now, wall);
	free(copy);
	verdict = in.verdict;
	why = in.pass;
	by_rule = in.rule;
	return verdict;
}

static inline uint8_t give(const struct udp *u)
{
	uint8_t frame[FRAME_MOST];
	const unsigned len = udp_write(u, frame);

	return give_bytes(frame, len, len);
}

/* That message i of an aggregate is this datagram. */
static inline void expect_message(const struct left *l, unsigned i, const struct udp *u)
{
	assert_true(i < l->n);
	assert_memory_equal(l->u.dst, u->dst, 16);
	assert_int_equal(l->u.dport, u->dport);
	assert_int_equal(l->u.tos, u->tos);
	assert_int_equal(l->u.family, u->family);
	assert_int_equal(l->u.dont_fragment, u->family == 4 && u->dont_fragment);
	assert_int_equal(l->u.n_tags, u->n_tags);
	assert_memory_equal(l->u.tags, u->tags, 8);
	if (rules.aggregate[l->rule].format == BP_AGG_FORMAT_LIN2018) {
		assert_memory_equal(l->u.payload + l->message[i].offset, u->payload + 6, 16);
		return;
	}
	assert_memory_equal(l->message[i].from.addr, u->src, 16);
	assert_int_equal(l->message[i].from.port, u->sport);
	assert_int_equal(l->message[i].from.hops, u->hops);
	assert_int_equal(l->message[i].len, u->len);
	assert_memory_equal(l->u.payload + l->message[i].offset, u->payload, u->len);
}

static inline uint64_t flushed(unsigned rule, enum bp_agg_flush reason)
{
	return atomic_load(&stats[rule].flushed[reason]);
}

/* Checks that the counters match the output, and each other. Only without a reload. */
static inline void expect_figures_agree(void)
{
	for (unsigned r = 0; r < BP_AGG_RULES_MAX; r++) {
		uint64_t n = 0, out = 0, out_bytes = 0, why_flushed = 0, delays = 0;

		for (unsigned i = 0; i < n_left; i++) {
			if (left[i].rule != r)
				continue;
			n += left[i].n;
			out++;
			out_bytes += left[i].len;
		}
		for (unsigned i = 0; i < BP_AGG_FLUSH_COUNT; i++)
			why_flushed += stats[r].flushed[i];
		for (unsigned i = 0; i < BP_AGG_DELAYS; i++)
			delays += stats[r].delay[i];
		assert_int_equal(stats[r].messages, n + stats[r].waiting);
		assert_int_equal(stats[r].aggregates, out);
		assert_int_equal(stats[r].aggregate_bytes, out_bytes);
		assert_int_equal(why_flushed, out);
		assert_int_equal(delays, out);
	}
}

#endif
