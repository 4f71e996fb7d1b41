/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/aggregator_rig.h"

/* Flush reasons, and the content of aggregates. */

static int set_up(void **state)
{
	begin_with(16, 2048);
	add_rule("10.1.0.0", 24);
	add_rule("fd00:1:0:0:0:0:0:0", 64);
	rules_are_set();
	return 0;
}

static void full_aggregate_is_flushed(void **state)
{
	const struct udp u[3] = {from_sender(1), from_sender(2), from_sender(3)};

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(n_left, 0);
		assert_int_equal(stats[0].waiting, i);
		assert_int_equal(give(&u[i]), BP_AGG_TAKEN);
		assert_int_equal(by_rule, 0);
		now += 1000;
	}
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].n, 3);
	for (unsigned i = 0; i < 3; i++)
		expect_message(&left[0], i, &u[i]);
	/* the first message's Ethernet header and sender */
	assert_memory_equal(left[0].u.macs, u[0].macs, 12);
	assert_memory_equal(left[0].u.src, u[0].src, 4);
	assert_int_equal(left[0].u.sport, u[0].sport);
	assert_int_equal(left[0].port, 0);
	assert_int_equal(left[0].rule, 0);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_FULL), 1);
	/* waited 2, 1 and 0 us; the oldest 2 */
	assert_int_equal(stats[0].delay_ns, 3000);
	assert_int_equal(stats[0].delay[bp_agg_delay_bucket(2000)], 1);
	assert_int_equal(stats[0].message_bytes, 3 * 46);
	assert_int_equal(stats[0].streams, 1);
	assert_int_equal(stats[0].begun, 1);
	assert_int_equal(rows[0].messages, 3);
	assert_int_equal(rows[0].aggregates, 1);
	assert_int_equal(rows[0].message_bytes, 3 * 46);
	assert_int_equal(rows[0].aggregate_bytes, left[0].len);
	assert_int_equal(rows[0].last_ns, wall);
	assert_int_equal(rows[0].life, 1);
	assert_memory_equal(rows[0].address, u[0].dst, 16);
	assert_int_equal(rows[0].udp, 5555);
	assert_int_equal(rows[0].stream, left[0].head.stream);
	assert_int_equal(rows[0].family, 4);
	expect_figures_agree();
}

static void max_delay_flush(void **state)
{
	const struct udp u[2] = {from_sender(1), from_sender(2)};

	assert_int_equal(bp_aggregator_next(a), UINT64_MAX);
	assert_int_equal(give(&u[0]), BP_AGG_TAKEN);
	assert_int_equal(bp_aggregator_next(a), now + 1000000);
	now += 600000;
	assert_int_equal(give(&u[1]), BP_AGG_TAKEN);
	assert_int_equal(bp_aggregator_next(a), now + 400000);
	bp_aggregator_poll(a, now + 399999, wall);
	assert_int_equal(n_left, 0);
	bp_aggregator_poll(a, now + 400000, wall);
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].n, 2);
	expect_message(&left[0], 1, &u[1]);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_TIME), 1);
	assert_int_equal(stats[0].delay_ns, 1400000);
	assert_int_equal(stats[0].delay[bp_agg_delay_bucket(1000000)], 1);
	assert_int_equal(bp_aggregator_next(a), UINT64_MAX);
	/* polled too late: the next message does not join that aggregate */
	now += 400000;
	give(&u[0]);
	now += 1000000;
	give(&u[1]);
	assert_int_equal(n_left, 2);
	assert_int_equal(left[1].n, 1);
	assert_int_equal(bp_aggregator_next(a), now + 1000000);
	expect_figures_agree();
}

static void delays_of_each_rule(void **state)
{
	struct udp u = from_sender(1);

	rules.aggregate[0].max_delay_ns = 0;
	rules.aggregate[1].max_delay_ns = 3000;
	add_rule("10.2.0.0", 24)->max_delay_ns = 2000;
	add_rule("10.3.0.0", 24)->max_delay_ns = UINT64_MAX;
	rules_are_set();
	give(&u); /* waits for ever */
	u.dst[1] = 3;
	give(&u); /* and as good as that */
	assert_int_equal(bp_aggregator_next(a), UINT64_MAX);
	u.family = 6;
	address_of("fd00:0:0:0:0:0:0:5", u.src);
	address_of("fd00:1:0:0:0:0:0:9", u.dst);
	give(&u);
	assert_int_equal(bp_aggregator_next(a), now + 3000);
	u = from_sender(1);
	u.dst[1] = 2;
	now += 999;
	give(&u);
	u.dst[3] = 10;
	now++;
	give(&u);
	assert_int_equal(bp_aggregator_next(a), now + 1999);
	bp_aggregator_poll(a, now + 1998, wall);
	assert_int_equal(n_left, 0);
	bp_aggregator_poll(a, now + 1999, wall);
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].u.dst[3], 9);
	assert_int_equal(bp_aggregator_next(a), now + 2000);
	bp_aggregator_poll(a, now + 2000, wall);
	assert_int_equal(n_left, 3);
	bp_aggregator_poll(a, UINT64_MAX / 2, wall);
	assert_int_equal(n_left, 3);
	bp_aggregator_flush(a, BP_AGG_FLUSH_LINK, now + 2000, wall);
	assert_int_equal(n_left, 5);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_LINK), 1);
	assert_int_equal(flushed(3, BP_AGG_FLUSH_LINK), 1);
	assert_int_equal(bp_aggregator_next(a), UINT64_MAX);
	expect_figures_agree();
}

static void another_target_is_another_aggregate(void **state)
{
	struct udp u = from_sender(1);

	give(&u);
	u.macs[11]++; /* the next device of the LAN */
	give(&u);
	assert_int_equal(n_left, 0);
	u.macs[5]++; /* the next router */
	give(&u);
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].n, 2);
	assert_int_equal(left[0].u.macs[5], 1);
	assert_int_equal(left[0].u.macs[11], 1);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_HEADER), 1);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_int_equal(left[1].u.macs[5], 2);
	assert_int_equal(left[1].u.macs[11], 2);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_STOP), 1);
	/* one stream all the time */
	assert_int_equal(left[1].head.stream, left[0].head.stream);
	assert_int_equal(left[1].head.sequence, left[0].head.sequence + 1);
	assert_int_equal(stats[0].begun, 1);
	expect_figures_agree();
}

/* All that makes a stream, one after the other, and both families. */
static void stream_key_fields(void **state)
{
	struct udp u[10];

	for (unsigned i = 0; i < 10; i++)
		u[i] = from_sender(i + 1);
	u[1].dst[3]++;
	u[2].tos = 0xb8;
	u[3].tos = 1; /* ECN alone */
	u[4].dont_fragment = true;
	u[5].n_tags = 4;
	memcpy(u[5].tags, "\x81\x00\x00\x05", 4);
	u[6].n_tags = 4;
	memcpy(u[6].tags, "\x81\x00\x20\x05", 4); /* another priority */
	u[7].n_tags = 8;
	memcpy(u[7].tags, "\x88\xa8\x00\x07\x81\x00\x00\x05", 8);
	u[8].family = u[9].family = 6;
	u[8].n_tags = 8;
	memcpy(u[8].tags, u[7].tags, 8);
	for (unsigned i = 8; i < 10; i++) {
		address_of("fd00:0:0:0:0:0:0:5", u[i].src);
		address_of("fd00:1:0:0:0:0:0:9", u[i].dst);
	}
	u[9].tos = 0xb9;
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(give(&u[i]), BP_AGG_TAKEN);
	assert_int_equal(n_left, 10);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(left[i].n, 3);
		for (unsigned j = 0; j < 3; j++)
			expect_message(&left[i], j, &u[i]);
		assert_memory_equal(left[i].u.macs, u[i].macs, 12);
		assert_int_equal(rows[i].tos, u[i].tos);
		assert_int_equal(rows[i].dont_fragment, u[i].dont_fragment);
		assert_int_equal(rows[i].family, u[i].family);
		assert_int_equal(rows[i].rule, u[i].family == 6);
	}
	assert_int_equal(stats[0].streams, 8);
	assert_int_equal(stats[1].streams, 2);
	expect_figures_agree();
}

/* The source is that of the stream's first message for all its life, so that what shares out flows
 * keeps its order. */
static void source_and_numbers_of_a_session(void **state)
{
	struct udp u = from_sender(1);

	for (unsigned i = 1; i <= 12; i++) {
		u = from_sender(i);
		give(&u);
	}
	assert_int_equal(n_left, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(left[i].u.src[3], 1);
		assert_int_equal(left[i].u.sport, 40001);
		assert_int_equal(left[i].u.macs[11], 1 + 3 * i);
		assert_int_equal(left[i].head.sequence, left[0].head.sequence + i);
		assert_int_equal(left[i].head.stream, left[0].head.stream);
		/* the identification counts where a router may fragment */
		assert_int_equal(left[i].u.id, left[0].u.id + i);
	}
	u.dont_fragment = true;
	for (unsigned i = 0; i < 3; i++)
		give(&u);
	assert_int_equal(left[4].u.id, 0);
	/* another stream has other numbers */
	assert_int_not_equal(left[4].head.sequence, left[0].head.sequence);
}

static void configured_source(void **state)
{
	struct udp u = from_sender(1);

	rules.aggregate[0].from = bp_address4((const uint8_t[]){192, 0, 2, 1});
	rules.aggregate[0].from_udp = 777;
	rules.aggregate[1].from.family = 6;
	address_of("fd00:0:0:0:0:0:0:1", rules.aggregate[1].from.bytes);
	rules.aggregate[1].from_udp = 778;
	rules_are_set();
	give(&u);
	u.family = 6;
	address_of("fd00:0:0:0:0:0:0:5", u.src);
	address_of("fd00:1:0:0:0:0:0:9", u.dst);
	give(&u);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_int_equal(n_left, 2);
	assert_int_equal(left[0].u.sport, 777);
	assert_memory_equal(left[0].u.src, rules.aggregate[0].from.bytes, 4);
	assert_int_equal(left[1].u.sport, 778);
	assert_memory_equal(left[1].u.src, rules.aggregate[1].from.bytes, 16);
	expect_message(&left[1], 0, &u);
}

/* A message from another port matches another rule, or none, although all other fields are the
 * same. */
static void entries_apply_to_their_port_only(void **state)
{
	uint8_t frame[FRAME_MOST];
	const struct udp u = from_sender(1);
	struct bp_agg_input in[9];

	add_rule("10.1.0.0", 24)->port = 1;
	rules_are_set();
	for (unsigned i = 0; i < 9; i++) {
		in[i] = (struct bp_agg_input){.frame = frame, .port = (uint8_t)(i % 3)};
		in[i].len = in[i].frame_len = udp_write(&u, frame);
	}
	for (unsigned i = 0; i < 9; i++)
		bp_aggregator_take(a, &in[i], 1, now, wall);
	bp_aggregator_take(a, in, 9, now, wall);
	for (unsigned i = 0; i < 9; i++) {
		assert_int_equal(in[i].verdict, i % 3 == 2 ? BP_AGG_OTHER : BP_AGG_TAKEN);
		if (i % 3 != 2)
			assert_int_equal(in[i].rule, i % 3 == 1 ? 2 : 0);
	}
	assert_int_equal(n_left, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(left[i].port, i % 2);
		assert_int_equal(left[i].rule, i % 2 ? 2 : 0);
	}
	expect_figures_agree();
}

static void lin2018_format(void **state)
{
	struct udp u[4];

	rules.aggregate[0].format = BP_AGG_FORMAT_LIN2018;
	rules_are_set();
	for (unsigned i = 0; i < 4; i++) {
		u[i] = from_sender(i + 1);
		u[i].len = 22;
		for (unsigned j = 0; j < 22; j++)
			u[i].payload[j] = (uint8_t)(i + 10 * j);
		u[i].payload[0] = BP_AGG_LIN2018_MESSAGE;
		give(&u[i]);
	}
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].n, 3);
	assert_int_equal(left[0].len, 48 + 3 * 16);
	for (unsigned i = 0; i < 3; i++)
		expect_message(&left[0], i, &u[i]);
	assert_int_equal(left[0].u.src[3], 1);
	/* each N-packet has the sender of its own first message */
	bp_aggregator_flush(a, BP_AGG_FLUSH_LINK, now, wall);
	assert_int_equal(left[1].u.src[3], 4);
	assert_int_equal(left[1].u.sport, 40004);
	assert_int_equal(left[1].len, 64);
	expect_message(&left[1], 0, &u[3]);
	/* an MTU for two: the next could not but exceed it */
	rules.aggregate[0].mtu = 20 + 8 + 6 + 2 * 16 + 15;
	rules_are_set();
	for (unsigned i = 0; i < 4; i++)
		give(&u[i]);
	assert_int_equal(n_left, 4);
	assert_int_equal(left[2].n, 2);
	assert_int_equal(left[3].n, 2);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_SIZE), 2);
	/* for none: they continue */
	rules.aggregate[0].mtu = 20 + 8 + 6 + 15;
	rules_are_set();
	assert_int_equal(give(&u[0]), BP_AGG_PASS);
	assert_int_equal(why, BP_AGG_PASS_LENGTH);
}

static void reload_flushes_and_changes_entries(void **state)
{
	struct udp u = from_sender(1);

	give(&u);
	assert_true(bp_aggregator_uses_port(a, 0));
	assert_false(bp_aggregator_uses_port(a, 1));
	assert_false(bp_aggregator_uses_port(a, 99));
	rules.aggregate[0].port = 1;
	rules.n_aggregate = 1;
	rules_are_set();
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].n, 1);
	assert_false(bp_aggregator_uses_port(a, 0));
	assert_true(bp_aggregator_uses_port(a, 1));
	/* everything begins again */
	assert_int_equal(stats[0].aggregates, 0);
	assert_int_equal(stats[0].streams, 0);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_RELOAD), 0);
	assert_int_equal(rows[0].life, 0);
	assert_int_equal(give(&u), BP_AGG_OTHER);
	rules.aggregate[0].port = 0;
	rules_are_set();
	give(&u);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	assert_int_equal(stats[0].begun, 1);
	assert_int_equal(rows[0].life, 2);
}

/* A burst: the order of bypassing messages relative to those before and after them. */
static void order_within_a_burst(void **state)
{
	uint8_t frame[9][128];
	struct bp_agg_input in[9];
	struct udp u;

	rules.aggregate[0].max_message = 10;
	rules_are_set();
	for (unsigned i = 0; i < 9; i++) {
		u = from_sender(i + 1);
		if (i == 2)
			u.len = 11;
		if (i == 5)
			u.dport = 5556;
		in[i] = (struct bp_agg_input){.frame = frame[i]};
		in[i].len = in[i].frame_len = udp_write(&u, frame[i]);
	}
	bp_aggregator_take(a, in, 9, now, wall);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(in[i].verdict, i == 2   ? BP_AGG_PASS
						: i == 5 ? BP_AGG_OTHER
							 : BP_AGG_TAKEN);
	assert_int_equal(n_left, 2);
	assert_int_equal(left[0].n, 2);
	assert_int_equal(left[0].at, 2);
	assert_int_equal(left[1].n, 3); /* senders 4, 5, 7 */
	assert_int_equal(left[1].at, 6);
	assert_int_equal(left[1].message[2].from.port, 40007);
	bp_aggregator_flush(a, BP_AGG_FLUSH_LINK, now, wall);
	assert_int_equal(left[2].n, 2);
	assert_int_equal(left[2].at, 0);
	expect_figures_agree();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(full_aggregate_is_flushed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(max_delay_flush, set_up, tear_down),
		cmocka_unit_test_setup_teardown(delays_of_each_rule, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			another_target_is_another_aggregate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stream_key_fields, set_up, tear_down),
		cmocka_unit_test_setup_teardown(source_and_numbers_of_a_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(configured_source, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			entries_apply_to_their_port_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lin2018_format, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			reload_flushes_and_changes_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(order_within_a_burst, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("aggregator", tests, NULL, NULL);
}
