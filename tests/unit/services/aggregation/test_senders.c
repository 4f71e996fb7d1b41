/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/aggregation/disagg_frames.h"

/* An aggregate could forge source addresses: restored senders are checked with the prefixes of the
 * rule.
 */
static void forged_senders(void **state)
{
	static const struct {
		unsigned family;
		const char *address;
		bool allowed;
	} sender[] = {
		{4, "10.0.0.0", true},
		{4, "10.0.0.255", true},
		{4, "10.0.1.0", false},
		{4, "9.255.255.255", false},
		{4, "10.1.0.9", false},
		{4, "138.0.0.17", false}, /* the first bit */
		{4, "192.168.7.1",
			false}, /* the sender of the aggregate itself is not an allowed sender */
		{6, "fd00:0:0:0:0:0:0:1", true},
		{6, "fd00:0:0:0:ffff:ffff:ffff:ffff", true},
		{6, "fd00:0:0:1:0:0:0:0", false},
		{6, "fcff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false},
		{6, "fd00:1:0:0:0:0:0:9", false},
		{6, "7d00:0:0:0:0:0:0:17", false},
	};

	for (unsigned k = 0; k < sizeof(sender) / sizeof(sender[0]); k++) {
		for (unsigned among = 1; among <= 8; among++) {
			for (unsigned at = 0; at < among; at++) {
				with_sender(sender[k].family, sender[k].address, 1, 64, among, at);
				if (sender[k].allowed)
					expect(BP_DISAGG_SPLIT);
				else
					expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
			}
		}
	}
}

/* Even where every address may send: these none can have. */
static void impossible_senders(void **state)
{
	static const struct {
		unsigned family;
		const char *address;
	} none[] = {
		{4, "0.0.0.0"},
		{4, "0.1.2.3"},
		{4, "127.0.0.1"},
		{4, "224.0.0.1"},
		{4, "239.255.255.255"},
		{4, "255.255.255.255"},
		{6, "0:0:0:0:0:0:0:0"},
		{6, "0:0:0:0:0:0:0:1"},
		{6, "ff02:0:0:0:0:0:0:1"},
		{6, "0:0:0:0:0:ffff:a00:1"},
	};

	rules.disaggregate[0].senders[0] = prefix_from("0.0.0.0", 0);
	rules.disaggregate[1].senders[0] = prefix_from("0:0:0:0:0:0:0:0", 0);
	rules.disaggregate[2].senders[0] = prefix_from("0.0.0.0", 0);
	rules_are_set();
	for (unsigned k = 0; k < sizeof(none) / sizeof(none[0]); k++) {
		for (unsigned at = 0; at < 3; at++) {
			with_sender(none[k].family, none[k].address, 1, 64, 3, at);
			expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
		}
	}
	for (unsigned family = 4; family <= 6; family += 2) {
		const char *far = family == 4 ? "223.1.2.3" : "2001:db8:0:0:0:0:0:1";

		with_sender(family, far, 1, 1, 3, 1);
		expect(BP_DISAGG_SPLIT);
		with_sender(family, far, 0, 1, 3, 1);
		expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
		with_sender(family, far, 1, 0, 3, 1);
		expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
		/* of the one before, in the entry: evaluated all the same */
		with_sender(family, family == 4 ? "10.0.0.17" : "fd00:0:0:0:0:0:0:17", 0, 64, 3, 2);
		expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
	}
	make_paper(4, 2);
	u.sport = 0;
	write_it();
	expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
}

/* Prefixes that end within either half of an address, and senders that are equal up to there. */
static void long_prefixes(void **state)
{
	static const struct {
		const char *address;
		bool allowed;
	} sender[] = {
		{"fd00:0:0:0:7:0:0:17", true},
		{"fd00:0:0:0:7:0:0:1f", true},
		{"fd00:0:0:0:7:0:0:20", false},
		{"fd00:0:0:0:7:0:0:f", false},
		{"fd00:0:0:0:8007:0:0:17", false},
		{"fd00:0:0:0:0:0:0:0", false},
		{"fd00:0:0:1:7:0:0:17", false},
	};

	rules.disaggregate[1].senders[0] = prefix_from("fd00:0:0:0:7:0:0:10", 124);
	rules_are_set();
	for (unsigned k = 0; k < sizeof(sender) / sizeof(sender[0]); k++) {
		for (unsigned first = 0; first < 2; first++) {
			static struct udp m[2];
			const struct udp *list[] = {&m[first], &m[1 - first]};

			u = carrier(BP_AGG_FORMAT_FULL, 6);
			m[0] = message_in(&u, "fd00:0:0:0:7:0:0:18", 9, 64, "x", 1);
			m[1] = message_in(&u, sender[k].address, 9, 64, "x", 1);
			pack(&u, list, 2, 1, 1);
			write_it();
			if (sender[k].allowed)
				expect(BP_DISAGG_SPLIT);
			else
				expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
		}
	}
}

/* Of format lin2018 it is the packet's own source. */
static void forged_senders_of_the_paper(void **state)
{
	make_paper(4, 2);
	address_of("10.0.1.7", u.src);
	write_it();
	expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
	make_paper(6, 2);
	address_of("fd00:0:0:1:0:0:0:7", u.src);
	write_it();
	expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
}

static void several_prefixes_or_none(void **state)
{
	struct bp_disagg_rule *r = &rules.disaggregate[0];

	r->n_senders = BP_AGG_SENDERS_MAX;
	for (unsigned i = 0; i < BP_AGG_SENDERS_MAX; i++) {
		char address[20];

		snprintf(address, sizeof(address), "10.%u.0.0", 2 * i);
		r->senders[i] = prefix_from(address, 16);
	}
	/* of the other family: no aggregate to an IPv4 destination has such a sender */
	r->senders[7] = prefix_from("0:0:0:0:0:0:0:0", 0);
	rules_are_set();
	for (unsigned i = 0; i < 2 * BP_AGG_SENDERS_MAX; i++) {
		char address[20];

		snprintf(address, sizeof(address), "10.%u.3.4", i);
		with_sender(4, address, 9, 64, 2, 1);
		if (i % 2 == 0 && i != 14)
			expect(BP_DISAGG_SPLIT);
		else
			expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
	}
	r->n_senders = 0;
	rules_are_set();
	make_full(4);
	expect_refused(BP_DISAGG_SOURCE_NOT_ALLOWED);
}

#define CASE(test_) cmocka_unit_test_setup_teardown(test_, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(forged_senders),
		CASE(impossible_senders),
		CASE(long_prefixes),
		CASE(forged_senders_of_the_paper),
		CASE(several_prefixes_or_none),
	};

	return cmocka_run_group_tests_name("senders", tests, NULL, NULL);
}
