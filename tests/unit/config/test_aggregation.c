/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "config_test.h"

/* Sections aggregate, disaggregate and aggregation; test_settings.c has each setting's bounds. */

#define AGG(more) "  - {port: a, to: {address: 10.1.0.9, udp: 5555}" more "}\n"
#define AGG6(more) "  - {port: a, to: {address: \"fd00::9\", udp: 5555}" more "}\n"
#define DISAGG(more)                                                                               \
	"  - {port: b, to: {address: 10.1.0.9, udp: 5555}, senders: [10.0.0.0/24]" more "}\n"
#define DISAGG6(more)                                                                              \
	"  - {port: b, to: {address: \"fd00::9\", udp: 5555}, senders: [\"fd00::/64\"]" more "}\n"

static bool is_prefix4(
	const struct bp_prefix *p, uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t length)
{
	const struct bp_prefix want = {.bytes = {a, b, c, d}, .family = 4, .length = length};

	return memcmp(p, &want, sizeof(want)) == 0;
}

static void defaults(void **state)
{
	struct bp_config *c = accepted(BRIDGED "aggregate:\n" AGG("") "disaggregate:\n" DISAGG(""));
	const struct bp_agg_rule *a = &bp_config_aggregation(c)->rules.aggregate[0];
	const struct bp_disagg_rule *d = &bp_config_aggregation(c)->rules.disaggregate[0];

	assert_true(bp_config_aggregation(c)->rules.n_aggregate == 1 &&
		    bp_config_aggregation(c)->rules.n_disaggregate == 1);
	assert_true(bp_config_aggregates(c));
	assert_int_equal(a->port, 0);
	assert_true(is_prefix4(&a->to.address, 10, 1, 0, 9, 32));
	assert_true(a->to.udp_first == 5555 && a->to.udp_last == 5555);
	assert_int_equal(a->format, BP_AGG_FORMAT_FULL);
	assert_int_equal(a->n_senders, 0);
	assert_int_equal(a->messages, 8);
	assert_int_equal(a->max_delay_ns, 1000000);
	assert_int_equal(a->max_message, 1024);
	assert_int_equal(a->mtu, 0);
	assert_true(a->from.family == 0 && a->from_udp == 0);
	assert_int_equal(d->port, 1);
	assert_true(is_prefix4(&d->to.address, 10, 1, 0, 9, 32));
	assert_true(d->to.udp_first == 5555 && d->to.udp_last == 5555);
	assert_int_equal(d->format, BP_AGG_FORMAT_FULL);
	assert_int_equal(d->n_senders, 1);
	assert_true(is_prefix4(&d->senders[0], 10, 0, 0, 0, 24));
	assert_false(d->pace);
	assert_int_equal(d->gap_ns, 10000);
	assert_true(bp_config_aggregation(c)->streams == 1024 &&
		    bp_config_aggregation(c)->queue == 4096);
	bp_config_free(c);
	c = accepted(BRIDGED "aggregate: []\ndisaggregate:\n");
	assert_false(bp_config_aggregates(c));
	assert_true(bp_config_aggregation(c)->streams == 1024 &&
		    bp_config_aggregation(c)->queue == 4096);
	bp_config_free(c);
}

#define FULL                                                                                       \
	BRIDGED                                                                                    \
	"aggregate:\n"                                                                             \
	"  - {port: b, to: {address: 10.1.0.0/24, udp: 5000-5999}, format: paper, messages: 255, " \
	"senders: [10.2.0.0/16, 10.3.0.1], "                                                       \
	"max_delay: 0, max_message: 22, mtu: 9000, from: {address: 10.0.0.1, udp: 65535}}\n"       \
	"  - {port: a, to: {address: \"fd00:1::/32\", udp: 1}, max_delay: 10us, "                  \
	"senders: \"fd00::/64\", from: {address: "                                                 \
	"\"fd00::1\", udp: 1}}\n"                                                                  \
	"disaggregate:\n"                                                                          \
	"  - {port: b, to: {address: \"fd00::9\", udp: \"1-65535\"}, pace: true, gap: 100ns, "     \
	"senders: [\"fd00::/64\", \"fd01::1\"]}\n"                                                 \
	"  - {port: a, to: {address: 10.1.0.9, udp: 7}, format: paper, senders: 10.9.9.9}\n"       \
	"aggregation: {streams: 1048576, queue: 1000}\n"

static void everything_is_read(void **state)
{
	struct bp_config *c = accepted(FULL);
	const struct bp_agg_rule *a = bp_config_aggregation(c)->rules.aggregate;
	const struct bp_disagg_rule *d = bp_config_aggregation(c)->rules.disaggregate;

	assert_true(bp_config_aggregation(c)->rules.n_aggregate == 2 &&
		    bp_config_aggregation(c)->rules.n_disaggregate == 2);
	assert_int_equal(a[0].port, 1);
	assert_true(is_prefix4(&a[0].to.address, 10, 1, 0, 0, 24));
	assert_true(a[0].to.udp_first == 5000 && a[0].to.udp_last == 5999);
	assert_int_equal(a[0].format, BP_AGG_FORMAT_PAPER);
	assert_int_equal(a[0].n_senders, 2);
	assert_true(is_prefix4(&a[0].senders[0], 10, 2, 0, 0, 16));
	assert_true(is_prefix4(&a[0].senders[1], 10, 3, 0, 1, 32));
	assert_int_equal(a[1].n_senders, 1);
	assert_true(a[1].senders[0].family == 6 && a[1].senders[0].length == 64);
	assert_int_equal(a[0].messages, 255);
	assert_int_equal(a[0].max_delay_ns, 0);
	assert_int_equal(a[0].max_message, 22);
	assert_int_equal(a[0].mtu, 9000);
	assert_true(a[0].from.family == 4 && a[0].from.bytes[0] == 10 && a[0].from.bytes[3] == 1);
	assert_int_equal(a[0].from_udp, 65535);
	assert_true(a[1].to.address.family == 6 && a[1].to.address.length == 32);
	assert_int_equal(a[1].max_delay_ns, 10000);
	assert_true(a[1].from.family == 6 && a[1].from_udp == 1);
	assert_int_equal(d[0].port, 1);
	assert_true(d[0].to.address.family == 6 && d[0].to.address.length == 128);
	assert_true(d[0].to.udp_first == 1 && d[0].to.udp_last == 65535);
	assert_true(d[0].pace);
	assert_int_equal(d[0].gap_ns, 100);
	assert_int_equal(d[0].n_senders, 2);
	assert_true(d[0].senders[0].family == 6 && d[0].senders[0].length == 64);
	assert_true(d[0].senders[1].family == 6 && d[0].senders[1].length == 128);
	assert_int_equal(d[1].format, BP_AGG_FORMAT_PAPER);
	assert_int_equal(d[1].n_senders, 1);
	assert_true(is_prefix4(&d[1].senders[0], 10, 9, 9, 9, 32));
	assert_true(bp_config_aggregation(c)->streams == 1048576 &&
		    bp_config_aggregation(c)->queue == 1024);
	bp_config_free(c);
}

/* What is dumped means the same to the byte, and is dumped the same. */
static void dumps_come_back(void **state)
{
	static const char *const texts[] = {FULL, BRIDGED "aggregate:\n" AGG(""),
		BRIDGED "disaggregate:\n" DISAGG6(""), BRIDGED "aggregation: {queue: 17}\n"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bp_config *a = accepted(texts[i]), *b = come_back(a);

		assert_memory_equal(&bp_config_aggregation(a)->rules,
			&bp_config_aggregation(b)->rules, sizeof(bp_config_aggregation(a)->rules));
		assert_int_equal(bp_config_aggregation(a)->queue, bp_config_aggregation(b)->queue);
		bp_config_free(a);
		bp_config_free(b);
	}
}

static void as_it_is_dumped(void **state)
{
	struct bp_config *c = accepted(FULL);
	char *text = dump(c);
	const char *from = strstr(text, "\naggregate:"), *to;

	assert_non_null(from);
	to = strstr(from, "\naggregation:");
	assert_non_null(to);
	text[to - text] = '\0';
	assert_string_equal(from,
		"\naggregate:\n"
		"  - port: \"b\"\n    to:\n      address: \"10.1.0.0/24\"\n      udp: 5000-5999\n"
		"    format: paper\n    senders: [\"10.2.0.0/16\", \"10.3.0.1\"]\n"
		"    messages: 255\n    max_delay: 0\n    max_message: 22\n"
		"    mtu: 9000\n    from:\n      address: 10.0.0.1\n      udp: 65535\n"
		"  - port: \"a\"\n    to:\n      address: \"fd00:1::/32\"\n      udp: 1\n"
		"    format: full\n    senders: [\"fd00::/64\"]\n"
		"    messages: 8\n    max_delay: 10us\n    max_message: 1024\n"
		"    mtu: 0\n    from:\n      address: \"fd00::1\"\n      udp: 1\n"
		"disaggregate:\n"
		"  - port: \"b\"\n    to:\n      address: \"fd00::9\"\n      udp: 1-65535\n"
		"    format: full\n    senders: [\"fd00::/64\", \"fd01::1\"]\n    pace: true\n"
		"    gap: 100ns\n"
		"  - port: \"a\"\n    to:\n      address: \"10.1.0.9\"\n      udp: 7\n"
		"    format: paper\n    senders: [\"10.9.9.9\"]\n    pace: false\n    gap: 10us");
	free(text);
	bp_config_free(c);
}

static void what_must_be_given(void **state)
{
	says(BRIDGED "aggregate:\n  - {format: full}\n",
		"f.yaml:4:5: aggregate[0] has no 'port'; expected the name of one of the ports\n"
		"f.yaml:4:5: aggregate[0] has no 'to'; expected a mapping of settings\n");
	says(BRIDGED "aggregate:\n  - {port: a, to: {}, from: {}}\n",
		"f.yaml:4:19: aggregate[0].to has no 'address'; expected a unicast IPv4 or IPv6 "
		"address or prefix, such as 10.1.0.9, 10.1.0.0/24 or 2001:db8::/64\n"
		"f.yaml:4:19: aggregate[0].to has no 'udp'; expected a UDP port from 1 to 65535, "
		"or a range of them such as 5000-5999\n"
		"f.yaml:4:29: aggregate[0].from has no 'address'; expected a unicast IPv4 or IPv6 "
		"address such as 192.0.2.10 or 2001:db8::10\n"
		"f.yaml:4:29: aggregate[0].from has no 'udp'; expected a whole number from 1 to "
		"65535\n");
	says(BRIDGED "disaggregate:\n  - {senders: 10.0.0.1}\n",
		"f.yaml:4:5: disaggregate[0] has no 'port'; expected the name of one of the ports\n"
		"f.yaml:4:5: disaggregate[0] has no 'to'; expected a mapping of settings\n");
	says(BRIDGED "aggregate:\n  - {port: a, to: 10.1.0.9}\n",
		"f.yaml:4:19: aggregate[0].to: a single value stands here; expected a mapping of "
		"settings\n");
	says(BRIDGED "aggregate:\n" AGG(", sender: 1"),
		"f.yaml:4:51: unknown setting 'sender'; did you mean 'senders'?\n");
	says(BRIDGED "aggregate:\n" AGG(", pace: 1"),
		"f.yaml:4:51: unknown setting 'pace' in aggregate[0]; expected one of: port, to, "
		"format, senders, messages, max_delay, max_message, mtu, from\n");
	says(BRIDGED "disaggregate:\n" DISAGG(", sender: 1"),
		"f.yaml:4:75: unknown setting 'sender'; did you mean 'senders'?\n");
}

#define HOSTS                                                                                      \
	"expected a unicast IPv4 or IPv6 address or prefix, such as 10.1.0.9, 10.1.0.0/24 or "     \
	"2001:db8::/64\n"
#define SENDERS                                                                                    \
	"expected a list of at most 16 different unicast addresses or prefixes of IPv4 or IPv6, "  \
	"such as [10.0.0.0/24, 10.0.9.1]\n"

static void values_that_are_none(void **state)
{
	says(BRIDGED "aggregate:\n  - {port: c, to: {address: 224.0.0.9, udp: 0}}\n",
		"f.yaml:4:12: aggregate[0].port: there is no port 'c'; expected the name of one of "
		"the ports\n"
		"f.yaml:4:29: aggregate[0].to.address: 224.0.0.9 is multicast; " HOSTS
		"f.yaml:4:45: aggregate[0].to.udp: 0 is too small; expected a UDP port from 1 to "
		"65535, or a range of them such as 5000-5999\n");
	says(BRIDGED "disaggregate:\n" DISAGG(", gap: 99ns, pace: 1"),
		"f.yaml:4:80: disaggregate[0].gap: 99ns is too small; expected a duration from "
		"100ns to 1s\n"
		"f.yaml:4:92: disaggregate[0].pace: '1' is neither true nor false; expected true "
		"or false\n");
	says(BRIDGED "disaggregate:\n  - port: b\n    to: {address: 10.1.0.9, udp: 5555}\n"
		     "    senders: [10.0.0.0/24, 127.0.0.0/8, 10.0.0.0/24, 239.1.0.0/16, \"::1\", "
		     "10.0.0.9/24]\n",
		"f.yaml:6:28: disaggregate[0].senders: 127.0.0.0/8 is loopback; " SENDERS
		"f.yaml:6:41: disaggregate[0].senders: 10.0.0.0/24 is given twice; " SENDERS
		"f.yaml:6:54: disaggregate[0].senders: 239.1.0.0/16 is multicast; " SENDERS
		"f.yaml:6:68: disaggregate[0].senders: ::1 is loopback; " SENDERS
		"f.yaml:6:75: disaggregate[0].senders: 10.0.0.9/24 has bits set beyond its length, "
		"the prefix it is in is 10.0.0.0/24; " SENDERS);
	says(BRIDGED "aggregate:\n  - port: a\n    to: {address: 10.1.0.9, udp: 5555}\n"
		     "    senders: [10.0.0.0/24, 127.0.0.0/8, 10.0.0.0/24, 239.1.0.0/16]\n",
		"f.yaml:6:28: aggregate[0].senders: 127.0.0.0/8 is loopback; " SENDERS
		"f.yaml:6:41: aggregate[0].senders: 10.0.0.0/24 is given twice; " SENDERS
		"f.yaml:6:54: aggregate[0].senders: 239.1.0.0/16 is multicast; " SENDERS);
}

static void families_agree(void **state)
{
	says(BRIDGED "aggregate:\n" AGG(", from: {address: \"fd00::1\", udp: 1}"),
		"f.yaml:4:67: aggregate[0].from.address: to.address is IPv4; expected an IPv4 "
		"address\n");
	says(BRIDGED "aggregate:\n" AGG6(", from: {address: 10.0.0.1, udp: 1}"),
		"f.yaml:4:68: aggregate[0].from.address: to.address is IPv6; expected an IPv6 "
		"address\n");
	says(BRIDGED "aggregate:\n" AGG6(", format: paper"),
		"f.yaml:4:29: aggregate[0].to.address: format paper is for IPv4 alone; expected an "
		"IPv4 address or prefix, or format full\n");
	says(BRIDGED "disaggregate:\n" DISAGG6(", format: paper"),
		"f.yaml:4:29: disaggregate[0].to.address: format paper is for IPv4 alone; expected "
		"an IPv4 address or prefix, or format full\n");
	says(BRIDGED "disaggregate:\n  - {port: b, to: {address: 10.1.0.9, udp: 1}, senders: "
		     "[10.0.0.1, \"fd00::/64\", \"::/0\"]}\n",
		"f.yaml:4:68: disaggregate[0].senders: fd00::/64 sends nothing to IPv4; expected "
		"addresses and prefixes of IPv4\n"
		"f.yaml:4:81: disaggregate[0].senders: ::/0 sends nothing to IPv4; expected "
		"addresses and prefixes of IPv4\n");
	says(BRIDGED "disaggregate:\n  - {port: b, to: {address: \"fd00::9\", udp: 1}, senders: "
		     "10.0.0.1}\n",
		"f.yaml:4:58: disaggregate[0].senders: 10.0.0.1/32 sends nothing to IPv6; expected "
		"addresses and prefixes of IPv6\n");
	says(BRIDGED "aggregate:\n" AGG(", senders: [10.0.0.1, \"::/0\"]"),
		"f.yaml:4:71: aggregate[0].senders: ::/0 sends nothing to IPv4; expected addresses "
		"and prefixes of IPv4\n");
	says(BRIDGED "aggregate:\n" AGG6(", senders: 10.0.0.1"),
		"f.yaml:4:61: aggregate[0].senders: 10.0.0.1/32 sends nothing to IPv6; expected "
		"addresses and prefixes of IPv6\n");
}

/* Who may be restored is said, or nobody may. */
static void senders_are_warned_of(void **state)
{
	static const char none[] = ": there are no senders, so every aggregate is refused; "
				   "expected those that messages may be from, such as senders: "
				   "[10.0.0.0/24]\n";
	char text[256];

	snprintf(text, sizeof(text), "f.yaml:4:5: warning: disaggregate[0]%s", none);
	says(BRIDGED "disaggregate:\n  - {port: b, to: {address: 10.1.0.9, udp: 5555}}\n", text);
	snprintf(text, sizeof(text), "f.yaml:4:60: warning: disaggregate[0]%s", none);
	says(BRIDGED "disaggregate:\n  - {port: b, to: {address: 10.1.0.9, udp: 5555}, senders: "
		     "[]}\n",
		text);
	says(BRIDGED "disaggregate:\n  - {port: b, to: {address: 10.1.0.9, udp: 5555}, senders: "
		     "[10.0.0.1, 0.0.0.0/0]}\n",
		"f.yaml:4:71: warning: disaggregate[0].senders: with 0.0.0.0/0 whoever can send "
		"here can send in anybody's name; expected the prefixes of the senders\n");
	/* to aggregate what all send is no danger by itself */
	says(BRIDGED "aggregate:\n" AGG(", senders: [10.0.0.1, 0.0.0.0/0]"), "");
	says(BRIDGED "aggregate:\n" AGG(", senders: []"), "");
	says(BRIDGED "disaggregate:\n" DISAGG(", gap: 1us"),
		"f.yaml:4:75: warning: disaggregate[0].gap: without pace: true it does nothing; "
		"expected both, or neither\n");
	says(BRIDGED "disaggregate:\n" DISAGG(", pace: true"), "");
}

#define TO(address, udp) "  - {port: a, to: {address: " address ", udp: " udp "}}\n"

/* An entry that an earlier one leaves nothing for. */
static void entries_that_are_never_reached(void **state)
{
	says(BRIDGED "aggregate:\n" AGG("") AGG(", messages: 2"),
		"f.yaml:5:19: aggregate[1].to: aggregate[0] on line 4 is for all of these on this "
		"port; expected other destinations, or another port\n");
	says(BRIDGED "aggregate:\n" TO("10.0.0.0/8", "1-9") TO("10.1.0.0/16", "9")
			TO("10.0.0.0/8", "1-10") TO("10.0.0.0/7", "1-9") TO("10.9.0.1", "10"),
		"f.yaml:5:19: aggregate[1].to: aggregate[0] on line 4 is for all of these on this "
		"port; expected this entry before it, or other destinations\n"
		"f.yaml:8:19: aggregate[4].to: aggregate[2] on line 6 is for all of these on this "
		"port; expected this entry before it, or other destinations\n");
	says(BRIDGED "disaggregate:\n" DISAGG("") DISAGG(""),
		"f.yaml:5:19: disaggregate[1].to: disaggregate[0] on line 4 is for all of these on "
		"this port; expected other destinations, or another port\n");
	/* The narrow before the wide, other ports, the other family: all are reached. */
	says(BRIDGED "aggregate:\n" TO("10.1.0.9", "5") TO("10.1.0.0/24", "5") TO(
		     "0.0.0.0/0", "5") TO("\"::/0\"", "5") TO("0.0.0.0/0", "6")
			TO("0.0.0.0/0", "4-7") "  - {port: b, to: {address: 10.1.0.9, udp: 5}}\n",
		"");
}

/* On one port either direction of a destination. */
static void a_port_does_not_do_both(void **state)
{
	static const char both[] = "disaggregate[0].to: aggregate[0] on line 4 is for some of "
				   "these on this port; expected other destinations, or the port "
				   "where the aggregates come in\n";
	char text[256];

	snprintf(text, sizeof(text), "f.yaml:6:19: %s", both);
	says(BRIDGED "aggregate:\n" AGG(
		     "") "disaggregate:\n"
			 "  - {port: a, to: {address: 10.1.0.0/24, udp: 5555-5556}, senders: "
			 "10.0.0.1}\n",
		text);
	says(BRIDGED
		"aggregate:\n" TO("10.0.0.0/8", "1-5555") "disaggregate:\n"
							  "  - {port: a, to: {address: 10.1.0.9, "
							  "udp: 5555-5556}, senders: 10.0.0.1}\n",
		text);
	says(BRIDGED "aggregate:\n" AGG("") AGG6(
		     "") "disaggregate:\n"
			 "  - {port: a, to: {address: 10.1.0.9, udp: 5556}, senders: 10.0.0.1}\n"
			 "  - {port: a, to: {address: 10.1.0.8, udp: 5555}, senders: 10.0.0.1}\n"
			 "  - {port: b, to: {address: 10.1.0.9, udp: 5555}, senders: 10.0.0.1}\n",
		"");
}

#define SIZED(mtu_a, mtu_b)                                                                        \
	"ports: [{name: a, device: x" mtu_a "}, {name: b, device: y" mtu_b "}]\nbridge: [[a, "     \
	"b]]\n"
#define NO_ROOM(at, least, mtu, n)                                                                 \
	"f.yaml:4:" at ": warning: aggregate[0].messages: at most " least                          \
	" fit in an IP packet of " mtu " octets, so that no aggregate ever holds " n               \
	"; expected fewer, or a greater mtu\n"
#define NO_ROOM_FOR(at, mtu, most)                                                                 \
	"f.yaml:4:" at ": warning: aggregate[0].max_message: an aggregate of " mtu                 \
	" octets has no room for a message of more than " most                                     \
	", which goes on as it came; expected no more, or a greater mtu\n"

/* What never fits, where it can be told; docs/aggregation-format.md has the sums. */
static void sizes_are_warned_of(void **state)
{
	says(BRIDGED "aggregate:\n" AGG(", format: paper, mtu: 1500, messages: 91"), "");
	says(BRIDGED "aggregate:\n" AGG(", format: paper, mtu: 1500, messages: 92"),
		NO_ROOM("87", "91", "1500", "92"));
	says(BRIDGED "aggregate:\n" AGG(", format: paper, mtu: 128"),
		NO_ROOM("5", "5", "128", "8"));
	/* 28 of headers, 16 and 9 of the first message, and 1 for each further one */
	says(BRIDGED "aggregate:\n" AGG(", mtu: 128, messages: 76"), "");
	says(BRIDGED "aggregate:\n" AGG(", mtu: 128, messages: 77"),
		NO_ROOM("71", "76", "128", "77"));
	says(BRIDGED "aggregate:\n" AGG6(", mtu: 128, messages: 44"), "");
	says(BRIDGED "aggregate:\n" AGG6(", mtu: 128, messages: 45"),
		NO_ROOM("72", "44", "128", "45"));
	/* 28 + 16 + 10 with a length of two octets, or 9 with one */
	says(BRIDGED "aggregate:\n" AGG(", mtu: 1500, max_message: 1446"), "");
	says(BRIDGED "aggregate:\n" AGG(", mtu: 1500, max_message: 1447"),
		NO_ROOM_FOR("75", "1500", "1446"));
	says(BRIDGED "aggregate:\n" AGG(", mtu: 309, max_message: 256"),
		NO_ROOM_FOR("74", "309", "255"));
	says(BRIDGED "aggregate:\n" AGG(", mtu: 308, max_message: 256"),
		NO_ROOM_FOR("74", "308", "255"));
	says(BRIDGED "aggregate:\n" AGG(", mtu: 310, max_message: 256"), "");
	says(BRIDGED "aggregate:\n" AGG(", mtu: 307, max_message: 255"),
		NO_ROOM_FOR("74", "307", "254"));
	says(BRIDGED "aggregate:\n" AGG6(", mtu: 128, max_message: 44"),
		NO_ROOM_FOR("75", "128", "43"));
	/* The default is said nowhere, and its bound is the MTU. */
	says(BRIDGED "aggregate:\n" AGG(", mtu: 128"), "");
	/* Without mtu, the least of the ports', if the file gives any. */
	says(SIZED("", "") "aggregate:\n" AGG(", format: paper, messages: 255"), "");
	says(SIZED(", mtu: 9000", ", mtu: 1500") "aggregate:\n" AGG(
		     ", format: paper, messages: 92"),
		NO_ROOM("76", "91", "1500", "92"));
	says(SIZED(", mtu: 68", "") "aggregate:\n" AGG6(", max_message: 0"),
		NO_ROOM("5", "0", "68", "8") NO_ROOM_FOR("65", "68", "0"));
	says(BRIDGED "aggregate:\n" AGG(", format: paper, max_message: 22"), "");
	says(BRIDGED "aggregate:\n" AGG(", format: paper, max_message: 21"),
		"f.yaml:4:79: aggregate[0].max_message: a message of format paper has 22 octets; "
		"expected at least as many\n");
}

static void other_ports_take_less(void **state)
{
	says(SIZED("", ", mtu: 1500") "aggregate:\n" AGG(", mtu: 1501"),
		"f.yaml:4:56: warning: aggregate[0].mtu: port 'b' takes no more than 1500 octets; "
		"expected at most as many, if aggregates leave by it\n");
	says(SIZED("", ", mtu: 1500") "aggregate:\n" AGG(", mtu: 1500"), "");
	/* The port that they come in on need not take them. */
	says(SIZED(", mtu: 1500", ", mtu: 9000") "aggregate:\n" AGG(", mtu: 9000"), "");
}

#define ROUTED                                                                                     \
	"ports: [{name: a, device: x, addresses: [10.0.0.1/24, \"fd00::1/64\"]}, {name: b, "       \
	"device: y}]\nphd: {cse: {address: 10.1.0.20}}\n"

/* The manager of health devices reads no aggregates. */
static void own_ports_are_left_alone(void **state)
{
	says(ROUTED "aggregate:\n" TO("10.0.0.1", "6024"),
		"f.yaml:4:19: aggregate[0].to: among these is phd.listen.udp of 10.0.0.1, "
		"biplane's own, where it reads no aggregates; expected destinations without it\n");
	says(ROUTED "aggregate:\n" TO("\"fd00::/16\"", "1-65535"),
		"f.yaml:4:19: aggregate[0].to: among these is phd.listen.udp of fd00::1, biplane's "
		"own, where it reads no aggregates; expected destinations without it\n");
	says(ROUTED "aggregate:\n" TO("10.0.0.0/8", "29999-40000"),
		"f.yaml:4:19: aggregate[0].to: among these is phd.cse.source_ports of 10.0.0.1, "
		"biplane's own, where it reads no aggregates; expected destinations without it\n");
	says(ROUTED "aggregate:\n" TO("10.0.0.2", "6024") TO("10.0.0.1", "30000"), "");
	/* What is taken apart before it comes there is welcome. */
	says(ROUTED "disaggregate:\n  - {port: a, to: {address: 10.0.0.1, udp: 6024}, senders: "
		    "10.0.0.0/24}\n",
		"");
}

/* The list of as many entries of different ports, and what the parse says. */
static struct outcome many(const char *list, const char *more, unsigned n)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct outcome o;

	fprintf(f, PORTS "%s:\n", list);
	for (unsigned i = 1; i <= n; i++)
		fprintf(f, "  - {port: a, to: {address: 10.1.0.9, udp: %u}%s}\n", i, more);
	assert_int_equal(fclose(f), 0);
	o = parse(text);
	free(text);
	return o;
}

static void lists_are_bounded(void **state)
{
	struct outcome o = many("aggregate", "", BP_AGG_RULES_MAX);

	assert_string_equal(o.errors, "");
	assert_int_equal(bp_config_aggregation(o.config)->rules.n_aggregate, BP_AGG_RULES_MAX);
	assert_int_equal(bp_config_aggregation(o.config)->rules.aggregate[31].to.udp_last, 32);
	end(&o);
	o = many("disaggregate", ", senders: 10.0.0.1", BP_AGG_RULES_MAX);
	assert_string_equal(o.errors, "");
	assert_int_equal(bp_config_aggregation(o.config)->rules.n_disaggregate, BP_AGG_RULES_MAX);
	assert_int_equal(bp_config_aggregation(o.config)->rules.disaggregate[31].to.udp_last, 32);
	end(&o);
	o = many("aggregate", "", BP_AGG_RULES_MAX + 1);
	assert_string_equal(o.errors,
		"f.yaml:3:3: aggregate: 33 are given; expected a list of at most 32 mappings\n");
	end(&o);
	o = many("disaggregate", ", senders: 10.0.0.1", BP_AGG_RULES_MAX + 1);
	assert_string_equal(o.errors,
		"f.yaml:3:3: disaggregate: 33 are given; expected a list of at most 32 mappings\n");
	end(&o);
}

static void what_a_reload_takes_over(void **state)
{
	static const char one[] = BRIDGED "aggregate:\n" AGG("");
	static const char other[] = BRIDGED "disaggregate:\n" DISAGG("");

	needs(one, BRIDGED "aggregate:\n" AGG6(", messages: 2, format: full") AGG(", mtu: 500"),
		"");
	needs(one, other, "");
	needs(other, BRIDGED "aggregate:\n" AGG("") "disaggregate:\n" DISAGG(", pace: true"), "");
	needs(one, FULL,
		"aggregation.streams: changing it needs a restart\n"
		"aggregation.queue: changing it needs a restart\n");
	/* It is the rounded one that counts. */
	needs(BRIDGED "aggregation: {queue: 4000}\n", BRIDGED, "");
	needs(BRIDGED, BRIDGED "aggregate: []\n", "");
	needs(BRIDGED, one, "aggregate: adding the first entry needs a restart\n");
	needs(BRIDGED, other, "disaggregate: adding the first entry needs a restart\n");
	needs(one, BRIDGED, "aggregate: removing the last entry needs a restart\n");
	needs(other, BRIDGED, "disaggregate: removing the last entry needs a restart\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(dumps_come_back),
		cmocka_unit_test(as_it_is_dumped),
		cmocka_unit_test(what_must_be_given),
		cmocka_unit_test(values_that_are_none),
		cmocka_unit_test(families_agree),
		cmocka_unit_test(senders_are_warned_of),
		cmocka_unit_test(entries_that_are_never_reached),
		cmocka_unit_test(a_port_does_not_do_both),
		cmocka_unit_test(sizes_are_warned_of),
		cmocka_unit_test(other_ports_take_less),
		cmocka_unit_test(own_ports_are_left_alone),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(what_a_reload_takes_over),
	};

	return cmocka_run_group_tests_name("config aggregation", tests, NULL, NULL);
}
