/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of test_settings.c, of sections aggregate, disaggregate and aggregation: stands in the
 * middle of its table. */
/* clang-format off */
#define AGG PORTS "aggregate:\n  - "
#define AGG_TO "to: {address: 10.1.0.9, udp: 5555}\n    "
#define AGG_OPEN AGG "port: a\n    " AGG_TO
#define AGG_FROM AGG_OPEN "from:\n      "
#define DISAGG PORTS "disaggregate:\n  - senders: 10.0.0.0/24\n    "
#define DISAGG_OPEN DISAGG "port: b\n    " AGG_TO
#define HOSTS_BAD                                                                                  \
	{"host.example", "neither an address nor a prefix"}, {"''", "neither an address"},         \
		{"10.1.0.9/24", "the prefix it is in is 10.1.0.0/24"},                             \
		{"10.1.0.9/33", "'33' is no length"}, {"224.0.0.9", "is multicast"},               \
		{"127.0.0.1", "is loopback"}, {"0.0.0.0", "is of no host"}
#define UDP_PORTS                                                                                  \
	.good = {{"1", "1"}, {"65535", "65535"}, {"5000-5999", "5000-5999"}, {"7-7", "7"}},        \
	.bad = {{"0", "0 is too small"}, {"65536", "too large"}, {"0-9", "0 is too small"},        \
		{"9-65536", "65536 is too large"}, {"9-8", "9-8 ends before it begins"},           \
		{"9-", "not a whole number"}, {"-9", "not a whole number"}, {"[9]", "a list"},     \
		{"9 - 10", "not a whole number"}, {"coap", "not a whole number"}}
#define SENDER_LISTS                                                                               \
	.good = {{"[]", "[]"}, {"10.0.0.1", "[\"10.0.0.1\"]"},                                     \
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
		{"[10.0.0.1/24]", "the prefix it is in is 10.0.0.0/24"},                           \
		{"[239.0.0.0/8]", "is multicast"}, {"127.0.0.0/8", "is loopback"},                 \
		{"[127.1.0.0/16]", "is loopback"}, {"[\"::1\"]", "is loopback"},                   \
		{"[\"::ffff:10.0.0.0/104\"]", "is IPv4 written as IPv6"},                          \
		{"[[10.0.0.1]]", "this is no address or prefix"},                                  \
		{"[~]", "this is no address or prefix"}}

	{"aggregate[].port", AGG AGG_TO, "", .good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "no port 'c'"}, {"''", "no port ''"}}},
	{"aggregate[].to.address", AGG "port: a\n    to:\n      udp: 1\n      ", "",
		.good = {{"10.1.0.9", "\"10.1.0.9\""}, {"10.1.0.0/24", "\"10.1.0.0/24\""},
			{"10.1.0.9/32", "\"10.1.0.9\""}, {"0.0.0.0/0", "\"0.0.0.0/0\""},
			{"\"FD00::/64\"", "\"fd00::/64\""}, {"\"fd00::1/128\"", "\"fd00::1\""},
			{"192.0.0.0/2", "\"192.0.0.0/2\""}},
		.bad = {HOSTS_BAD, {"\"ff02::1\"", "is multicast"}, {"240.0.0.0/8", "is reserved"},
			{"255.255.255.255", "is reserved, or broadcast"}}},
	{"aggregate[].to.udp", AGG "port: a\n    to:\n      address: 10.1.0.9\n      ", "",
		UDP_PORTS},
	{"aggregate[].format", AGG_OPEN, "", .good = {{"full", "full"}, {"paper", "paper"}},
		.bad = {{"short", "no choice"}}},
	{"aggregate[].senders", PORTS "aggregate:\n  - port: a\n    " AGG_TO, "", SENDER_LISTS},
	{"aggregate[].messages", AGG_OPEN, "", .good = {{"1", "1"}, {"255", "255"}},
		.bad = {{"0", "too small"}, {"256", "too large"}}},
	{"aggregate[].max_delay", AGG_OPEN, "",
		.good = {{"0", "0"}, {"10us", "10us"}, {"60m", "1h"}, {"10000ns", "10us"}},
		.bad = {{"9999ns", "too small"}, {"3601s", "too large"}, {"1", "no unit"}}},
	{"aggregate[].max_message", AGG_OPEN, "", .good = {{"0", "0"}, {"65000", "65000"}},
		.bad = {{"65001", "too large"}, {"1KiB", "not a whole number"}}},
	{"aggregate[].mtu", AGG_OPEN, "",
		.good = {{"0", "0"}, {"128", "128"}, {"65535", "65535"}},
		.bad = {{"127", "too small"}, {"65536", "too large"}}},
	{"aggregate[].from.address", AGG_FROM "udp: 1\n      ", "",
		.good = {{"10.0.0.1", "10.0.0.1"}},
		.bad = {{"10.0.0.0/24", "not an address"}, {"224.0.0.1", "not the address of one"},
			{"0.0.0.0", "not the address of one"}}},
	{"aggregate[].from.udp", AGG_FROM "address: 10.0.0.1\n      ", "",
		.good = {{"1", "1"}, {"65535", "65535"}},
		.bad = {{"0", "too small"}, {"65536", "too large"}, {"1-2", "not a whole number"}}},
	{"disaggregate[].port", DISAGG AGG_TO, "", .good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "no port 'c'"}, {"1", "no port '1'"}}},
	{"disaggregate[].to.address", DISAGG "port: a\n    to:\n      udp: 1\n      ", "",
		.good = {{"10.1.0.9", "\"10.1.0.9\""}, {"10.1.0.0/24", "\"10.1.0.0/24\""}},
		.bad = {HOSTS_BAD, {"240.0.0.0/8", "is reserved"}}},
	{"disaggregate[].to.udp", DISAGG "port: a\n    to:\n      address: 10.1.0.9\n      ", "",
		UDP_PORTS},
	{"disaggregate[].format", DISAGG_OPEN, "", .good = {{"full", "full"}, {"paper", "paper"}},
		.bad = {{"Full", "no choice"}}},
	{"disaggregate[].senders", PORTS "disaggregate:\n  - port: b\n    " AGG_TO, "",
		SENDER_LISTS},
	{"disaggregate[].pace", DISAGG_OPEN, "", .good = {{"true", "true"}, {"false", "false"}},
		.bad = {{"10us", "neither true nor false"}}},
	{"disaggregate[].gap", DISAGG_OPEN "pace: true\n    ", "",
		.good = {{"100ns", "100ns"}, {"1s", "1s"}, {"1000000us", "1s"}},
		.bad = {{"99ns", "too small"}, {"1001ms", "too large"}, {"0", "no unit"}}},
	{"aggregation.streams", PORTS "aggregation:\n  ", "",
		.good = {{"1", "1"}, {"1048576", "1048576"}},
		.bad = {{"0", "too small"}, {"1048577", "too large"}}},
	{"aggregation.queue", PORTS "aggregation:\n  ", "",
		.good = {{"16", "16"}, {"65536", "65536"}, {"17", "32"}, {"4095", "4096"},
			{"32769", "65536"}},
		.bad = {{"15", "too small"}, {"65537", "too large"}}},
