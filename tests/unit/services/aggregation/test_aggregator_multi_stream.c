/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_state.h"
/* the rig's `a` would hide arguments of the others */
#include "tests/unit/services/aggregation/aggregator_rig.h"
#include "tests/unit/times.h"

/*
 * Bursts of many streams: each stream's messages come out once, in order and as they were, whatever
 * comes between them; and of four that are evaluated together none is evaluated by the others.
 */
#define BURST 64u
#define STREAMS 320u
#define WAITING 80u /* of one stream: a burst, and what waited before */

static struct udp *waiting[STREAMS][WAITING]; /* taken and not left, by the order of taking */
static unsigned n_waiting[STREAMS];
static uint64_t bytes_taken;
static uint64_t seed;

static unsigned of(unsigned n)
{
	return (unsigned)(next_random(&seed) % n);
}

static unsigned stream_of(const struct udp *u)
{
	return u->dst[2] * 16u + u->dst[3];
}

/* All messages of a stream are contiguous, so that they are sent one after the other. */
static struct udp to_stream(unsigned stream)
{
	struct udp u = from_sender(1 + of(100));

	u.dst[2] = (uint8_t)(stream / 16);
	u.dst[3] = (uint8_t)(stream % 16);
	u.len = 22;
	for (unsigned i = 0; i < u.len; i++)
		u.payload[i] = (uint8_t)next_random(&seed);
	u.payload[0] = 0xfa;
	return u;
}

static void begin_many(uint32_t streams)
{
	begin_with(streams, 2048);
	memset(n_waiting, 0, sizeof(n_waiting));
	bytes_taken = 0;
	seed = 0x9e3779b97f4a7c15;
}

static void note_taken(const struct udp *u)
{
	const unsigned s = stream_of(u);
	struct udp *copy = malloc(sizeof(*copy));

	assert_non_null(copy);
	*copy = *u;
	assert_true(n_waiting[s] < WAITING);
	waiting[s][n_waiting[s]++] = copy;
}

/* The output since `from` contains the first waiting messages of its stream. */
static void expect_left(unsigned from)
{
	for (; from < n_left; from++) {
		const struct left *l = &left[from];
		const unsigned s = stream_of(&l->u);

		assert_true(l->n <= n_waiting[s]);
		for (unsigned i = 0; i < l->n; i++) {
			expect_message(l, i, waiting[s][i]);
			free(waiting[s][i]);
		}
		n_waiting[s] -= l->n;
		memmove(waiting[s], waiting[s] + l->n, n_waiting[s] * sizeof(struct udp *));
	}
}

/* Gives datagrams in one burst, each in a block of its own length. `expected`: NULL, all are taken;
 * or their verdicts. */
static void give_burst(const struct udp *u, unsigned n, const uint8_t *expected, unsigned padding)
{
	struct bp_agg_input in[BURST];
	uint8_t frame[FRAME_MOST + 64], *copy[BURST];
	const unsigned before = n_left;

	for (unsigned i = 0; i < n; i++) {
		const unsigned len = udp_write(&u[i], frame) + padding;

		copy[i] = exact_copy(frame, len);
		in[i] = (struct bp_agg_input){.frame = copy[i], .len = len, .frame_len = len};
	}
	bp_aggregator_take(a, in, n, now, wall);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(in[i].verdict, expected != NULL ? expected[i] : BP_AGG_TAKEN);
		if (in[i].verdict == BP_AGG_TAKEN) {
			note_taken(&u[i]);
			bytes_taken += in[i].len;
		}
		free(copy[i]);
	}
	expect_left(before);
	/* the test's own room */
	if (n_left > LEFT_MOST / 2)
		n_left = 0;
	now += 700;
}

/* Everything leaves; figures of the rows, if there are any, agree with what was taken. */
static void end_many(uint32_t rows_held)
{
	const unsigned before = n_left;
	uint64_t bytes = 0;

	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	expect_left(before);
	for (unsigned s = 0; s < STREAMS; s++)
		assert_int_equal(n_waiting[s], 0);
	assert_true(bp_aggregator_empty(a));
	for (unsigned r = 0; r < rules.n_aggregate; r++)
		assert_int_equal(stats[r].waiting, 0);
	if (stats[0].evicted != 0 || rows_held == 0)
		return;
	for (uint32_t i = 0; i < rows_held; i++)
		bytes += rows[i].message_bytes;
	assert_int_equal(bytes, bytes_taken);
}

/* ---- many streams ---- */

static void many(unsigned streams, unsigned bound, enum bp_agg_format format, bool mixed)
{
	static struct udp u[BURST];

	begin_many(bound);
	add_rule("10.1.0.0", 16)->messages = 8;
	rules.aggregate[0].format = (uint8_t)format;
	rules_are_set();
	for (unsigned burst = 0; burst < TEST_TIMES(400); burst++) {
		for (unsigned i = 0; i < BURST; i++) {
			u[i] = to_stream(of(streams));
			if (!mixed || format == BP_AGG_FORMAT_LIN2018)
				continue;
			u[i].len = of(4) == 0 ? (uint16_t)of(300) : 22;
			u[i].hops = (uint8_t)(60 + (of(8) == 0));
			u[i].no_checksum = of(20) == 0;
			u[i].macs[5] = of(30) == 0;
		}
		give_burst(u, BURST, NULL, mixed ? of(3) * 9 : 0);
	}
	if (!mixed)
		assert_true(a->matched_streams > TEST_TIMES(400) * BURST / 2);
	assert_int_equal(stats[0].evicted != 0, streams > bound);
	assert_true(flushed(0, BP_AGG_FLUSH_FULL) != 0 || streams > bound);
	end_many(bound);
	tear_down(NULL);
}

static void full_aggregates_of_several_streams(void **state)
{
	many(2, STREAMS, BP_AGG_FORMAT_FULL, false);
	many(STREAMS, STREAMS, BP_AGG_FORMAT_FULL, false);
	many(STREAMS, STREAMS, BP_AGG_FORMAT_FULL, true);
	many(7, STREAMS, BP_AGG_FORMAT_FULL, true);
}

static void lin2018_multi_stream(void **state)
{
	many(2, STREAMS, BP_AGG_FORMAT_LIN2018, false);
	many(STREAMS, STREAMS, BP_AGG_FORMAT_LIN2018, true);
}

/* The single-stream path adds up to 64 bits to the checksum of an aggregate; the multi-stream path
 * continues with it, and no carry may be lost. */
static void sums_of_both_paths(void **state)
{
	static struct udp u[BURST];

	begin_many(STREAMS);
	add_rule("10.1.0.0", 16)->messages = 100;
	rules_are_set();
	/* no two in a row are as long, or they would be evaluated together */
	for (unsigned i = 0; i < 8; i++) {
		u[0] = to_stream(1);
		u[0].len = i % 2 != 0 ? 24 : 16;
		memset(u[0].payload, i != 0 ? 255 : 0, u[0].len);
		for (unsigned at = 0; at < u[0].len; at += 8)
			u[0].payload[at] = 0x10; /* a word not far from 2^64 */
		give_burst(u, 1, NULL, 0);
	}
	for (unsigned burst = 0; burst < 8; burst++) {
		for (unsigned i = 0; i < 8; i++) {
			u[i] = to_stream(2 - i % 2);
			u[i].len = 24;
		}
		give_burst(u, 8, NULL, 0);
	}
	end_many(0);
	tear_down(NULL);
}

/* Streams that begin give away those that are just being filled, within one burst, too. */
static void more_entries_than_capacity(void **state)
{
	many(STREAMS, 40, BP_AGG_FORMAT_FULL, false);
	many(STREAMS, 40, BP_AGG_FORMAT_FULL, true);
	many(9, 3, BP_AGG_FORMAT_FULL, false);
	many(STREAMS, 5, BP_AGG_FORMAT_LIN2018, false);
}

/* Without buffers no aggregate can be started: messages that fit in no open one bypass, and all
 * others are aggregated.
 */
static void without_buffers(void **state)
{
	static struct udp u[BURST];
	uint8_t expected[BURST];

	begin_many(STREAMS);
	add_rule("10.1.0.0", 16)->messages = 8;
	rules_are_set();
	buffers_most = 10;
	for (unsigned i = 0; i < BURST; i++) {
		u[i] = to_stream(i % 16);
		u[i].payload[0] = 0x11;
		expected[i] = i % 16 < 10 ? BP_AGG_TAKEN : BP_AGG_PASS;
	}
	give_burst(u, BURST, expected, 0);
	assert_int_equal(stats[0].passed, BURST / 16 * 6);
	end_many(STREAMS);
	tear_down(NULL);
}

/* ---- what is not like the others ---- */

static void nothing(struct udp *u)
{
}

static void other_port(struct udp *u)
{
	u->dport = 5556;
}

static void other_net(struct udp *u)
{
	u->dst[1] = 2;
}

static void to_a_group(struct udp *u)
{
	u->macs[0] |= 1;
}

static void no_hops(struct udp *u)
{
	u->hops = 0;
}

static void no_port(struct udp *u)
{
	u->sport = 0;
}

static void from_loopback(struct udp *u)
{
	u->src[0] = 127;
}

static void from_elsewhere(struct udp *u)
{
	u->src[1] = 77;
}

static void too_long(struct udp *u)
{
	u->len = 1100;
}

static void like_an_aggregate(struct udp *u)
{
	u->payload[0] = 0xfd;
	u->payload[1] = 0xa6;
}

static void other_service(struct udp *u)
{
	u->tos = 0xb8;
}

static void may_be_fragmented(struct udp *u)
{
	u->dont_fragment = true;
}

static const struct {
	void (*make)(struct udp *u);
	uint8_t verdict;
} others[] = {
	{nothing, BP_AGG_TAKEN},
	{other_port, BP_AGG_OTHER},
	{other_net, BP_AGG_OTHER},
	{to_a_group, BP_AGG_OTHER},
	{no_hops, BP_AGG_PASS},
	{no_port, BP_AGG_PASS},
	{from_loopback, BP_AGG_PASS},
	{from_elsewhere, BP_AGG_PASS},
	{too_long, BP_AGG_PASS},
	{like_an_aggregate, BP_AGG_TAKEN},
};
#define OTHERS (sizeof(others) / sizeof(others[0]))

static void set_up_others(void)
{
	const struct bp_address from = {.family = 4, .bytes = {10, 0, 0, 0}};

	begin_many(STREAMS);
	add_rule("10.1.0.0", 16)->messages = 8;
	rules.aggregate[0].n_senders = 1;
	rules.aggregate[0].senders[0] = bp_prefix_of(from, 24);
	rules_are_set();
}

/* One of a burst is another, in each place of four; the others are taken, and it is evaluated as if
 * it came alone. */
static void one_is_another(void **state)
{
	static struct udp u[8];
	uint8_t expected[8];

	set_up_others();
	for (unsigned what = 0; what < OTHERS; what++) {
		for (unsigned at = 0; at < 8; at++) {
			for (unsigned i = 0; i < 8; i++) {
				u[i] = to_stream(i * 3 + what);
				expected[i] = BP_AGG_TAKEN;
			}
			others[what].make(&u[at]);
			expected[at] = others[what].verdict;
			give_burst(u, 8, expected, 0);
		}
	}
	assert_true(a->matched_streams > OTHERS * 16);
	end_many(STREAMS);
	tear_down(NULL);
}

/* Random damage of one bit anywhere in the headers and payload of one of four never gets into an
 * aggregate: either a checksum detects it, or it belongs to another stream, or is no valid datagram
 * any more. */
static void damage_is_found(void **state)
{
	uint64_t taken = 0;

	set_up_others();
	for (unsigned round = 0; round < TEST_TIMES(4000); round++) {
		struct bp_agg_input in[8];
		uint8_t frame[8][FRAME_MOST];
		const unsigned at = of(8), before = n_left;
		unsigned bit = 0;

		for (unsigned i = 0; i < 8; i++) {
			const struct udp u = to_stream(i * 3);
			const unsigned len = udp_write(&u, frame[i]);

			in[i] = (struct bp_agg_input){
				.frame = frame[i], .len = len, .frame_len = len};
			if (i != at)
				note_taken(&u);
			else
				bit = 14 * 8 + of((len - 14) * 8);
		}
		/* a checksum could become 0, which says that there is none */
		if (bit / 16 == 20)
			bit -= 16;
		frame[at][bit / 8] ^= (uint8_t)(1 << bit % 8);
		bp_aggregator_take(a, in, 8, now, wall);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(in[i].verdict == BP_AGG_TAKEN, i != at);
		expect_left(before);
		if (n_left > LEFT_MOST / 2)
			n_left = 0;
		taken += 7;
	}
	assert_int_equal(stats[0].messages, taken);
	end_many(0);
	tear_down(NULL);
}

/* Other TOS or Don't Fragment make another stream of one destination. */
static void services_are_streams(void **state)
{
	static struct udp u[8];

	begin_many(STREAMS);
	add_rule("10.1.0.0", 16)->messages = 4;
	rules_are_set();
	for (unsigned burst = 0; burst < 4; burst++) {
		for (unsigned i = 0; i < 8; i++) {
			u[i] = to_stream(5);
			if (i & 1)
				other_service(&u[i]);
			if (i & 2)
				may_be_fragmented(&u[i]);
		}
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(give(&u[i]), BP_AGG_TAKEN);
	}
	assert_int_equal(stats[0].begun, 4);
	assert_int_equal(n_left, 8);
	for (unsigned i = 0; i < n_left; i++)
		assert_int_equal(left[i].n, 4);
	tear_down(NULL);
}

/* Nested rules of one port: the first match in the file wins. */
static void first_matching_rule_applies(void **state)
{
	struct bp_agg_input in[BURST];
	static uint8_t frame[BURST][FRAME_MOST];

	begin_many(STREAMS);
	add_rule("10.1.3.0", 24)->to.udp_last = 5600;
	add_rule("10.1.0.0", 16)->to.udp_first = 5000;
	rules_are_set();
	for (unsigned burst = 0; burst < 20; burst++) {
		unsigned expected[BURST];

		for (unsigned i = 0; i < BURST; i++) {
			struct udp u = to_stream(of(16 * 6));
			unsigned len;

			u.dport = (uint16_t)(5540 + of(30));
			expected[i] = u.dst[2] == 3 && u.dport >= 5555 ? 0
				      : u.dport <= 5555                ? 1
								       : BP_AGG_NO_RULE;
			len = udp_write(&u, frame[i]);
			in[i] = (struct bp_agg_input){
				.frame = frame[i], .len = len, .frame_len = len};
		}
		bp_aggregator_take(a, in, BURST, now, wall);
		for (unsigned i = 0; i < BURST; i++) {
			assert_int_equal(in[i].verdict,
				expected[i] == BP_AGG_NO_RULE ? BP_AGG_OTHER : BP_AGG_TAKEN);
			if (expected[i] != BP_AGG_NO_RULE)
				assert_int_equal(in[i].rule, expected[i]);
		}
		assert_true(n_left < LEFT_MOST - 2 * BURST);
	}
	expect_figures_agree();
	tear_down(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_aggregates_of_several_streams),
		cmocka_unit_test(lin2018_multi_stream),
		cmocka_unit_test(more_entries_than_capacity),
		cmocka_unit_test(without_buffers),
		cmocka_unit_test(one_is_another),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(services_are_streams),
		cmocka_unit_test(first_matching_rule_applies),
		cmocka_unit_test(sums_of_both_paths),
	};

	return cmocka_run_group_tests_name("aggregator_multi_stream", tests, NULL, NULL);
}
