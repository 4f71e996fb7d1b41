/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/disagg_frames.h"

static void what_is_for_no_rule(void **state)
{
	make_full(4);
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(rule, 0);
	u.dst[3]++;
	write_it();
	expect(BP_DISAGG_OTHER);
	assert_int_equal(rule, 0xee);
	u.dst[3]--;
	u.dport++;
	write_it();
	expect(BP_DISAGG_OTHER);
	u.dport -= 2;
	write_it();
	expect(BP_DISAGG_OTHER);
	u.dport++;
	write_it();
	expect(BP_DISAGG_SPLIT);
	/* no rule of the port */
	assert_true(bp_disaggregator_uses_port(d, PORT));
	for (unsigned port = 0; port < BP_MAX_PORTS; port++) {
		if (port == PORT)
			continue;
		assert_false(bp_disaggregator_uses_port(d, port));
		assert_int_equal(bp_disaggregator_read(
					 d, frame, len, len, port, false, 0, &packet, &rule, &why),
			BP_DISAGG_OTHER);
	}
	/* no UDP */
	frame[23] = 6;
	expect(BP_DISAGG_OTHER);
	frame[23] = 17;
	/* a later fragment; the first, which is known to be for the rule, is in plain_messages */
	frame[20] = 0x20;
	frame[21] = 1;
	expect(BP_DISAGG_OTHER);
	frame[20] = 0;
	expect(BP_DISAGG_OTHER);
	frame[21] = 0;
	put(frame + 12, 2, 0x0806);
	expect(BP_DISAGG_OTHER);
	/* IPv6 with a header in front of UDP */
	make_full(6);
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(rule, 1);
	frame[20] = 60;
	expect(BP_DISAGG_OTHER);
	assert_int_equal(stats[0].plain + stats[1].plain + stats[0].refused + stats[1].refused, 0);
}

static void whom_the_frame_is_for(void **state)
{
	uint8_t mac_bytes[8] = {2, 0, 0, 0, 0, 2, 0, 0};
	uint64_t mac;

	make_full(4);
	memcpy(&mac, mac_bytes, 8);
	/* a bridge decapsulates frames to any unicast MAC address */
	expect(BP_DISAGG_SPLIT);
	frame[0] |= 1;
	expect(BP_DISAGG_OTHER);
	memset(frame, 0xff, 6);
	expect(BP_DISAGG_OTHER);
	/* a router takes what is for itself */
	write_it();
	assert_int_equal(judge_as(frame, len, len, true, mac), BP_DISAGG_SPLIT);
	for (unsigned i = 0; i < 6; i++) {
		write_it();
		frame[i] ^= 0x40;
		assert_int_equal(judge_as(frame, len, len, true, mac), BP_DISAGG_OTHER);
		write_it();
		frame[6 + i] ^= 0x40; /* any source address */
		assert_int_equal(judge_as(frame, len, len, true, mac), BP_DISAGG_SPLIT);
	}
}

static void plain_messages(void **state)
{
	u = carrier(BP_AGG_FORMAT_FULL, 4);
	for (unsigned n = 0; n < 40; n++) {
		memset(u.payload, 0xfd, n); /* half of the magic is none */
		u.len = (uint16_t)n;
		write_it();
		expect(BP_DISAGG_BYPASS);
		assert_int_equal(rule, 0);
	}
	assert_int_equal(stats[0].plain, 40);
	/* forwarded unchanged, even with a wrong checksum: the receiver checks it */
	frame[len - 1] ^= 1;
	expect(BP_DISAGG_BYPASS);
	/* the magic in what fills a frame is none */
	u.len = 0;
	write_it();
	put(frame + len, 2, 0xfda6);
	assert_int_equal(evaluate(frame, len + 18), BP_DISAGG_BYPASS);
	/* a frame of several segments that is no aggregate */
	u.len = 30;
	write_it();
	assert_int_equal(judge_as(frame, 60, len, false, 0), BP_DISAGG_BYPASS);
	/* the first fragment, even of an aggregate; with Don't Fragment, which is another thing */
	make_full(4);
	frame[20] = 0x20;
	expect(BP_DISAGG_BYPASS);
	frame[20] = 0x60;
	expect(BP_DISAGG_BYPASS);
	frame[20] = 0x40;
	assert_int_not_equal(evaluate(frame, len), BP_DISAGG_BYPASS);
	/* of format lin2018: all but fc */
	make_paper(4, 2);
	for (unsigned type = 0; type < 256; type++) {
		u.payload[0] = (uint8_t)type;
		write_it();
		expect(type == 0xfc ? BP_DISAGG_SPLIT : BP_DISAGG_BYPASS);
		assert_int_equal(rule, 2);
	}
	u.len = 0;
	write_it();
	expect(BP_DISAGG_BYPASS);
	assert_int_equal(stats[2].plain, 256);
	/* a plain message is not asked who sent it */
	u.len = 22;
	u.payload[0] = 0xfa;
	address_of("192.0.2.1", u.src);
	write_it();
	expect(BP_DISAGG_BYPASS);
	/* an aggregate of one format is a plain message of the other */
	make_full(4);
	address_of("10.2.0.9", u.dst);
	write_it();
	expect(BP_DISAGG_BYPASS);
	make_paper(4, 1);
	address_of("10.1.0.9", u.dst);
	write_it();
	expect(BP_DISAGG_BYPASS);
}

static void lengths_that_disagree(void **state)
{
	for (unsigned family = 4; family <= 6; family += 2) {
		const unsigned ip_len = family == 4 ? 16 : 18, udp_len = family == 4 ? 38 : 58;

		for (int by = -3; by <= 3; by++) {
			if (by == 0)
				continue;
			make_full(family);
			put(frame + ip_len, 2, get(frame + ip_len, 2) + (unsigned)by);
			expect_refused(BP_DISAGG_LENGTHS);
			make_full(family);
			put(frame + udp_len, 2, get(frame + udp_len, 2) + (unsigned)by);
			expect_refused(BP_DISAGG_LENGTHS);
		}
		make_full(family);
		put(frame + ip_len, 2, 0);
		put(frame + udp_len, 2, 0);
		expect_refused(BP_DISAGG_LENGTHS);
		put(frame + ip_len, 2, 0xffff);
		put(frame + udp_len, 2, family == 4 ? 0xffff - 20 : 0xffff);
		expect_refused(BP_DISAGG_LENGTHS);
		/* cut; the magic is still there */
		make_full(family);
		for (unsigned n = udp_len + 6; n < len; n++) {
			assert_int_equal(evaluate(frame, n), BP_DISAGG_REJECTED);
			assert_int_equal(why, BP_DISAGG_LENGTHS);
		}
		/* in several pieces */
		assert_int_equal(judge_as(frame, len - 5, len, false, 0), BP_DISAGG_REJECTED);
		assert_int_equal(why, BP_DISAGG_LENGTHS);
		assert_int_equal(judge_as(frame, len, len + 1, false, 0), BP_DISAGG_REJECTED);
		assert_int_equal(why, BP_DISAGG_LENGTHS);
	}
	make_paper(4, 3);
	put(frame + 38, 2, get(frame + 38, 2) + 1);
	expect_refused(BP_DISAGG_LENGTHS);
}

static void wrong_checksums(void **state)
{
	for (unsigned family = 4; family <= 6; family += 2) {
		make_full(family);
		frame[len - 1] ^= 1;
		expect_refused(BP_DISAGG_UDP_CHECKSUM);
		u.no_checksum = true;
		write_it();
		expect_refused(BP_DISAGG_UDP_CHECKSUM);
		make_paper(family, 2);
		frame[len - 1] ^= 1;
		expect_refused(BP_DISAGG_UDP_CHECKSUM);
		u.no_checksum = true;
		write_it();
		if (family == 6)
			expect_refused(BP_DISAGG_UDP_CHECKSUM);
		else
			expect(BP_DISAGG_SPLIT);
	}
	/* of the IPv4 header; TTL and TOS are under no other */
	make_full(4);
	frame[22]++;
	expect_refused(BP_DISAGG_UDP_CHECKSUM);
	frame[22]--;
	frame[15] ^= 4;
	expect_refused(BP_DISAGG_UDP_CHECKSUM);
	frame[15] ^= 4;
	expect(BP_DISAGG_SPLIT);
}

static void wrong_versions_and_structure(void **state)
{
	static const uint8_t length_of_3 = 0xc0;

	for (unsigned version = 0; version < 16; version++) {
		make_full(4);
		u.payload[2] = (uint8_t)(version << 4 | 4);
		seal();
		if (version == 1)
			expect(BP_DISAGG_SPLIT);
		else
			expect_refused(BP_DISAGG_VERSION);
	}
	for (unsigned family = 0; family < 16; family++) {
		make_full(4);
		u.payload[2] = (uint8_t)(1 << 4 | family);
		seal();
		if (family == 4)
			expect(BP_DISAGG_SPLIT);
		else
			expect_refused(BP_DISAGG_FAMILY);
	}
	/* UDP's checksum is right, its own is not */
	make_full(4);
	u.payload[9] ^= 1;
	write_it();
	expect_refused(BP_DISAGG_STRUCTURE_CHECKSUM);
	/* cut within the header, and within the directory */
	for (unsigned n = 3; n < 16 + 9; n++) {
		make_full(4);
		u.len = (uint16_t)n;
		write_it();
		expect_refused(BP_DISAGG_COUNT);
	}
	make_full(4);
	u.len = 2; /* the magic alone: no version that could be evaluated */
	write_it();
	expect_refused(BP_DISAGG_COUNT);
	/* N says more, less or nothing */
	for (unsigned n = 0; n < 256; n++) {
		make_full(4);
		u.payload[3] = (uint8_t)n;
		seal();
		if (n == 3)
			expect(BP_DISAGG_SPLIT);
		else
			expect_refused(BP_DISAGG_COUNT);
	}
	/* payloads that are too short, too long */
	make_full(4);
	u.len--;
	write_it();
	expect_refused(BP_DISAGG_COUNT);
	u.len += 2;
	write_it();
	expect_refused(BP_DISAGG_COUNT);
	make_full(4);
	u.payload[16] |= length_of_3;
	seal();
	expect_refused(BP_DISAGG_ENTRY);
}

static void the_paper_says_no_count(void **state)
{
	make_paper(4, 2);
	for (unsigned n = 1; n < 6 + 16 * 3; n++) {
		u.len = (uint16_t)n;
		write_it();
		if (n == 6 + 16 || n == 6 + 32)
			expect(BP_DISAGG_SPLIT);
		else
			expect_refused(BP_DISAGG_COUNT);
	}
	make_paper(4, 255);
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(packet.count, 255);
	make_paper(4, 256);
	expect_refused(BP_DISAGG_COUNT);
}

static void which_rule(void **state)
{
	rules = (struct bp_agg_rules){0};
	add_rule(BP_AGG_FORMAT_FULL, "10.9.0.0", 16, "0.0.0.0", 0)->port = PORT + 1;
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.0", 16, "0.0.0.0", 0)->to.udp_last = 5999;
	add_rule(BP_AGG_FORMAT_FULL, "10.1.0.9", 32, "0.0.0.0", 0)->to.udp_last = 6100;
	add_rule(BP_AGG_FORMAT_FULL, "0.0.0.0", 0, "0.0.0.0", 0)->to.udp_last = 65535;
	rules_are_set();
	make_full(4);
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(rule, 1); /* the first that matches, not the one that says most */
	assert_int_equal(packet.rule, 1);
	u.dport = 6000;
	write_it();
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(rule, 2);
	u.dport = 6101;
	write_it();
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(rule, 3);
	address_of("10.9.0.1", u.dst);
	write_it();
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(rule, 3);
	u.dport = 5554;
	write_it();
	expect(BP_DISAGG_OTHER);
	make_full(6);
	expect(BP_DISAGG_OTHER);
	assert_true(bp_disaggregator_uses_port(d, PORT + 1));
}

static void what_is_counted(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		make_full(4);
		put(u.payload + 8, 4, 41 + 5 * i);
		seal();
		expect(BP_DISAGG_SPLIT);
	}
	expect(BP_DISAGG_SPLIT);
	u.payload[8] ^= 1; /* not sealed: its number is not believed */
	write_it();
	expect_refused(BP_DISAGG_STRUCTURE_CHECKSUM);
	with_sender(4, "10.0.1.0", 1, 64, 3, 2);
	put(u.payload + 6, 2, 0x5eed);
	put(u.payload + 8, 4, 60);
	seal();
	expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED); /* nor is a forger's */
	assert_int_equal(stats[0].aggregates, 4);
	make_full(4);
	assert_int_equal(stats[0].aggregate_bytes, 4 * len);
	assert_int_equal(stats[0].messages, 12);
	assert_int_equal(stats[0].message_bytes, 4 * (3 * 42 + 20));
	assert_int_equal(stats[0].refused, 2);
	assert_int_equal(stats[0].lives, 1);
	assert_int_equal(stats[0].missing, 8);
	assert_int_equal(stats[0].duplicate, 1);
	/* another source of aggregates is another stream */
	u.sport++;
	write_it();
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(stats[0].lives, 2);
	/* no buffers */
	bp_disaggregator_give_up(d, &packet);
	assert_int_equal(stats[0].aggregates, 4);
	assert_int_equal(stats[0].aggregate_bytes, 4 * len);
	assert_int_equal(stats[0].messages, 12);
	assert_int_equal(stats[0].message_bytes, 4 * (3 * 42 + 20));
	assert_int_equal(stats[0].refused, 3);
	/* all of it begins again with new rules */
	stats[BP_AGG_RULES_MAX - 1].plain = 7;
	rules_are_set();
	for (size_t i = 0; i < sizeof(stats) / 8; i++)
		assert_int_equal(((uint64_t *)(void *)stats)[i], 0);
	expect(BP_DISAGG_SPLIT);
	assert_int_equal(stats[0].lives, 1);
	assert_int_equal(stats[0].duplicate + stats[0].missing, 0);
}

/* A bit that changes on the way never becomes another message. Not covered by any checksum are
 * Ethernet's header, and of IPv6 what is before the length, and the hop limit. */
static void every_bit(void **state)
{
	for (unsigned variant = 0; variant < 4; variant++) {
		const unsigned family = variant & 1 ? 6 : 4;

		if (variant & 2)
			make_paper(family, 3);
		else
			make_full(family);
		expect(BP_DISAGG_SPLIT);
		for (unsigned bit = 8 * (family == 4 ? 14 : 18); bit < 8 * len; bit++) {
			if (family == 6 && bit / 8 == 14 + 7)
				continue;
			frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_not_equal(evaluate(frame, len), BP_DISAGG_SPLIT);
			frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		for (unsigned n = 0; n < len; n++)
			assert_int_not_equal(evaluate(frame, n), BP_DISAGG_SPLIT);
		expect(BP_DISAGG_SPLIT);
	}
}

#define CASE(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_for_no_rule),
		CASE(whom_the_frame_is_for),
		CASE(plain_messages),
		CASE(lengths_that_disagree),
		CASE(wrong_checksums),
		CASE(wrong_versions_and_structure),
		CASE(the_paper_says_no_count),
		CASE(which_rule),
		CASE(what_is_counted),
		CASE(every_bit),
	};

	return cmocka_run_group_tests_name("disaggregator", tests, NULL, NULL);
}
