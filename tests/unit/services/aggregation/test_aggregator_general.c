/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of several streams and of one, with the general path as the oracle: the output of any
 * burst is the same, byte by byte, as long as there are buffers. Frames have faults at any
 * position, and are in heap blocks of exactly their length.
 */
#include "services/aggregation/aggregator_state.h"
#include "tests/unit/services/aggregation/udp_frame.h"
#include "tests/unit/times.h"

#define BURST 64u
#define STREAMS 48u
#define ROOM 2048u
#define LOG (1u << 20)

/* One of two aggregators that get the same, and what left it: of each frame its length, port, rule
 * and bytes. */
struct end {
	struct bp_aggregator *a;
	struct bp_agg_stats stats[BP_AGG_RULES_MAX];
	struct bp_agg_stream_row *rows;
	uint8_t log[LOG];
	size_t n;
	unsigned frames, buffers;
};

static struct end fast, general;
static uint64_t seed, now;

static unsigned of(unsigned n)
{
	return (unsigned)(next_random(&seed) % n);
}

static uint8_t *take_buffer(void *arg, void **buffer)
{
	struct end *e = arg;

	e->buffers++;
	*buffer = malloc(ROOM);
	assert_non_null(*buffer);
	memset(*buffer, 0xa5, ROOM);
	return *buffer;
}

static void sent(void *arg, const struct bp_agg_output *o)
{
	struct end *e = arg;
	struct udp u;

	assert_true(o->offset + (unsigned)o->len <= ROOM);
	assert_true(e->n + 4 + o->len <= LOG);
	udp_read((uint8_t *)o->buffer + o->offset, o->len, &u);
	put(e->log + e->n, 2, o->len);
	e->log[e->n + 2] = o->port;
	e->log[e->n + 3] = o->rule;
	memcpy(e->log + e->n + 4, (uint8_t *)o->buffer + o->offset, o->len);
	e->n += 4u + o->len;
	e->frames++;
	e->buffers--;
	free(o->buffer);
}

static void begin(struct end *e, const struct bp_agg_rules *rules)
{
	struct bp_aggregator_options o = {.streams = STREAMS,
		.room = ROOM,
		.stats = e->stats,
		.seed = 11,
		.hooks = {.get = take_buffer, .send = sent, .arg = e}};

	memset(e->stats, 0, sizeof(e->stats));
	e->rows = aligned_alloc(64, STREAMS * sizeof(*e->rows));
	assert_non_null(e->rows);
	memset(e->rows, 0, STREAMS * sizeof(*e->rows));
	o.rows = e->rows;
	e->n = 0;
	e->frames = e->buffers = 0;
	e->a = bp_aggregator_new(&o);
	assert_non_null(e->a);
	bp_aggregator_set_rules(e->a, rules, 1500, now);
}

static void end(struct end *e)
{
	bp_aggregator_flush(e->a, BP_AGG_FLUSH_STOP, now, now);
	assert_int_equal(e->buffers, 0);
	bp_aggregator_free(e->a);
	free(e->rows);
}

static struct udp message(unsigned streams, unsigned len)
{
	struct udp u = {.macs = {2, 0, 0, 0, 0, 9, 2}, .family = 4, .hops = 64, .dport = 5555};

	put(u.macs + 7, 5, next_random(&seed));
	put(u.src, 4, 0x0a000000 + of(300));
	put(u.dst, 4, 0x0a010000 + of(streams));
	u.sport = (uint16_t)(1 + of(65535));
	u.id = (uint16_t)next_random(&seed);
	u.dont_fragment = true;
	u.len = (uint16_t)len;
	for (unsigned i = 0; i < len; i++)
		u.payload[i] = (uint8_t)(of(4) == 0 ? 0xff : next_random(&seed));
	return u;
}

/* Makes a datagram another than the others. */
static void differ(struct udp *u)
{
	const unsigned what = of(12);

	switch (what) {
	case 9:
		u->hops = (uint8_t)of(3);
		break;
	case 10:
		u->len = (uint16_t)(1 + of(60));
		break;
	case 11:
		u->macs[6 + of(6)] ^= 4;
		break;
	default:
		udp_differ(u, what, (unsigned)next_random(&seed));
		break;
	}
}

/* Inserts faults into the frame. The heap block of the frame may change. */
static uint8_t *damage(uint8_t *frame, struct bp_agg_input *in)
{
	uint8_t *shorter;

	switch (of(6)) {
	case 0:
		in->frame_len += 1 + of(3);
		break;
	case 1:
		in->len -= of(in->len);
		shorter = exact_copy(frame, in->len);
		free(frame);
		in->frame = shorter;
		return shorter;
	case 2:
		in->mac ^= 1;
		break;
	case 3:
		in->routed = !in->routed;
		break;
	default:
		frame[of(in->len)] ^= (uint8_t)(1 << of(8));
		break;
	}
	return frame;
}

/* The differences within a burst. */
enum odd { ONE_TEMPLATE, SOME_DIFFER, SOME_DAMAGED };

static void give(unsigned n, unsigned streams, unsigned len, unsigned pad, enum odd odd)
{
	struct bp_agg_input in[BURST], same[BURST];
	uint8_t *frame[BURST];
	static uint8_t whole[FRAME_MOST];

	for (unsigned i = 0; i < n; i++) {
		struct udp u = message(streams, len);
		unsigned bytes;

		if (odd == SOME_DIFFER && of(20) == 0)
			differ(&u);
		bytes = udp_write(&u, whole);
		memset(whole + bytes, 0xee, pad);
		frame[i] = exact_copy(whole, bytes + pad);
		in[i] = (struct bp_agg_input){
			.frame = frame[i], .len = bytes + pad, .frame_len = bytes + pad};
		if (odd == SOME_DAMAGED && of(20) == 0)
			frame[i] = damage(frame[i], &in[i]);
		same[i] = in[i];
	}
	bp_aggregator_take(fast.a, in, n, now, now);
	bp_aggregator_take(general.a, same, n, now, now);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(in[i].verdict, same[i].verdict);
		if (in[i].verdict == BP_AGG_PASS || in[i].verdict == BP_AGG_AMBIGUOUS_PAYLOAD)
			assert_int_equal(in[i].pass, same[i].pass);
		if (in[i].verdict != BP_AGG_OTHER)
			assert_int_equal(in[i].rule, same[i].rule);
		free(frame[i]);
	}
}

static void expect_same(void)
{
	assert_int_equal(general.a->matched, 0);
	assert_int_equal(general.a->matched_streams, 0);
	assert_int_equal(fast.n, general.n);
	assert_memory_equal(fast.log, general.log, general.n);
	assert_memory_equal(fast.stats, general.stats, sizeof(general.stats));
	assert_memory_equal(fast.rows, general.rows, STREAMS * sizeof(*general.rows));
	fast.n = general.n = 0;
}

static struct bp_agg_rules random_rules(void)
{
	struct bp_agg_rules rules = {.n_aggregate = 1 + of(2)};

	for (unsigned i = 0; i < rules.n_aggregate; i++) {
		struct bp_address to = {.family = 4, .bytes = {10, 1, 0, (uint8_t)(16 * i)}};
		struct bp_address from = {.family = 4, .bytes = {10}};

		rules.aggregate[i] = (struct bp_agg_rule){.max_delay_ns = 1000000,
			.max_message = (uint16_t)(of(4) == 0 ? 20 : 1024),
			.messages = (uint8_t)(2 + of(7)),
			.to = {bp_prefix_of(to, rules.n_aggregate == 1 ? 16 : 28), 5555, 5555}};
		if (of(2) == 0) {
			rules.aggregate[i].n_senders = 1;
			rules.aggregate[i].senders[0] = bp_prefix_of(from, 16 + of(10));
		}
	}
	return rules;
}

/* Bursts of one kind: the burst size and the number of servers. */
static void session(enum odd odd)
{
	const unsigned streams = 1 + of(40), len = 1 + of(40), pad = of(3) == 0 ? of(20) : 0;
	const struct bp_agg_rules rules = random_rules();

	begin(&fast, &rules);
	begin(&general, &rules);
	general.a->general = true;
	for (unsigned i = 0; i < 60; i++) {
		give(of(4) == 0 ? 1 + of(BURST) : BURST, streams, len, pad, odd);
		now += of(200000);
		bp_aggregator_poll(fast.a, now, now);
		bp_aggregator_poll(general.a, now, now);
		expect_same();
	}
	end(&fast);
	end(&general);
}

static void sessions(enum odd odd)
{
	seed = 0x9e3779b97f4a7c15 + odd;
	now = 5000;
	for (unsigned i = 0; i < TEST_TIMES(240); i++)
		session(odd);
}

static void one_template(void **state)
{
	sessions(ONE_TEMPLATE);
}

static void some_differ(void **state)
{
	sessions(SOME_DIFFER);
}

static void some_damaged(void **state)
{
	sessions(SOME_DAMAGED);
}

/* Verifies that the comparison above used different paths. */
static void templates_are_matched(void **state)
{
	static const struct bp_agg_rules rules = {.n_aggregate = 1,
		.aggregate = {{.max_delay_ns = 1000000,
			.max_message = 1024,
			.messages = 8,
			.to = {{.family = 4, .bytes = {10, 1}, .length = 16}, 5555, 5555}}}};

	seed = 3;
	now = 5000;
	begin(&fast, &rules);
	begin(&general, &rules);
	general.a->general = true;
	give(BURST, 40, 22, 0, ONE_TEMPLATE);
	for (unsigned len = 7; len <= BP_AGG_STAGE_PAYLOAD; len++) {
		uint64_t before;

		give(BURST, 40, len, 0, ONE_TEMPLATE); /* the length is another */
		before = fast.a->matched_streams;
		give(BURST - len, 40, len, 0, ONE_TEMPLATE);
		assert_int_equal(fast.a->matched_streams - before, (BURST - len) / 4 * 4);
	}
	expect_same();
	end(&fast);
	end(&general);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_template),
		cmocka_unit_test(some_differ),
		cmocka_unit_test(some_damaged),
		cmocka_unit_test(templates_are_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
