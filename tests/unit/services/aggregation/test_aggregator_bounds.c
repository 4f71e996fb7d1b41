/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/aggregator_rig.h"

/* Sizes, numbers of streams and buffers at their bounds. */

static int set_up(void **state)
{
	begin_with(4, 2048);
	add_rule("10.1.0.0", 16);
	rules_are_set();
	return 0;
}

static struct udp to_host(unsigned host)
{
	struct udp u = from_sender(1);

	u.dst[3] = (uint8_t)host;
	return u;
}

static void give_times(unsigned host, unsigned times)
{
	const struct udp u = to_host(host);

	for (unsigned i = 0; i < times; i++)
		assert_int_equal(give(&u), BP_AGG_TAKEN);
}

/* The idle one that left longest ago gives way, and an empty one before any that holds something.
 */
static void idle_streams_are_evicted(void **state)
{
	uint16_t numbers[5];

	for (unsigned host = 1; host <= 4; host++) {
		give_times(host, 3);
		numbers[host] = left[n_left - 1].head.stream;
	}
	give_times(1, 3); /* the latest now; 2 is the earliest */
	give_times(3, 1); /* busy */
	assert_int_equal(stats[0].streams, 4);
	assert_int_equal(stats[0].evicted, 0);
	give_times(5, 1); /* takes the place of 2 */
	assert_int_equal(n_left, 5);
	assert_int_equal(stats[0].streams, 4);
	assert_int_equal(stats[0].evicted, 1);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_EVICTED), 0);
	give_times(4, 3); /* is still itself */
	give_times(1, 3);
	assert_int_equal(left[5].head.stream, numbers[4]);
	assert_int_equal(left[6].head.stream, numbers[1]);
	assert_int_equal(stats[0].begun, 5);
	give_times(2, 3); /* in the place of 4, which left before 1 */
	assert_int_not_equal(left[7].head.sequence, left[1].head.sequence + 1);
	assert_int_equal(stats[0].begun, 6);
	assert_int_equal(stats[0].evicted, 2);
	assert_int_equal(rows[3].address[3], 2);
	assert_int_equal(rows[3].messages, 3);
	assert_int_equal(rows[3].aggregates, 1);
	give_times(1, 3);
	assert_int_equal(left[8].head.sequence, left[0].head.sequence + 3);
	expect_figures_agree();
}

/* Where all hold something, the one that began first leaves; over all rules. */
static void oldest_is_evicted_at_the_limit(void **state)
{
	struct udp u = to_host(2);

	add_rule("10.2.0.0", 16)->max_delay_ns = 0;
	rules_are_set();
	u.dst[1] = 2;
	give(&u);
	now++;
	for (unsigned host = 3; host <= 5; host++, now++)
		give_times(host, host == 4 ? 2 : 1);
	give_times(6, 1);
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].rule, 1);
	expect_message(&left[0], 0, &u);
	assert_int_equal(flushed(1, BP_AGG_FLUSH_EVICTED), 1);
	assert_int_equal(stats[1].evicted, 1);
	assert_int_equal(stats[1].streams, 0);
	assert_int_equal(stats[0].streams, 4);
	give_times(7, 1);
	assert_int_equal(n_left, 2);
	assert_int_equal(left[1].u.dst[3], 3);
	/* 4 continues as if nothing were */
	give_times(4, 1);
	assert_int_equal(left[2].n, 3);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_FULL), 1);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_EVICTED), 1);
	expect_figures_agree();
}

/* Aggregates due or flushed at the same time leave in portions, the oldest first, and none is lost.
 */
static void flushes_are_bounded_per_poll(void **state)
{
	const unsigned held = 2 * BP_AGG_AT_ONCE + 10;
	struct udp u = from_sender(1);

	begin_with(held, 2048);
	add_rule("10.1.0.0", 16);
	rules_are_set();
	for (unsigned round = 0; round < 2; round++) {
		assert_true(bp_aggregator_empty(a));
		n_left = 0;
		for (unsigned i = 0; i < held; i++, now++) {
			u.dst[2] = (uint8_t)(i / 256);
			u.dst[3] = (uint8_t)i;
			assert_int_equal(give(&u), BP_AGG_TAKEN);
		}
		assert_int_equal(n_left, 0);
		now += 1000000;
		for (unsigned left_now = BP_AGG_AT_ONCE; left_now <= held + BP_AGG_AT_ONCE;
			left_now += BP_AGG_AT_ONCE) {
			const bool all = left_now >= held;

			assert_false(bp_aggregator_empty(a));
			if (round == 0)
				bp_aggregator_poll(a, now, wall);
			else
				assert_int_equal(
					bp_aggregator_flush_some(a, BP_AGG_FLUSH_LINK, now, wall),
					all);
			assert_int_equal(n_left, all ? held : left_now);
			assert_int_equal(bp_aggregator_next(a) <= now, !all);
		}
		for (unsigned i = 0; i < held; i++)
			assert_int_equal(left[i].u.dst[2] * 256 + left[i].u.dst[3], i);
	}
	assert_int_equal(flushed(0, BP_AGG_FLUSH_TIME), held);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_LINK), held);
	assert_int_equal(bp_aggregator_next(a), UINT64_MAX);
}

/* No buffer: the message continues, and nothing else is changed. */
static void no_buffer(void **state)
{
	struct udp u;

	buffers_most = 4;
	for (unsigned host = 1; host <= 4; host++)
		give_times(host, 1);
	u = to_host(5); /* would need a fifth, and a stream's place */
	assert_int_equal(give(&u), BP_AGG_PASS);
	assert_int_equal(why, BP_AGG_PASS_NO_BUFFER);
	assert_int_equal(by_rule, 0);
	assert_int_equal(n_left, 0);
	assert_int_equal(stats[0].begun, 4);
	assert_int_equal(stats[0].evicted, 0);
	assert_int_equal(stats[0].passed, 1);
	give_times(2, 2); /* streams with a buffer are not affected */
	assert_int_equal(n_left, 1);
	assert_int_equal(give(&u), BP_AGG_TAKEN);
	/* where another Ethernet header makes an aggregate leave, its buffer comes back first */
	u.macs[3] = 9;
	assert_int_equal(give(&u), BP_AGG_TAKEN);
	assert_int_equal(buffers_out, 4);
	expect_figures_agree();
}

/* Aggregates of messages of these lengths, in turn, from many senders: each is as full as it can
 * be, which is computed again. */
static void fill(unsigned family, unsigned messages, unsigned mtu, unsigned with_room,
	const uint16_t *lengths, unsigned n_lengths, unsigned steps)
{
	const unsigned head = family == 4 ? 28 : 48, entry = family == 4 ? 10 : 22;
	unsigned size = mtu - head, expected = 0, n = 0, total = 16, last_len = 0, at = 0;
	struct udp u = from_sender(1);

	begin_with(2, with_room);
	add_rule(family == 4 ? "10.1.0.0" : "fd00:1:0:0:0:0:0:0", 16)->messages = (uint8_t)messages;
	rules.aggregate[0].mtu = (uint16_t)mtu;
	rules_are_set();
	if (with_room - 96 - entry < size)
		size = with_room - 96 - entry;
	u.family = (uint8_t)family;
	if (family == 6) {
		address_of("fd00:0:0:0:0:0:0:5", u.src);
		address_of("fd00:1:0:0:0:0:0:9", u.dst);
	}
	for (unsigned i = 0; i < steps; i++) {
		unsigned cost;

		/* every sender as far from the one before as can be: the longest entries */
		u.src[family == 4 ? 0 : 2] = (uint8_t)(i & 1 ? 11 : 12);
		u.sport = (uint16_t)(i & 1 ? 1 : 0x8000);
		u.hops = (uint8_t)(i & 1 ? 7 : 8);
		u.len = lengths[i % n_lengths];
		cost = 1 + 1 + 2 + (family == 4 ? 4 : 16) + u.len;
		if (n == 0 || u.len != last_len)
			cost += u.len < 256 ? 1 : 2;
		if (n != 0 && total + cost > size) {
			expected++;
			n = 0;
			total = 16;
			cost = 4 + (family == 4 ? 4 : 16) + u.len + (u.len < 256 ? 1 : 2);
		}
		total += cost;
		n++;
		last_len = u.len;
		assert_int_equal(give(&u), BP_AGG_TAKEN);
		if (n == messages) {
			expected++;
			n = 0;
			total = 16;
		}
		assert_int_equal(n_left, expected);
		for (; at < n_left; at++) {
			assert_true(left[at].u.len <= size);
			assert_true(left[at].len <= 14 + mtu);
		}
	}
	assert_true(n_left > 2);
	bp_aggregator_flush(a, BP_AGG_FLUSH_STOP, now, wall);
	expect_figures_agree();
}

static void as_full_as_can_be(void **state)
{
	static const uint16_t none[] = {0}, mixed[] = {1, 0, 300, 17, 256, 255}, some[] = {16};
	static const unsigned n[] = {8, 91, 255};

	for (unsigned i = 0; i < 3; i++) {
		for (unsigned family = 4; family <= 6; family += 2) {
			/* the MTU is the bound: directories that outgrow their front in buffers
			 * that are hardly longer than the aggregate, too */
			for (unsigned more = 0; more < 3; more++) {
				const unsigned least = 1500 - (family == 4 ? 28 : 48) + 96 +
						       (family == 4 ? 10 : 22);
				const unsigned with_room = least + (more == 2 ? 900 : more);

				fill(family, n[i], 1500, with_room, none, 1, 800);
				tear_down(NULL);
				fill(family, n[i], 1500, with_room, mixed, 6, 800);
				tear_down(NULL);
				fill(family, n[i], 1500, with_room, some, 1, 800);
				tear_down(NULL);
			}
			/* the buffer is: a jumbo MTU */
			fill(family, n[i], 9000, 2048, mixed, 6, 800);
			tear_down(NULL);
			fill(family, n[i], 9000, 2048, none, 1, 800);
			tear_down(NULL);
			/* neither is */
			fill(family, n[i], 9000, 16384, some, 1, 800);
			tear_down(NULL);
		}
	}
}

/* A buffer or an MTU too small for an aggregate: no message is aggregated, without an error. */
static void no_capacity_at_all(void **state)
{
	for (unsigned with_room = 0; with_room < 160; with_room++) {
		struct udp u = from_sender(1);

		begin_with(2, with_room);
		add_rule("10.1.0.0", 16);
		rules_are_set();
		u.len = 0;
		if (with_room < 96 + 10 + 16 + 9) {
			assert_int_equal(give(&u), BP_AGG_PASS);
			assert_int_equal(why, BP_AGG_PASS_LENGTH);
		} else {
			assert_int_equal(give(&u), BP_AGG_TAKEN);
		}
		tear_down(NULL);
	}
	for (unsigned mtu = 1; mtu < 28 + 16 + 9; mtu++) {
		struct udp u = from_sender(1);

		begin_with(2, 2048);
		add_rule("10.1.0.0", 16)->mtu = (uint16_t)mtu;
		rules_are_set();
		u.len = 0;
		assert_int_equal(give(&u), BP_AGG_PASS);
		assert_int_equal(why, BP_AGG_PASS_LENGTH);
		tear_down(NULL);
	}
}

static void min_mtu_of_all_ports(void **state)
{
	struct udp u = from_sender(1);

	rules.aggregate[0].messages = 255;
	bp_aggregator_set_rules(a, &rules, 576, now);
	u.len = 100;
	for (unsigned i = 0; i < 6; i++)
		give(&u);
	assert_int_equal(n_left, 1);
	assert_int_equal(left[0].n, 5);
	assert_int_equal(left[0].len, 14 + 28 + 16 + 9 + 4 + 500);
	assert_int_equal(flushed(0, BP_AGG_FLUSH_SIZE), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(idle_streams_are_evicted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(oldest_is_evicted_at_the_limit, set_up, tear_down),
		cmocka_unit_test_teardown(flushes_are_bounded_per_poll, tear_down),
		cmocka_unit_test_setup_teardown(no_buffer, set_up, tear_down),
		cmocka_unit_test(as_full_as_can_be),
		cmocka_unit_test(no_capacity_at_all),
		cmocka_unit_test_setup_teardown(min_mtu_of_all_ports, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("aggregator_bounds", tests, NULL, NULL);
}
