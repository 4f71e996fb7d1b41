/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "config_test.h"

/* Section aggregation; test_settings.c has each setting's bounds. */

#define ENC "aggregation:\n  encapsulate:\n"
#define DEC "aggregation:\n  decapsulate:\n"
#define AND_DEC "  decapsulate:\n"
#define AGG(more) "  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}" more "}\n"
#define AGG6(more) "  - {port: a, to: {address: \"fd00::9\", udp_port: 5555}" more "}\n"
#define DISAGG(more)                                                                               \
	"  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: "                 \
	"[10.0.0.0/24]" more "}\n"
#define DISAGG6(more)                                                                              \
	"  - {port: b, to: {address: \"fd00::9\", udp_port: 5555}, allowed_senders: "              \
	"[\"fd00::/64\"]" more "}\n"

static bool is_prefix4(
	const struct bp_prefix *p, uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t length)
{
	const struct bp_prefix want = {.bytes = {a, b, c, d}, .family = 4, .length = length};

	return memcmp(p, &want, sizeof(want)) == 0;
}

static void defaults_of_an_entry(void **state)
{
	struct bp_config *c = accepted(BRIDGED ENC AGG("") AND_DEC DISAGG(""));
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
	assert_int_equal(d->gap_ns, 0);
	assert_true(bp_config_aggregation(c)->max_streams == 1024 &&
		    bp_config_aggregation(c)->pacing_queue_len == 4096);
	bp_config_free(c);
	c = accepted(BRIDGED "aggregation: {encapsulate: [], decapsulate: ~}\n");
	assert_false(bp_config_aggregates(c));
	assert_true(bp_config_aggregation(c)->max_streams == 1024 &&
		    bp_config_aggregation(c)->pacing_queue_len == 4096);
	bp_config_free(c);
}

#define FULL                                                                                       \
	BRIDGED                                                                                    \
	ENC "  - {port: b, to: {address: 10.1.0.0/24, udp_port: 5000-5999}, format: lin2018, "     \
	    "max_messages: 255, "                                                                  \
	    "allowed_senders: [10.2.0.0/16, 10.3.0.1], "                                           \
	    "max_delay: unlimited, max_message_size: 22, mtu: 9000, source: {address: 10.0.0.1, "  \
	    "udp_port: 65535}}\n"                                                                  \
	    "  - {port: a, to: {address: \"fd00:1::/32\", udp_port: 1}, max_delay: 10us, "         \
	    "allowed_senders: \"fd00::/64\", source: {address: "                                   \
	    "\"fd00::1\", udp_port: 1}}\n" AND_DEC                                                 \
	    "  - {port: b, to: {address: \"fd00::9\", udp_port: \"1-65535\"}, pacing_gap: 100ns, " \
	    "allowed_senders: [\"fd00::/64\", \"fd01::1\"]}\n"                                     \
	    "  - {port: a, to: {address: 10.1.0.9, udp_port: 7}, format: lin2018, "                \
	    "allowed_senders: 10.9.9.9}\n"                                                         \
	    "  max_streams: 1048576\n  pacing_queue_len: 1000\n"

static void all_sections_are_read(void **state)
{
	struct bp_config *c = accepted(FULL);
	const struct bp_agg_rule *a = bp_config_aggregation(c)->rules.aggregate;
	const struct bp_disagg_rule *d = bp_config_aggregation(c)->rules.disaggregate;

	assert_true(bp_config_aggregation(c)->rules.n_aggregate == 2 &&
		    bp_config_aggregation(c)->rules.n_disaggregate == 2);
	assert_int_equal(a[0].port, 1);
	assert_true(is_prefix4(&a[0].to.address, 10, 1, 0, 0, 24));
	assert_true(a[0].to.udp_first == 5000 && a[0].to.udp_last == 5999);
	assert_int_equal(a[0].format, BP_AGG_FORMAT_LIN2018);
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
	assert_int_equal(d[0].gap_ns, 100);
	assert_int_equal(d[0].n_senders, 2);
	assert_true(d[0].senders[0].family == 6 && d[0].senders[0].length == 64);
	assert_true(d[0].senders[1].family == 6 && d[0].senders[1].length == 128);
	assert_int_equal(d[1].format, BP_AGG_FORMAT_LIN2018);
	assert_int_equal(d[1].n_senders, 1);
	assert_true(is_prefix4(&d[1].senders[0], 10, 9, 9, 9, 32));
	assert_true(bp_config_aggregation(c)->max_streams == 1048576 &&
		    bp_config_aggregation(c)->pacing_queue_len == 1024);
	bp_config_free(c);
}

/* A dump that is read again gives the same bytes, and the same dump. */
static void dumps_come_back(void **state)
{
	static const char *const texts[] = {FULL, BRIDGED ENC AGG(""), BRIDGED DEC DISAGG6(""),
		BRIDGED "aggregation: {pacing_queue_len: 17}\n"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bp_config *a = accepted(texts[i]), *b = come_back(a);

		assert_memory_equal(&bp_config_aggregation(a)->rules,
			&bp_config_aggregation(b)->rules, sizeof(bp_config_aggregation(a)->rules));
		assert_int_equal(bp_config_aggregation(a)->pacing_queue_len,
			bp_config_aggregation(b)->pacing_queue_len);
		bp_config_free(a);
		bp_config_free(b);
	}
}

static void equals_the_dump(void **state)
{
	struct bp_config *c = accepted(FULL);
	char *text = dump(c);
	const char *from = strstr(text, "\naggregation:"), *to;

	assert_non_null(from);
	to = strstr(from, "\ntransform:");
	assert_non_null(to);
	text[to - text] = '\0';
	assert_string_equal(from,
		"\naggregation:\n  max_streams: 1048576\n  pacing_queue_len: 1024\n"
		"  encapsulate:\n"
		"    - port: \"b\"\n      to:\n        address: \"10.1.0.0/24\"\n"
		"        udp_port: 5000-5999\n      format: lin2018\n"
		"      allowed_senders: [\"10.2.0.0/16\", \"10.3.0.1\"]\n"
		"      max_messages: 255\n      max_delay: unlimited\n"
		"      max_message_size: 22\n      mtu: 9000\n"
		"      source:\n        address: 10.0.0.1\n        udp_port: 65535\n"
		"    - port: \"a\"\n      to:\n        address: \"fd00:1::/32\"\n"
		"        udp_port: 1\n      format: full\n"
		"      allowed_senders: [\"fd00::/64\"]\n"
		"      max_messages: 8\n      max_delay: 10us\n"
		"      max_message_size: 1024\n      mtu: auto\n"
		"      source:\n        address: \"fd00::1\"\n        udp_port: 1\n"
		"  decapsulate:\n"
		"    - port: \"b\"\n      to:\n        address: \"fd00::9\"\n"
		"        udp_port: 1-65535\n      format: full\n"
		"      allowed_senders: [\"fd00::/64\", \"fd01::1\"]\n"
		"      pacing_gap: 100ns\n"
		"    - port: \"a\"\n      to:\n        address: \"10.1.0.9\"\n"
		"        udp_port: 7\n      format: lin2018\n"
		"      allowed_senders: [\"10.9.9.9\"]\n      pacing_gap: off");
	free(text);
	bp_config_free(c);
}

#define HOSTS                                                                                      \
	"expected a unicast IPv4 or IPv6 address or prefix, such as 10.1.0.9, 10.1.0.0/24 or "     \
	"2001:db8::/64\n"
#define SENDERS                                                                                    \
	"expected a list of at most 16 different unicast IPv4 or IPv6 addresses or prefixes, "     \
	"such as [10.0.0.0/24, 10.0.9.1]\n"

static void required_settings(void **state)
{
	says(BRIDGED ENC "  - {format: full}\n", "f.yaml:5:5: aggregation.encapsulate[0] has no "
						 "'port'; expected the name of one of the ports\n"
						 "f.yaml:5:5: aggregation.encapsulate[0] has no "
						 "'to'; expected a mapping of settings\n");
	says(BRIDGED ENC "  - {port: a, to: {}, source: {}}\n",
		"f.yaml:5:19: aggregation.encapsulate[0].to has no 'address'; expected a unicast "
		"IPv4 or IPv6 address or prefix, such as 10.1.0.9, 10.1.0.0/24 or 2001:db8::/64\n"
		"f.yaml:5:19: aggregation.encapsulate[0].to has no 'udp_port'; expected a UDP port "
		"from 1 to 65535, or a range such as 5000-5999\n"
		"f.yaml:5:31: aggregation.encapsulate[0].source has no 'address'; expected a "
		"unicast IPv4 or IPv6 address such as 192.0.2.10 or 2001:db8::10\n"
		"f.yaml:5:31: aggregation.encapsulate[0].source has no 'udp_port'; expected a "
		"whole number from 1 to 65535\n");
	says(BRIDGED DEC "  - {allowed_senders: 10.0.0.1}\n",
		"f.yaml:5:5: aggregation.decapsulate[0] has no 'port'; expected the name of one of "
		"the ports\n"
		"f.yaml:5:5: aggregation.decapsulate[0] has no 'to'; expected a mapping of "
		"settings\n");
	says(BRIDGED ENC "  - {port: a, to: 10.1.0.9}\n",
		"f.yaml:5:19: aggregation.encapsulate[0].to: found a single value; expected "
		"a mapping of settings\n");
	says(BRIDGED ENC AGG(", max_mesages: 1"),
		"f.yaml:5:56: unknown setting 'max_mesages'; did you mean 'max_messages'?\n");
	says(BRIDGED ENC AGG(", pace: 1"),
		"f.yaml:5:56: unknown setting 'pace' in aggregation.encapsulate[0]; expected one "
		"of: port, to, format, allowed_senders, max_messages, max_delay, max_message_size, "
		"mtu, source\n");
	says(BRIDGED DEC DISAGG(", pacing_gab: 1us"),
		"f.yaml:5:88: unknown setting 'pacing_gab'; did you mean 'pacing_gap'?\n");
	says(BRIDGED DEC "  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}}\n",
		"f.yaml:5:5: aggregation.decapsulate[0] has no 'allowed_senders'; " SENDERS);
}

static void invalid_values(void **state)
{
	says(BRIDGED ENC "  - {port: c, to: {address: 224.0.0.9, udp_port: 0}}\n",
		"f.yaml:5:12: aggregation.encapsulate[0].port: there is no port 'c'; expected the "
		"name of one of the ports\n"
		"f.yaml:5:29: aggregation.encapsulate[0].to.address: 224.0.0.9 is multicast; " HOSTS
		"f.yaml:5:50: aggregation.encapsulate[0].to.udp_port: 0 is too small; expected a "
		"UDP port from 1 to 65535, or a range such as 5000-5999\n");
	says(BRIDGED DEC DISAGG(", pacing_gap: 99ns"),
		"f.yaml:5:100: aggregation.decapsulate[0].pacing_gap: 99ns is too small; expected "
		"a "
		"duration from 100ns to 1s, or off\n");
	says(BRIDGED DEC "  - port: b\n    to: {address: 10.1.0.9, udp_port: 5555}\n"
			 "    allowed_senders: [10.0.0.0/24, 127.0.0.0/8, 10.0.0.0/24, "
			 "239.1.0.0/16, \"::1\", "
			 "10.0.0.9/24]\n",
		"f.yaml:7:36: aggregation.decapsulate[0].allowed_senders: 127.0.0.0/8 is "
		"loopback; " SENDERS "f.yaml:7:49: aggregation.decapsulate[0].allowed_senders: "
		"10.0.0.0/24 is given twice; " SENDERS
		"f.yaml:7:62: aggregation.decapsulate[0].allowed_senders: 239.1.0.0/16 is "
		"multicast; " SENDERS
		"f.yaml:7:76: aggregation.decapsulate[0].allowed_senders: ::1 is loopback; " SENDERS
		"f.yaml:7:83: aggregation.decapsulate[0].allowed_senders: 10.0.0.9/24 has bits set "
		"beyond its length; its prefix is 10.0.0.0/24; " SENDERS);
	says(BRIDGED ENC
		"  - port: a\n    to: {address: 10.1.0.9, udp_port: 5555}\n"
		"    allowed_senders: [10.0.0.0/24, 127.0.0.0/8, 10.0.0.0/24, 239.1.0.0/16]\n",
		"f.yaml:7:36: aggregation.encapsulate[0].allowed_senders: 127.0.0.0/8 is "
		"loopback; " SENDERS "f.yaml:7:49: aggregation.encapsulate[0].allowed_senders: "
		"10.0.0.0/24 is given twice; " SENDERS
		"f.yaml:7:62: aggregation.encapsulate[0].allowed_senders: 239.1.0.0/16 is "
		"multicast; " SENDERS);
}

static void families_agree(void **state)
{
	says(BRIDGED ENC AGG(", source: {address: \"fd00::1\", udp_port: 1}"),
		"f.yaml:5:74: aggregation.encapsulate[0].source.address: to.address is IPv4; "
		"expected an IPv4 address\n");
	says(BRIDGED ENC AGG6(", source: {address: 10.0.0.1, udp_port: 1}"),
		"f.yaml:5:75: aggregation.encapsulate[0].source.address: to.address is IPv6; "
		"expected an IPv6 address\n");
	says(BRIDGED ENC AGG6(", format: lin2018"),
		"f.yaml:5:29: aggregation.encapsulate[0].to.address: format lin2018 supports IPv4 "
		"only; expected an IPv4 address or prefix, or format full\n");
	says(BRIDGED DEC DISAGG6(", format: lin2018"),
		"f.yaml:5:29: aggregation.decapsulate[0].to.address: format lin2018 supports IPv4 "
		"only; expected an IPv4 address or prefix, or format full\n");
	says(BRIDGED DEC "  - {port: b, to: {address: 10.1.0.9, udp_port: 1}, allowed_senders: "
			 "[10.0.0.1, \"fd00::/64\", \"::/0\"]}\n",
		"f.yaml:5:81: aggregation.decapsulate[0].allowed_senders: fd00::/64 is IPv6 and "
		"to.address is IPv4; expected IPv4 addresses and prefixes\n"
		"f.yaml:5:94: aggregation.decapsulate[0].allowed_senders: ::/0 is IPv6 and "
		"to.address is IPv4; expected IPv4 addresses and prefixes\n");
	says(BRIDGED DEC "  - {port: b, to: {address: \"fd00::9\", udp_port: 1}, allowed_senders: "
			 "10.0.0.1}\n",
		"f.yaml:5:71: aggregation.decapsulate[0].allowed_senders: 10.0.0.1/32 is IPv4 and "
		"to.address is IPv6; expected IPv6 addresses and prefixes\n");
	says(BRIDGED ENC AGG(", allowed_senders: [10.0.0.1, \"::/0\"]"),
		"f.yaml:5:84: aggregation.encapsulate[0].allowed_senders: ::/0 is IPv6 and "
		"to.address is IPv4; expected IPv4 addresses and prefixes\n");
	says(BRIDGED ENC AGG6(", allowed_senders: 10.0.0.1"),
		"f.yaml:5:74: aggregation.encapsulate[0].allowed_senders: 10.0.0.1/32 is IPv4 and "
		"to.address is IPv6; expected IPv6 addresses and prefixes\n");
}

/* Decapsulation is closed unless the file says from whom messages may be. */
static void senders_must_be_configured(void **state)
{
	says(BRIDGED DEC
		"  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: []}\n",
		"f.yaml:5:73: aggregation.decapsulate[0].allowed_senders: the list is empty, so "
		"every aggregate would be dropped; expected the prefixes of the senders, such as "
		"[10.0.0.0/24]\n");
	says(BRIDGED DEC "  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: "
			 "[10.0.0.1, 0.0.0.0/0]}\n",
		"f.yaml:5:84: warning: aggregation.decapsulate[0].allowed_senders: 0.0.0.0/0 lets "
		"any host that reaches this port spoof any sender; expected the prefixes of the "
		"senders\n");
	/* aggregating the messages of all senders is no danger by itself */
	says(BRIDGED ENC AGG(", allowed_senders: [10.0.0.1, 0.0.0.0/0]"), "");
	says(BRIDGED ENC AGG(", allowed_senders: []"), "");
	says(BRIDGED DEC DISAGG(", pacing_gap: 10us"), "");
}

static void names_before_version_1(void **state)
{
	says(BRIDGED "aggregate: []\ndisaggregate: []\n",
		"f.yaml:3:1: unknown setting 'aggregate' in the file; expected "
		"aggregation.encapsulate, its name in version 1\n"
		"f.yaml:4:1: unknown setting 'disaggregate' in the file; expected "
		"aggregation.decapsulate, its name in version 1\n");
	says(BRIDGED "aggregation: {streams: 1, queue: 16}\n",
		"f.yaml:3:15: unknown setting 'streams' in aggregation; expected "
		"aggregation.max_streams, its name in version 1\n"
		"f.yaml:3:27: unknown setting 'queue' in aggregation; expected "
		"aggregation.pacing_queue_len, its name in version 1\n");
	says(BRIDGED ENC AGG(", senders: [], messages: 8, max_message: 9, from: {}"),
		"f.yaml:5:56: unknown setting 'senders' in aggregation.encapsulate[0]; expected "
		"aggregation.encapsulate[].allowed_senders, its name in version 1\n"
		"f.yaml:5:69: unknown setting 'messages' in aggregation.encapsulate[0]; expected "
		"aggregation.encapsulate[].max_messages, its name in version 1\n"
		"f.yaml:5:82: unknown setting 'max_message' in aggregation.encapsulate[0]; "
		"expected aggregation.encapsulate[].max_message_size, its name in version 1\n"
		"f.yaml:5:98: unknown setting 'from' in aggregation.encapsulate[0]; expected "
		"aggregation.encapsulate[].source, its name in version 1\n");
	says(BRIDGED ENC AGG(", source: {address: 10.0.0.1, udp: 1, udp_port: 1}"),
		"f.yaml:5:84: unknown setting 'udp' in aggregation.encapsulate[0].source; expected "
		"aggregation.encapsulate[].source.udp_port, its name in version 1\n");
	says(BRIDGED ENC AGG(", max_delay: 0, mtu: 0, format: paper"),
		"f.yaml:5:67: aggregation.encapsulate[0].max_delay: '0' has no unit; expected a "
		"duration from 10us to 1h, or unlimited\n"
		"f.yaml:5:75: aggregation.encapsulate[0].mtu: 0 is too small; expected a whole "
		"number from 128 to 65535, or auto\n"
		"f.yaml:5:86: aggregation.encapsulate[0].format: 'paper' is not a valid choice; "
		"expected "
		"full or lin2018\n");
	says(BRIDGED DEC DISAGG(", senders: [], pace: true, gap: 1us"),
		"f.yaml:5:88: unknown setting 'senders' in aggregation.decapsulate[0]; expected "
		"aggregation.decapsulate[].allowed_senders, its name in version 1\n"
		"f.yaml:5:101: unknown setting 'pace' in aggregation.decapsulate[0]; expected "
		"aggregation.decapsulate[].pacing_gap, its name in version 1\n"
		"f.yaml:5:113: unknown setting 'gap' in aggregation.decapsulate[0]; expected "
		"aggregation.decapsulate[].pacing_gap, its name in version 1\n");
}

#define TO(address, udp) "  - {port: a, to: {address: " address ", udp_port: " udp "}}\n"

/* An entry that an earlier one leaves nothing for. */
static void unreachable_entries(void **state)
{
	says(BRIDGED ENC AGG("") AGG(", max_messages: 2"),
		"f.yaml:6:19: aggregation.encapsulate[1].to: aggregation.encapsulate[0] on line 5 "
		"matches all these destinations on this port first; expected other destinations, "
		"or another port\n");
	says(BRIDGED ENC TO("10.0.0.0/8", "1-9") TO("10.1.0.0/16", "9") TO("10.0.0.0/8", "1-10")
			TO("10.0.0.0/7", "1-9") TO("10.9.0.1", "10"),
		"f.yaml:6:19: aggregation.encapsulate[1].to: aggregation.encapsulate[0] on line 5 "
		"matches all these destinations on this port first; expected this entry before "
		"that one, or other destinations\n"
		"f.yaml:9:19: aggregation.encapsulate[4].to: aggregation.encapsulate[2] on line 7 "
		"matches all these destinations on this port first; expected this entry before "
		"that one, or other destinations\n");
	says(BRIDGED DEC DISAGG("") DISAGG(""),
		"f.yaml:6:19: aggregation.decapsulate[1].to: aggregation.decapsulate[0] on line 5 "
		"matches all these destinations on this port first; expected other destinations, "
		"or another port\n");
	/* Longer prefixes before shorter ones, other ports, the other address family: all entries
	 * can match. */
	says(BRIDGED ENC TO("10.1.0.9", "5") TO("10.1.0.0/24", "5") TO("0.0.0.0/0", "5")
			TO("\"::/0\"", "5") TO("0.0.0.0/0", "6") TO("0.0.0.0/0",
				"4-7") "  - {port: b, to: {address: 10.1.0.9, udp_port: 5}}\n",
		"");
}

/* On one port either direction of a destination. */
static void a_port_does_not_do_both(void **state)
{
	static const char both[] = "aggregation.decapsulate[0].to: aggregation.encapsulate[0] on "
				   "line 5 matches some of these destinations on this port; "
				   "expected other destinations, or the port where the aggregates "
				   "arrive\n";
	char text[320];

	snprintf(text, sizeof(text), "f.yaml:7:19: %s", both);
	says(BRIDGED ENC AGG("") AND_DEC
		"  - {port: a, to: {address: 10.1.0.0/24, udp_port: 5555-5556}, allowed_senders: "
		"10.0.0.1}\n",
		text);
	says(BRIDGED ENC TO("10.0.0.0/8", "1-5555") AND_DEC
		"  - {port: a, to: {address: 10.1.0.9, "
		"udp_port: 5555-5556}, allowed_senders: 10.0.0.1}\n",
		text);
	says(BRIDGED ENC AGG("") AGG6("") AND_DEC "  - {port: a, to: {address: 10.1.0.9, udp_port: "
						  "5556}, allowed_senders: 10.0.0.1}\n"
						  "  - {port: a, to: {address: 10.1.0.8, udp_port: "
						  "5555}, allowed_senders: 10.0.0.1}\n"
						  "  - {port: b, to: {address: 10.1.0.9, udp_port: "
						  "5555}, allowed_senders: 10.0.0.1}\n",
		"");
}

#define SIZED(mtu_a, mtu_b)                                                                        \
	"ports: [{name: a, device: x" mtu_a "}, {name: b, device: y" mtu_b                         \
	"}]\nbridges: [{name: h, "                                                                 \
	"ports: [a, b]}]\n"
#define NO_ROOM(at, most, mtu, n)                                                                  \
	"f.yaml:5:" at ": warning: aggregation.encapsulate[0].max_messages: an aggregate never "   \
	"holds " n " messages, an IP packet of " mtu " bytes has space for " most "; expected "    \
	"at most " most ", or a larger mtu\n"
#define NO_ROOM_FOR(at, mtu, most)                                                                 \
	"f.yaml:5:" at                                                                             \
	": warning: aggregation.encapsulate[0].max_message_size: an IP packet of " mtu             \
	" bytes has space for a message of " most ", longer messages bypass aggregation; "         \
	"expected at most " most ", or a larger mtu\n"

/* Message sizes that never fit, where the configuration shows it;
 * docs/reference/aggregation-format.md has the sizes. */
static void sizes_are_warned_of(void **state)
{
	says(BRIDGED ENC AGG(", format: lin2018, mtu: 1500, max_messages: 91"), "");
	says(BRIDGED ENC AGG(", format: lin2018, mtu: 1500, max_messages: 92"),
		NO_ROOM("98", "91", "1500", "92"));
	says(BRIDGED ENC AGG(", format: lin2018, mtu: 128"), NO_ROOM("5", "5", "128", "8"));
	/* 28 of headers, 16 and 9 of the first message, and 1 for each further one */
	says(BRIDGED ENC AGG(", mtu: 128, max_messages: 76"), "");
	says(BRIDGED ENC AGG(", mtu: 128, max_messages: 77"), NO_ROOM("80", "76", "128", "77"));
	says(BRIDGED ENC AGG6(", mtu: 128, max_messages: 44"), "");
	says(BRIDGED ENC AGG6(", mtu: 128, max_messages: 45"), NO_ROOM("81", "44", "128", "45"));
	/* 28 + 16 + 10 with a length of two bytes, or 9 with one */
	says(BRIDGED ENC AGG(", mtu: 1500, max_message_size: 1446"), "");
	says(BRIDGED ENC AGG(", mtu: 1500, max_message_size: 1447"),
		NO_ROOM_FOR("85", "1500", "1446"));
	says(BRIDGED ENC AGG(", mtu: 309, max_message_size: 256"), NO_ROOM_FOR("84", "309", "255"));
	says(BRIDGED ENC AGG(", mtu: 308, max_message_size: 256"), NO_ROOM_FOR("84", "308", "255"));
	says(BRIDGED ENC AGG(", mtu: 310, max_message_size: 256"), "");
	says(BRIDGED ENC AGG(", mtu: 307, max_message_size: 255"), NO_ROOM_FOR("84", "307", "254"));
	says(BRIDGED ENC AGG6(", mtu: 128, max_message_size: 44"), NO_ROOM_FOR("85", "128", "43"));
	/* The default is said nowhere, and its bound is the MTU. */
	says(BRIDGED ENC AGG(", mtu: 128"), "");
	/* Without mtu, the least of the ports', if the file gives any. */
	says(SIZED("", "") ENC AGG(", format: lin2018, max_messages: 255"), "");
	says(SIZED(", mtu: 9000", ", mtu: 1500") ENC AGG(", format: lin2018, max_messages: 92"),
		NO_ROOM("87", "91", "1500", "92"));
	says(SIZED(", mtu: 68", "") ENC AGG6(", max_message_size: 0"),
		NO_ROOM("5", "0", "68", "8") NO_ROOM_FOR("75", "68", "0"));
	says(BRIDGED ENC AGG(", format: lin2018, max_message_size: 22"), "");
	says(BRIDGED ENC AGG(", format: lin2018, max_message_size: 21"),
		"f.yaml:5:91: aggregation.encapsulate[0].max_message_size: a message of format "
		"lin2018 has 22 bytes; expected at least 22\n");
}

static void other_ports_are_limited(void **state)
{
	says(SIZED("", ", mtu: 1500") ENC AGG(", mtu: 1501"),
		"f.yaml:5:61: warning: aggregation.encapsulate[0].mtu: port 'b' has an MTU of 1500 "
		"bytes; expected at most 1500, if aggregates leave by that port\n");
	says(SIZED("", ", mtu: 1500") ENC AGG(", mtu: 1500"), "");
	/* The port that they come in on need not take them. */
	says(SIZED(", mtu: 1500", ", mtu: 9000") ENC AGG(", mtu: 9000"), "");
}

#define ROUTED                                                                                     \
	"ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/24, \"fd00::1/64\"]}}, "       \
	"{name: b, "                                                                               \
	"device: y, routed: {}}]\nhealth_devices: {cse: {coap: \"coap://10.1.0.20\"}}\n"

/* The manager of health devices reads no aggregates. */
static void own_ports_are_unchanged(void **state)
{
	says(ROUTED ENC TO("10.0.0.1", "6024"),
		"f.yaml:5:19: aggregation.encapsulate[0].to: it contains "
		"health_devices.listen.udp_port of "
		"10.0.0.1, an address of this gateway, which reads no aggregates; expected "
		"destinations without it\n");
	says(ROUTED ENC TO("\"fd00::/16\"", "1-65535"),
		"f.yaml:5:19: aggregation.encapsulate[0].to: it contains "
		"health_devices.listen.udp_port of "
		"fd00::1, an address of this gateway, which reads no aggregates; expected "
		"destinations without it\n");
	says(ROUTED ENC TO("10.0.0.0/8", "29999-40000"),
		"f.yaml:5:19: aggregation.encapsulate[0].to: it contains "
		"health_devices.cse.source_ports of "
		"10.0.0.1, an address of this gateway, which reads no aggregates; expected "
		"destinations without it\n");
	says(ROUTED ENC TO("10.0.0.2", "6024") TO("10.0.0.1", "30000"), "");
	/* Allowed for aggregates that a port decapsulates before they arrive there. */
	says(ROUTED DEC "  - {port: a, to: {address: 10.0.0.1, udp_port: 6024}, allowed_senders: "
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

	fprintf(f, PORTS "aggregation:\n  %s:\n", list);
	for (unsigned i = 1; i <= n; i++)
		fprintf(f, "  - {port: a, to: {address: 10.1.0.9, udp_port: %u}%s}\n", i, more);
	assert_int_equal(fclose(f), 0);
	o = parse(text);
	free(text);
	return o;
}

static void lists_are_bounded(void **state)
{
	struct outcome o = many("encapsulate", "", BP_AGG_RULES_MAX);

	assert_string_equal(o.errors, "");
	assert_int_equal(bp_config_aggregation(o.config)->rules.n_aggregate, BP_AGG_RULES_MAX);
	assert_int_equal(bp_config_aggregation(o.config)->rules.aggregate[31].to.udp_last, 32);
	end(&o);
	o = many("decapsulate", ", allowed_senders: 10.0.0.1", BP_AGG_RULES_MAX);
	assert_string_equal(o.errors, "");
	assert_int_equal(bp_config_aggregation(o.config)->rules.n_disaggregate, BP_AGG_RULES_MAX);
	assert_int_equal(bp_config_aggregation(o.config)->rules.disaggregate[31].to.udp_last, 32);
	end(&o);
	o = many("encapsulate", "", BP_AGG_RULES_MAX + 1);
	assert_string_equal(o.errors, "f.yaml:4:3: aggregation.encapsulate: 33 are given; expected "
				      "a list of at most 32 mappings\n");
	end(&o);
	o = many("decapsulate", ", allowed_senders: 10.0.0.1", BP_AGG_RULES_MAX + 1);
	assert_string_equal(o.errors, "f.yaml:4:3: aggregation.decapsulate: 33 are given; expected "
				      "a list of at most 32 mappings\n");
	end(&o);
}

static void settings_applied_by_reload(void **state)
{
	static const char one[] = BRIDGED ENC AGG("");
	static const char other[] = BRIDGED DEC DISAGG("");

	needs(one, BRIDGED ENC AGG6(", max_messages: 2, format: full") AGG(", mtu: 500"), "");
	needs(one, other, "");
	needs(other, BRIDGED ENC AGG("") AND_DEC DISAGG(", pacing_gap: 10us"), "");
	needs(one, FULL,
		"aggregation.max_streams: changing it needs a restart\n"
		"aggregation.pacing_queue_len: changing it needs a restart\n");
	/* It is the rounded one that counts. */
	needs(BRIDGED "aggregation: {pacing_queue_len: 4000}\n", BRIDGED, "");
	needs(BRIDGED, BRIDGED "aggregation: {encapsulate: []}\n", "");
	needs(BRIDGED, one, "aggregation.encapsulate: adding the first entry needs a restart\n");
	needs(BRIDGED, other, "aggregation.decapsulate: adding the first entry needs a restart\n");
	needs(one, BRIDGED, "aggregation.encapsulate: removing the last entry needs a restart\n");
	needs(other, BRIDGED, "aggregation.decapsulate: removing the last entry needs a restart\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_of_an_entry),
		cmocka_unit_test(all_sections_are_read),
		cmocka_unit_test(dumps_come_back),
		cmocka_unit_test(equals_the_dump),
		cmocka_unit_test(required_settings),
		cmocka_unit_test(invalid_values),
		cmocka_unit_test(families_agree),
		cmocka_unit_test(senders_must_be_configured),
		cmocka_unit_test(names_before_version_1),
		cmocka_unit_test(unreachable_entries),
		cmocka_unit_test(a_port_does_not_do_both),
		cmocka_unit_test(sizes_are_warned_of),
		cmocka_unit_test(other_ports_are_limited),
		cmocka_unit_test(own_ports_are_unchanged),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(settings_applied_by_reload),
	};

	return cmocka_run_group_tests_name("config aggregation", tests, NULL, NULL);
}
