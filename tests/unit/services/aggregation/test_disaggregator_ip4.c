/* SPDX-License-Identifier: BSD-3-Clause */
/* The single pass of a plain aggregate, beyond what the rig's twin goes with every other test. */
#include "tests/unit/services/aggregation/disagg_frames.h"

static uint64_t state_of_random = 99;

static unsigned below(unsigned n)
{
	return (unsigned)((next_random(&state_of_random) >> 11) % n);
}

/* The next message is like the one before, but for what `often` changes: how many of the last
 * bytes of address and port are others, length, hops. */
static void go_on(struct udp *m, unsigned often, unsigned longest, unsigned most_of_address)
{
	static unsigned new_addr, new_port;

	if (below(often) == 0) {
		new_addr = below(1 + most_of_address);
		new_port = below(3);
	}
	if (below(often) == 0)
		m->len = (uint16_t)below(longest);
	if (below(3 * often) == 0)
		m->hops = (uint8_t)(1 + below(255));
	if (new_addr > most_of_address)
		new_addr = most_of_address;
	for (unsigned k = 4 - new_addr; k < 4; k++)
		m->src[k] = (uint8_t)(1 + below(100));
	if (new_port == 2)
		m->sport = (uint16_t)next_random(&state_of_random);
	if (new_port != 0)
		m->sport = (uint16_t)((m->sport & 0xff00) | (1 + below(255)));
	for (unsigned k = 0; k < m->len; k++)
		m->payload[k] = (uint8_t)next_random(&state_of_random);
}

static void runs_of_entries(void **state)
{
	rules = (struct bp_agg_rules){0};
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.9", 32, "0.0.0.0", 0);
	add_rule(BP_AGG_FORMAT_FULL, "10.3.0.9", 32, "10.0.0.0", 8);
	rules_are_set();
	for (unsigned round = 0; round < 3000; round++) {
		const unsigned n = 1 + below(round % 8 ? 20 : 200), often = 1 + below(12);
		const unsigned longest = n > 20 || below(4) ? 40 : 1 + below(120);
		static struct udp m[200];
		const struct udp *list[200];

		u = carrier(BP_AGG_FORMAT_FULL, 4);
		if (round & 2)
			address_of("10.3.0.9", u.dst);
		u.dont_fragment = round & 1;
		m[0] = message_in(&u, "10.0.0.17", 40017, 64, "", 0);
		for (unsigned i = 0; i < n; i++) {
			if (i != 0)
				memcpy(&m[i], &m[i - 1], offsetof(struct udp, payload));
			go_on(&m[i], often, longest, round & 2 ? 3 : 4);
			list[i] = &m[i];
		}
		pack(&u, list, n, 1, round);
		write_it();
		expect(BP_DISAGG_SPLIT);
	}
	assert_int_equal(stats[0].aggregates + stats[1].aggregates, 3000);
}

/* With fewer buffers than messages nothing is taken, and nothing counted. */
static void fewer_buffers_than_messages(void **state)
{
	uint8_t *base[3] = {malloc(200), malloc(200), malloc(200)};
	struct bp_disagg_length length[3];
	struct bp_disagg_buffers to = {.base = base, .length = length};
	struct bp_disagg_stats before;
	uint8_t of_rule = 0xee;

	make_full(4);
	assert_int_equal(bp_disaggregator_ip4_count(frame, len), 3);
	before = twin_stats[0];
	for (to.n = 0; to.n < 3; to.n++) {
		assert_int_equal(bp_disaggregator_restore_ip4(
					 twin, frame, len, PORT, false, 0, 1, &to, &of_rule),
			0);
		assert_int_equal(of_rule, 0xee);
		assert_memory_equal(&before, &twin_stats[0], sizeof(before));
	}
	assert_int_equal(
		bp_disaggregator_restore_ip4(twin, frame, len, PORT, false, 0, 1, &to, &of_rule),
		3);
	assert_int_equal(of_rule, 0);
	assert_int_equal(twin_stats[0].messages, 3);
	for (unsigned i = 0; i < 3; i++)
		free(base[i]);
}

static unsigned split_at(unsigned port, uint8_t *of_rule)
{
	static struct ip4_buffers b;
	const unsigned n = ip4_split(twin, frame, len, port, false, 0, 1, &b, of_rule);

	ip4_free(&b);
	return n;
}

/* The rule that was found last is not another port's, another destination's or one of before. */
static void which_rule_was_found_before(void **state)
{
	uint8_t of_rule;

	rules = (struct bp_agg_rules){0};
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.9", 32, "10.0.0.0", 24);
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.0", 16, "10.0.0.0", 24)->port = PORT + 1;
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.10", 32, "10.0.0.0", 24);
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.9", 32, "10.0.0.0", 24)->to =
		(struct bp_agg_to){prefix_from("10.1.0.9", 32), 6000, 6000};
	rules_are_set();
	make_full(4);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(split_at(PORT, &of_rule), 3);
		assert_int_equal(of_rule, 0);
		assert_int_equal(split_at(PORT + 2, &of_rule), 0);
		assert_int_equal(split_at(PORT + 1, &of_rule), 3);
		assert_int_equal(of_rule, 1);
		u.dst[3] = 10;
		write_it();
		assert_int_equal(split_at(PORT, &of_rule), 3);
		assert_int_equal(of_rule, 2);
		u.dst[3] = 9;
		u.dport = 6000;
		write_it();
		assert_int_equal(split_at(PORT, &of_rule), 3);
		assert_int_equal(of_rule, 3);
		u.dport = 5555;
		u.sport++; /* the aggregates' source is another matter */
		write_it();
	}
	assert_int_equal(split_at(PORT, &of_rule), 3);
	rules.disaggregate[0].to.udp_first = rules.disaggregate[0].to.udp_last = 1;
	rules_are_set();
	assert_int_equal(split_at(PORT, &of_rule), 0);
}

/* Reads the count of a payload that begins as an aggregate, without a read after the frame. */
static void what_says_how_many(void **state)
{
	make_full(4);
	for (unsigned n = 0; n <= len; n++) {
		uint8_t *f = exact_copy(frame, n);

		assert_int_equal(bp_disaggregator_ip4_count(f, n), n < 42 + 16 ? 0 : 3);
		free(f);
	}
	frame[42]++;
	assert_int_equal(bp_disaggregator_ip4_count(frame, len), 0);
	make_full(6);
	assert_int_equal(bp_disaggregator_ip4_count(frame, len), 0);
	make_paper(4, 3);
	assert_int_equal(bp_disaggregator_ip4_count(frame, len), 0);
}

#define CASE(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(runs_of_entries),
		CASE(fewer_buffers_than_messages),
		CASE(which_rule_was_found_before),
		CASE(what_says_how_many),
	};

	return cmocka_run_group_tests_name("disaggregator_ip4", tests, NULL, NULL);
}
