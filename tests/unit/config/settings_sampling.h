/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the table in test_settings.c for section sampling, included in it. */
/* clang-format off */
#define SAMPLING PORTS3 "sampling:\n  - "
#define SAMPLING_NAME "name: s\n    "
#define SAMPLING_TO "one_in: 10\n    mirror: m\n    "
#define SAMPLING_MATCH SAMPLING SAMPLING_NAME SAMPLING_TO "match:\n      port: a\n      "

	{"sampling[].name", SAMPLING SAMPLING_TO "match: {port: a}\n    ", "",
		.good = {{"coap-1", "\"coap-1\""}, {NAME31, "\"" NAME31 "\""}},
		.bad = {{NAME31 "x", "32 bytes long"}, {"''", "the text is empty"}, {"-a", "not a name"}}},
	{"sampling[].match.port", SAMPLING SAMPLING_NAME SAMPLING_TO "match:\n      ", "",
		.good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "no port 'c'"}, {"m", "input port of the sampled frames"}}},
	{"sampling[].match.source", SAMPLING_MATCH, "", MATCH_HOSTS},
	{"sampling[].match.destination", SAMPLING_MATCH, "", MATCH_HOSTS},
	{"sampling[].match.udp_port", SAMPLING_MATCH, "", UDP_PORTS},
	{"sampling[].match.tcp_port", SAMPLING_MATCH, "", UDP_PORTS},
	{"sampling[].match.ethertype", SAMPLING_MATCH, "",
		.good = {{"any", "any"}, {"0x8892", "0x8892"}, {"0x0600", "0x0600"}},
		.bad = {{"0", "too small"}, {"0x10000", "too large"}, {"profinet", "not a whole number"}}},
	{"sampling[].match.vlan", SAMPLING_MATCH, "",
		.good = {{"any", "any"}, {"none", "none"}, {"1", "1"}, {"4094", "4094"}},
		.bad = {{"0", "too small"}, {"4095", "too large"}}},
	{"sampling[].match.pcp", SAMPLING_MATCH, "", .good = {{"any", "any"}, {"0", "0"}, {"7", "7"}},
		.bad = {{"8", "too large"}}},
	{"sampling[].match.dscp", SAMPLING_MATCH, "", .good = {{"any", "any"}, {"0", "0"}, {"63", "63"}},
		.bad = {{"64", "too large"}}},
	{"sampling[].one_in", SAMPLING SAMPLING_NAME "match: {port: a}\n    mirror: m\n    ", "",
		.good = {{"1", "1"}, {"16777216", "16777216"}},
		.bad = {{"0", "too small"}, {"16777217", "too large"}, {"1.5", "not a whole number"}}},
	{"sampling[].mirror", SAMPLING SAMPLING_NAME "match: {port: a}\n    one_in: 10\n    ", "",
		.good = {{"m", "\"m\""}},
		.bad = {{"c", "no port 'c'"}, {"a", "input port of the sampled frames"}, {"b", "port 'b' is in a bridge"}}},
	/* clang-format on */
