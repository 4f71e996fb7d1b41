/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_state.h"
/* the rig's `a` would hide arguments of the others */
#include "tests/unit/services/aggregation/aggregator_rig.h"

/* Messages of many streams wait in records, without a buffer (services/aggregation/streams.h): the
 * time at which a stream gets a buffer, and the handling if there is none. That they are restored
 * unchanged, test_aggregator_multi_stream.c and test_aggregator_random.c show. */
#define BURST 64u
#define STREAMS 32u

static unsigned lost, told;

static void note_lost(void *arg, unsigned messages)
{
	lost += messages;
	told++;
}

/* Message i of stream s: 22 bytes that say which. */
static struct udp message(unsigned s, unsigned i)
{
	struct udp u = from_sender(1 + i % 50);

	u.dst[2] = (uint8_t)s;
	u.len = 22;
	u.payload[4] = (uint8_t)s;
	u.payload[5] = (uint8_t)i;
	return u;
}

static void give_expecting(const struct udp *u, unsigned n, enum bp_agg_verdict expected)
{
	static uint8_t frame[BURST][FRAME_MOST];
	struct bp_agg_input in[BURST];

	for (unsigned i = 0; i < n; i++) {
		const unsigned len = udp_write(&u[i], frame[i]);

		in[i] = (struct bp_agg_input){.frame = frame[i], .len = len, .frame_len = len};
	}
	bp_aggregator_take(a, in, n, now, wall);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(in[i].verdict, expected);
}

static void give_all(const struct udp *u, unsigned n)
{
	give_expecting(u, n, BP_AGG_TAKEN);
}

/* A message of each of the first n streams, of which each is numbered i. */
static void give_each(unsigned n, unsigned i)
{
	struct udp u[STREAMS];

	for (unsigned s = 0; s < n; s++)
		u[s] = message(s, i);
	give_all(u, n);
}

static unsigned records_used(void)
{
	return a->streams.stage.size - a->streams.stage.n;
}

/* Every record is free, or one stream's. */
static void expect_records(void)
{
	const struct bp_agg_streams *t = &a->streams;
	uint8_t *seen = calloc(t->stage.size, 1);
	unsigned n = 0;

	assert_non_null(seen);
	for (unsigned i = 0; i < t->stage.n; i++, n++)
		assert_int_equal(seen[t->stage.unused[i] / sizeof(struct bp_agg_record)]++, 0);
	for (unsigned s = 0; s < t->used; s++)
		for (unsigned i = 0; i < bp_agg_staged_count(&t->staged[s]); i++, n++)
			assert_int_equal(
				seen[t->staged[s].record[i] / sizeof(struct bp_agg_record)]++, 0);
	assert_int_equal(n, t->stage.size);
	free(seen);
}

/* Streams of N messages that were seen before, and hold nothing. */
static void begin_streams(unsigned messages)
{
	begin_with(STREAMS, 2048);
	a->hooks.lost = note_lost;
	lost = told = 0;
	add_rule("10.1.0.0", 16)->messages = (uint8_t)messages;
	rules_are_set();
	give_each(STREAMS, 0);
	now += 2000000;
	bp_aggregator_poll(a, now, wall);
	assert_true(bp_aggregator_empty(a));
	assert_int_equal(records_used(), 0);
	n_left = 0;
}

/* The output has messages `from` to `from` + n of each stream, by streams. */
static void expect_each(unsigned streams, unsigned from, unsigned n)
{
	assert_int_equal(n_left, streams);
	for (unsigned s = 0; s < streams; s++) {
		assert_int_equal(left[s].n, n);
		for (unsigned i = 0; i < n; i++) {
			const struct udp u = message(s, from + i);

			expect_message(&left[s], i, &u);
		}
	}
}

static void waits_without_buffer(void **state)
{
	begin_streams(3);
	give_each(STREAMS, 1);
	give_each(STREAMS, 2);
	assert_int_equal(records_used(), 2 * STREAMS);
	assert_int_equal(buffers_out, 0);
	assert_int_equal(n_left, 0);
	assert_int_equal(stats[0].waiting, 2 * STREAMS);
	give_each(STREAMS, 3);
	expect_each(STREAMS, 1, 3);
	assert_int_equal(records_used(), 0);
	assert_int_equal(stats[0].waiting, 0);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_FULL), STREAMS);
}

/* Each leaves when its own first message has waited. */
static void leaves_in_time(void **state)
{
	struct udp u[2];
	uint64_t first;

	begin_streams(8);
	first = now;
	u[0] = message(4, 1);
	u[1] = message(5, 1);
	give_all(u, 2);
	now += 300000;
	u[0] = message(4, 2);
	u[1] = message(6, 1);
	give_all(u, 2);
	assert_int_equal(records_used(), 4);
	assert_int_equal(bp_aggregator_next(a), first + 1000000);
	now = first + 1000000 - 1;
	bp_aggregator_poll(a, now, wall);
	assert_int_equal(n_left, 0);
	now++;
	bp_aggregator_poll(a, now, wall);
	assert_int_equal(n_left, 2);
	assert_int_equal(left[0].n, 2);
	assert_int_equal(left[1].n, 1);
	assert_int_equal(bp_aggregator_next(a), first + 1300000);
	now += 300000;
	bp_aggregator_poll(a, now, wall);
	assert_int_equal(n_left, 3);
	u[1] = message(6, 1);
	expect_message(&left[2], 0, &u[1]);
	/* 4's waited 1.0 and 0.7 ms, the others 1.0 */
	assert_int_equal(stats[0].delay_ns, STREAMS * 2000000ull + 3700000);
}

/* Waiting messages leave before a message for another MAC address, and the stream continues. */
static void another_station(void **state)
{
	struct udp u[2];

	begin_streams(8);
	u[0] = message(1, 1);
	u[1] = message(2, 1);
	give_all(u, 2);
	u[0] = message(1, 2);
	u[0].macs[5] = 9;
	u[1] = message(2, 2);
	give_all(u, 2);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_HEADER), 1);
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].u.macs[5], 1);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_int_equal(n_left, 3);
	for (unsigned i = 1; i < 3; i++)
		if (left[i].u.dst[2] == 1)
			assert_int_equal(left[i].u.macs[5], 9);
	/* and when nothing waits, it is staged for the other one at once */
	give_all(u, 2);
	assert_int_equal(records_used(), 2);
}

/* Neither is longer than a record, nor is a frame whose message is. */
static void long_ones_have_buffers(void **state)
{
	struct udp u[2];

	begin_streams(8);
	u[0] = message(1, 1);
	u[1] = message(2, 1);
	u[1].len = BP_AGG_STAGE_PAYLOAD;
	give_all(u, 2);
	assert_int_equal(records_used(), 2);
	u[0] = message(3, 1);
	u[1] = message(2, 2);
	u[1].len = BP_AGG_STAGE_PAYLOAD + 1;
	give_all(u, 2);
	assert_int_equal(records_used(), 2); /* of 1 and 3 */
	assert_int_equal(buffers_out, 1);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_int_equal(n_left, 3);
	for (unsigned i = 0; i < 3; i++)
		if (left[i].u.dst[2] == 2) {
			assert_int_equal(left[i].n, 2);
			expect_message(&left[i], 1, &u[1]);
		}
}

/* Streams that one burst completes leave in that order, also those whose messages have little in
 * common: other lengths, hops to go, bytes that fill their frames. */
static void mixed_packets_keep_their_order(void **state)
{
	struct udp u[3][STREAMS];

	begin_streams(3);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned s = 0; s < STREAMS; s++) {
			u[i][s] = message(s, 1 + i);
			if (s % 5 == 3)
				u[i][s].len = (uint16_t)(19 + i);
			if (s % 7 == 4)
				u[i][s].hops = (uint8_t)(60 + i);
		}
		give_all(u[i], STREAMS);
	}
	assert_int_equal(n_left, STREAMS);
	for (unsigned s = 0; s < STREAMS; s++)
		for (unsigned i = 0; i < 3; i++)
			expect_message(&left[s], i, &u[i][s]);
	assert_int_equal(records_used(), 0);
	assert_int_equal(buffers_out, 0);
}

/* If there is no buffer when they are due, they are lost and counted; others are not lost, and the
 * streams continue. */
static void lost_without_buffer(void **state)
{
	begin_streams(3);
	give_each(STREAMS, 1);
	give_each(STREAMS, 2);
	buffers_most = 0;
	give_each(7, 3);
	assert_int_equal(told, 7);
	assert_int_equal(lost, 21);
	assert_int_equal(records_used(), 2 * (STREAMS - 7));
	assert_int_equal(stats[0].waiting, 2 * (STREAMS - 7));
	buffers_most = UINT32_MAX;
	now += 1000000;
	bp_aggregator_poll(a, now, wall);
	assert_int_equal(n_left, STREAMS - 7);
	assert_int_equal(lost, 21);
	assert_int_equal(records_used(), 0);
	assert_true(bp_aggregator_empty(a));
	assert_int_equal(stats[0].waiting, 0);
	n_left = 0;
	for (unsigned i = 4; i < 7; i++)
		give_each(STREAMS, i);
	expect_each(STREAMS, 4, 3);
}

/* Sent aggregates that keep their buffers, as frames in a port's TX ring. */
static void *kept[BURST];
static unsigned n_kept;

static void keep(void *arg, const struct bp_agg_output *o)
{
	struct bp_agg_output copy = *o;

	assert_true(n_kept < BURST);
	copy.buffer = malloc(room);
	assert_non_null(copy.buffer);
	memcpy(copy.buffer, o->buffer, room);
	sent(arg, &copy);
	buffers_out++;
	kept[n_kept++] = o->buffer;
}

static void free_kept(void)
{
	buffers_out -= n_kept;
	while (n_kept != 0)
		free(kept[--n_kept]);
}

/* Where there are buffers for some, these leave. */
static void some_buffers(void **state)
{
	const unsigned most[] = {1, 5, 8, 9, 12};

	for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		begin_streams(3);
		give_each(STREAMS, 1);
		give_each(STREAMS, 2);
		a->hooks.send = keep;
		buffers_most = most[i];
		give_each(13, 3);
		assert_int_equal(n_left, most[i]);
		assert_int_equal(told, 13 - most[i]);
		assert_int_equal(lost, 3 * (13 - most[i]));
		for (unsigned s = 0; s < most[i]; s++)
			assert_int_equal(left[s].u.dst[2], s);
		expect_records();
		assert_int_equal(records_used(), 2 * (STREAMS - 13));
		free_kept();
		a->hooks.send = sent;
		buffers_most = UINT32_MAX;
		tear_down(state);
	}
	begin_streams(3);
}

/* One buffer is enough where it is free again when it was sent. */
static void one_buffer(void **state)
{
	begin_streams(3);
	give_each(STREAMS, 1);
	give_each(STREAMS, 2);
	buffers_most = 1;
	give_each(STREAMS, 3);
	assert_int_equal(lost, 0);
	expect_each(STREAMS, 1, 3);
}

/* Frames for no one among the messages of a burst have no record. */
static void others_between(void **state)
{
	static uint8_t frame[BURST][FRAME_MOST];
	struct bp_agg_input in[BURST];

	begin_streams(8);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < BURST; i++) {
			struct udp u = message(i % STREAMS, round);
			unsigned len;

			if (i % 5 == round % 5)
				u.dport = 7;
			len = udp_write(&u, frame[i]);
			if (i % 7 == round % 7)
				put(frame[i] + 12, 2, 0x0806);
			in[i] = (struct bp_agg_input){
				.frame = frame[i], .len = len, .frame_len = len};
		}
		bp_aggregator_take(a, in, BURST, now, wall);
		for (unsigned i = 0; i < BURST; i++)
			assert_int_equal(in[i].verdict, i % 5 == round % 5 || i % 7 == round % 7
								? BP_AGG_OTHER
								: BP_AGG_TAKEN);
		expect_records();
	}
	assert_int_not_equal(records_used(), 0);
}

/* After a loss messages bypass, until there is a buffer again. */
static void passes_without_buffer(void **state)
{
	struct udp u[STREAMS];

	begin_streams(3);
	buffers_most = 0;
	for (unsigned i = 1; i < 4; i++)
		give_each(STREAMS, i);
	assert_int_equal(lost, 3 * STREAMS);
	for (unsigned s = 0; s < STREAMS; s++)
		u[s] = message(s, 4);
	give_expecting(u, STREAMS, BP_AGG_PASS);
	assert_int_equal(lost, 3 * STREAMS);
	assert_int_equal(stats[0].passed, STREAMS);
	assert_int_equal(stats[0].waiting, 0);
	assert_true(bp_aggregator_empty(a));
	buffers_most = UINT32_MAX;
	for (unsigned i = 5; i < 8; i++)
		give_each(STREAMS, i);
	expect_each(STREAMS, 5, 3);
	give_each(STREAMS, 8);
	assert_int_equal(records_used(), STREAMS);
	assert_int_equal(buffers_out, 0);
}

/* No message waits endlessly for a buffer. */
static void flush_without_buffer(void **state)
{
	begin_streams(8);
	give_each(STREAMS, 1);
	buffers_most = 0;
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_true(bp_aggregator_empty(a));
	assert_int_equal(lost, STREAMS);
	assert_int_equal(records_used(), 0);
	assert_int_equal(stats[0].waiting, 0);
	assert_int_equal(n_left, 0);
}

/* A stream that gives way to another one sends what waits. */
static void evicted_stream_is_flushed(void **state)
{
	struct udp u;

	begin_streams(8);
	give_each(STREAMS, 1);
	u = message(STREAMS, 1);
	give(&u);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_EVICTED), 1);
	assert_int_equal(n_left, 1);
	u = message(0, 1);
	expect_message(&left[0], 0, &u);
}

/* A stream that was one of many and comes alone now is taken the way of one, behind what waits. */
static void one_stage_of_several(void **state)
{
	struct udp u[BURST];

	begin_streams(8);
	give_each(STREAMS, 1);
	for (unsigned i = 0; i < BURST; i++)
		u[i] = message(3, 2 + i);
	give_all(u, 7);
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].n, 8);
	for (unsigned i = 0; i < 8; i++) {
		u[0] = message(3, 1 + i);
		expect_message(&left[0], i, &u[0]);
	}
	for (unsigned i = 0; i < BURST; i++)
		u[i] = message(3, 9 + i);
	give_all(u, BURST);
	give_all(u, BURST);
	assert_int_equal(n_left, 17);
	assert_true(a->matched != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(waits_without_buffer, tear_down),
		cmocka_unit_test_teardown(leaves_in_time, tear_down),
		cmocka_unit_test_teardown(another_station, tear_down),
		cmocka_unit_test_teardown(long_ones_have_buffers, tear_down),
		cmocka_unit_test_teardown(mixed_packets_keep_their_order, tear_down),
		cmocka_unit_test_teardown(lost_without_buffer, tear_down),
		cmocka_unit_test_teardown(some_buffers, tear_down),
		cmocka_unit_test_teardown(one_buffer, tear_down),
		cmocka_unit_test_teardown(others_between, tear_down),
		cmocka_unit_test_teardown(passes_without_buffer, tear_down),
		cmocka_unit_test_teardown(flush_without_buffer, tear_down),
		cmocka_unit_test_teardown(evicted_stream_is_flushed, tear_down),
		cmocka_unit_test_teardown(one_stage_of_several, tear_down),
	};

	return cmocka_run_group_tests_name("aggregator_stage", tests, NULL, NULL);
}
