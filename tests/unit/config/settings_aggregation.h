/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the table in test_settings.c for section aggregation, included in it. */
/* clang-format off */
#define ENC PORTS "aggregation:\n  encapsulate:\n  - "
#define AGG ENC
#define AGG_TO "to: {address: 10.1.0.9, udp_port: 5555}\n    "
#define AGG_OPEN AGG "port: a\n    " AGG_TO
#define AGG_FROM AGG_OPEN "source:\n      "
#define DEC PORTS "aggregation:\n  decapsulate:\n  - "
#define DISAGG DEC "allowed_senders: 10.0.0.0/24\n    "
#define DISAGG_OPEN DISAGG "port: b\n    " AGG_TO
#define HOSTS_BAD                                                                                  \
	{"host.example", "neither an address nor a prefix"}, {"''", "neither an address"},         \
		{"10.1.0.9/24", "its prefix is 10.1.0.0/24"},                             \
		{"10.1.0.9/33", "'33' is not a length"}, {"224.0.0.9", "is multicast"},               \
		{"127.0.0.1", "is loopback"}, {"0.0.0.0", "is unspecified"}
#define UDP_PORTS                                                                                  \
	.good = {{"1", "1"}, {"65535", "65535"}, {"5000-5999", "5000-5999"}, {"7-7", "7"}},        \
	.bad = {{"0", "0 is too small"}, {"65536", "too large"}, {"0-9", "0 is too small"},        \
		{"9-65536", "65536 is too large"}, {"9-8", "9-8 ends before it begins"},           \
		{"9-", "not a whole number"}, {"-9", "not a whole number"}, {"[9]", "a list"},     \
		{"9 - 10", "not a whole number"}, {"coap", "not a whole number"}}
#define SENDER_LISTS                                                                               \
	.good = {{"10.0.0.1", "[\"10.0.0.1\"]"},                                                  \
		{"[10.0.0.0/24, 10.0.1.9]", "[\"10.0.0.0/24\", \"10.0.1.9\"]"},                    \
		{"[1.0.0.1, 1.0.0.2, 1.0.0.3, 1.0.0.4, 1.0.0.5, 1.0.0.6, 1.0.0.7, 1.0.0.8, "       \
		 "1.0.0.9, 1.0.1.0, 1.0.1.1, 1.0.1.2, 1.0.1.3, 1.0.1.4, 1.0.1.5, 1.0.1.6]",        \
			"[\"1.0.0.1\", \"1.0.0.2\", \"1.0.0.3\", \"1.0.0.4\", \"1.0.0.5\", "       \
			"\"1.0.0.6\", \"1.0.0.7\", \"1.0.0.8\", \"1.0.0.9\", \"1.0.1.0\", "        \
			"\"1.0.1.1\", \"1.0.1.2\", \"1.0.1.3\", \"1.0.1.4\", \"1.0.1.5\", "        \
			"\"1.0.1.6\"]"}},                                                          \
	.bad = {{"[1.0.0.1, 1.0.0.2, 1.0.0.3, 1.0.0.4, 1.0.0.5, 1.0.0.6, 1.0.0.7, 1.0.0.8, "       \
		 "1.0.0.9, 1.0.1.0, 1.0.1.1, 1.0.1.2, 1.0.1.3, 1.0.1.4, 1.0.1.5, 1.0.1.6, "        \
		 "1.0.1.7]", "17 are given"},                                                      \
		{"[10.0.0.0/24, 10.0.0.0/24]", "10.0.0.0/24 is given twice"},                      \
		{"[10.0.0.1, 10.0.0.1/32]", "10.0.0.1/32 is given twice"},                         \
		{"[10.0.0.1/24]", "its prefix is 10.0.0.0/24"},                           \
		{"[239.0.0.0/8]", "is multicast"}, {"127.0.0.0/8", "is loopback"},                 \
		{"[127.1.0.0/16]", "is loopback"}, {"[\"::1\"]", "is loopback"},                   \
		{"[\"::ffff:10.0.0.0/104\"]", "is IPv4-mapped"},                          \
		{"[[10.0.0.1]]", "this is not an address or prefix"},                                  \
		{"[~]", "this is not an address or prefix"}}

	{"aggregation.encapsulate[].port", AGG AGG_TO, "", .good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "no port 'c'"}, {"''", "no port ''"}}},
	{"aggregation.encapsulate[].to.address", AGG "port: a\n    to:\n      udp_port: 1\n      ", "",
		.good = {{"10.1.0.9", "\"10.1.0.9\""}, {"10.1.0.0/24", "\"10.1.0.0/24\""},
			{"10.1.0.9/32", "\"10.1.0.9\""}, {"0.0.0.0/0", "\"0.0.0.0/0\""},
			{"\"FD00::/64\"", "\"fd00::/64\""}, {"\"fd00::1/128\"", "\"fd00::1\""},
			{"192.0.0.0/2", "\"192.0.0.0/2\""}},
		.bad = {HOSTS_BAD, {"\"ff02::1\"", "is multicast"}, {"240.0.0.0/8", "is reserved"},
			{"255.255.255.255", "is reserved or broadcast"}}},
	{"aggregation.encapsulate[].to.udp_port", AGG "port: a\n    to:\n      address: 10.1.0.9\n      ", "",
		UDP_PORTS},
	{"aggregation.encapsulate[].format", AGG_OPEN, "", .good = {{"full", "full"}, {"lin2018", "lin2018"}},
		.bad = {{"short", "not a valid choice"}}},
	{"aggregation.encapsulate[].allowed_senders", ENC "port: a\n    " AGG_TO, "", SENDER_LISTS},
	{"aggregation.encapsulate[].max_messages", AGG_OPEN, "", .good = {{"1", "1"}, {"255", "255"}},
		.bad = {{"0", "too small"}, {"256", "too large"}}},
	{"aggregation.encapsulate[].max_delay", AGG_OPEN, "",
		.good = {{"unlimited", "unlimited"}, {"10us", "10us"}, {"60m", "1h"}, {"10000ns", "10us"}},
		.bad = {{"9999ns", "too small"}, {"3601s", "too large"}, {"1", "no unit"},
			{"0", "no unit"}, {"0us", "too small"}}},
	{"aggregation.encapsulate[].max_message_size", AGG_OPEN, "", .good = {{"0", "0"}, {"65000", "65000"}},
		.bad = {{"65001", "too large"}, {"1KiB", "not a whole number"}}},
	{"aggregation.encapsulate[].mtu", AGG_OPEN, "",
		.good = {{"auto", "auto"}, {"128", "128"}, {"65535", "65535"}},
		.bad = {{"0", "too small"}, {"127", "too small"}, {"65536", "too large"}}},
	{"aggregation.encapsulate[].source.address", AGG_FROM "udp_port: 1\n      ", "",
		.good = {{"10.0.0.1", "10.0.0.1"}},
		.bad = {{"10.0.0.0/24", "not an address"}, {"224.0.0.1", "not the address of one"},
			{"0.0.0.0", "not the address of one"}}},
	{"aggregation.encapsulate[].source.udp_port", AGG_FROM "address: 10.0.0.1\n      ", "",
		.good = {{"1", "1"}, {"65535", "65535"}},
		.bad = {{"0", "too small"}, {"65536", "too large"}, {"1-2", "not a whole number"}}},
	{"aggregation.decapsulate[].port", DISAGG AGG_TO, "", .good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "no port 'c'"}, {"1", "no port '1'"}}},
	{"aggregation.decapsulate[].to.address", DISAGG "port: a\n    to:\n      udp_port: 1\n      ", "",
		.good = {{"10.1.0.9", "\"10.1.0.9\""}, {"10.1.0.0/24", "\"10.1.0.0/24\""}},
		.bad = {HOSTS_BAD, {"240.0.0.0/8", "is reserved"}}},
	{"aggregation.decapsulate[].to.udp_port", DISAGG "port: a\n    to:\n      address: 10.1.0.9\n      ", "",
		UDP_PORTS},
	{"aggregation.decapsulate[].format", DISAGG_OPEN, "", .good = {{"full", "full"}, {"lin2018", "lin2018"}},
		.bad = {{"Full", "not a valid choice"}}},
	{"aggregation.decapsulate[].allowed_senders", DEC "port: b\n    " AGG_TO, "",
		SENDER_LISTS},
	{"aggregation.decapsulate[].pacing_gap", DISAGG_OPEN, "",
		.good = {{"off", "off"}, {"100ns", "100ns"}, {"1s", "1s"}, {"1000000us", "1s"}},
		.bad = {{"99ns", "too small"}, {"1001ms", "too large"}, {"0", "no unit"},
			{"0us", "too small"}, {"true", "not a duration"}}},
	{"aggregation.max_streams", PORTS "aggregation:\n  ", "",
		.good = {{"1", "1"}, {"1048576", "1048576"}},
		.bad = {{"0", "too small"}, {"1048577", "too large"}}},
	{"aggregation.pacing_queue_len", PORTS "aggregation:\n  ", "",
		.good = {{"16", "16"}, {"65536", "65536"}, {"17", "32"}, {"4095", "4096"},
			{"32769", "65536"}},
		.bad = {{"15", "too small"}, {"65537", "too large"}}},
