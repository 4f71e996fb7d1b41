/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the table in test_settings.c for section lcl, included in it. */
/* clang-format off */
#define LCL BRIDGED "lcl:\n  "
#define LCL_PORT LCL "ports:\n  - "
#define LCL_PORT_OPEN LCL_PORT "port: b\n    link_rate: 25Gbps\n    "
#define LCL_FLOWS LCL "ports: [{port: b, link_rate: 25Gbps}]\n  flows:\n    - "
#define LCL_MATCH_OPEN "match: {port: a}\n      "
#define LCL_NAME "name: f\n      "
#define LCL_BUDGET "latency_budget: 15us\n      "
#define LCL_HOPS "hops: 3\n      "
#define LCL_RATE "rate: 1Mbps\n      "
#define LCL_BURST "burst: 1556\n      "
#define LCL_FLOW LCL_FLOWS LCL_NAME LCL_MATCH_OPEN LCL_BUDGET LCL_HOPS LCL_RATE LCL_BURST
#define LCL_MATCH LCL_FLOWS LCL_NAME LCL_BUDGET LCL_HOPS LCL_RATE LCL_BURST "match:\n        port: a\n        "
#define MATCH_HOSTS                                                                                \
	.good = {{"10.1.0.9", "\"10.1.0.9\""}, {"10.1.0.9/32", "\"10.1.0.9\""},                    \
		{"10.0.0.0/8", "\"10.0.0.0/8\""}, {"239.1.0.0/16", "\"239.1.0.0/16\""},            \
		{"\"FF02::1\"", "\"ff02::1\""}, {"0.0.0.0/0", "\"0.0.0.0/0\""}},                   \
	.bad = {{"arm.example", "neither an address nor a prefix"},                                \
		{"10.1.0.9/24", "its prefix is 10.1.0.0/24"}, {"[10.1.0.9]", "a list"}}

	{"lcl.ethertype", LCL, "",
		.good = {{"0x88b5", "0x88b5"}, {"0x88b6", "0x88b6"}, {"1536", "0x0600"},
			{"0xffff", "0xffff"}},
		.bad = {{"0x5ff", "too small"}, {"0x10000", "too large"}, {"any", "whole number"},
			{"lcl", "not a whole number"}, {"0x0800", "is IPv4's"},
			{"0x0806", "is ARP's"}, {"0x86dd", "is IPv6's"},
			{"0x8100", "is a VLAN tag's"}, {"0x88a8", "is a VLAN tag's"}}},
	{"lcl.max_flows", LCL, "", .good = {{"1", "1"}, {"65535", "65535"}},
		.bad = {{"0", "too small"}, {"65536", "too large"}}},
	{"lcl.ports[].port", LCL_PORT "link_rate: 25Gbps\n    ", "",
		.good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "no port 'c'"}, {"''", "no port ''"}}},
	{"lcl.ports[].slot", LCL_PORT_OPEN, "",
		.good = {{"1us", "1us"}, {"10ms", "10ms"}, {"8500ns", "8500ns"}},
		.bad = {{"999ns", "too small"}, {"10001us", "too large"}, {"8", "no unit"}}},
	{"lcl.ports[].queues", LCL_PORT_OPEN, "", .good = {{"2", "2"}, {"64", "64"}},
		.bad = {{"1", "too small"}, {"65", "too large"}}},
	{"lcl.ports[].link_rate", LCL_PORT "port: b\n    ", "",
		.good = {{"25Gbps", "25Gbps"}, {"1Mbps", "1Mbps"}, {"1000 kbps", "1Mbps"},
			{"1Tbps", "1Tbps"}, {"2500000000bps", "2500Mbps"}, {"1000001bps", "1000001bps"}},
		.bad = {{"999999bps", "too small"}, {"1001Gbps", "too large"}, {"25", "no unit"},
			{"25G", "'G' is not a known unit"}, {"25GBps", "'GBps' is not a known unit"},
			{"2.5Gbps", "not a whole number with a unit"}, {"-1Gbps", "not a rate"},
			{"99999999Tbps", "too large"}}},
	{"lcl.ports[].trust_labels", LCL_PORT_OPEN, "", .good = {{"true", "true"}, {"false", "false"}},
		.bad = {{"maybe", "neither true nor false"}}},
	{"lcl.ports[].guard_time", LCL_PORT_OPEN, "",
		.good = {{"off", "off"}, {"1ns", "1ns"}, {"7999ns", "7999ns"}},
		.bad = {{"0", "no unit"}, {"0s", "too small"}, {"8us", "no time is left for best effort in a slot of 8000 ns"}, {"1001us", "too large"}}},
	{"lcl.ports[].slot_queue_len", LCL_PORT_OPEN, "",
		.good = {{"16", "16"}, {"65536", "65536"}, {"auto", "298"}}, .bad = {{"0", "too small"}, {"15", "too small"}, {"65537", "too large"}}},
	{"lcl.ports[].best_effort_queue_len", LCL_PORT_OPEN, "",
		.good = {{"16", "16"}, {"65536", "65536"}}, .bad = {{"15", "too small"}, {"65537", "too large"}}},
	{"lcl.ports[].handover_queue_len", LCL_PORT_OPEN, "",
		.good = {{"64", "64"}, {"65", "128"}, {"65536", "65536"}},
		.bad = {{"63", "too small"}, {"65537", "too large"}}},
	{"lcl.flows[].name", LCL_FLOWS LCL_MATCH_OPEN LCL_BUDGET LCL_HOPS LCL_RATE LCL_BURST, "",
		.good = {{"arm-3", "\"arm-3\""}, {NAME31, "\"" NAME31 "\""}},
		.bad = {{NAME31 "x", "32 bytes long"}, {"''", "the text is empty"}, {"-a", "not a name"}}},
	{"lcl.flows[].match.port", LCL_FLOWS LCL_NAME LCL_BUDGET LCL_HOPS LCL_RATE LCL_BURST "match:\n        ", "",
		.good = {{"a", "\"a\""}, {"b", "\"b\""}}, .bad = {{"c", "no port 'c'"}}},
	{"lcl.flows[].match.source", LCL_MATCH, "", MATCH_HOSTS},
	{"lcl.flows[].match.destination", LCL_MATCH, "", MATCH_HOSTS},
	{"lcl.flows[].match.udp_port", LCL_MATCH, "", UDP_PORTS},
	{"lcl.flows[].match.tcp_port", LCL_MATCH, "", UDP_PORTS},
	{"lcl.flows[].match.ethertype", LCL_MATCH, "",
		.good = {{"any", "any"}, {"0x8892", "0x8892"}, {"0x0600", "0x0600"}},
		.bad = {{"0", "too small"}, {"0x5ff", "too small"}, {"0x10000", "too large"},
			{"profinet", "not a whole number"}, {"0x8100", "is a VLAN tag's"},
			{"0x88a8", "is a VLAN tag's"}, {"0x88b5", "is the label's"}}},
	{"lcl.flows[].match.vlan", LCL_MATCH, "",
		.good = {{"any", "any"}, {"none", "none"}, {"1", "1"}, {"4094", "4094"}},
		.bad = {{"0", "too small"}, {"4095", "too large"}, {"all", "not a whole number"}}},
	{"lcl.flows[].match.pcp", LCL_MATCH, "", .good = {{"any", "any"}, {"0", "0"}, {"7", "7"}},
		.bad = {{"8", "too large"}, {"none", "not a whole number"}}},
	{"lcl.flows[].match.dscp", LCL_MATCH, "", .good = {{"any", "any"}, {"0", "0"}, {"63", "63"}},
		.bad = {{"64", "too large"}, {"ef", "not a whole number"}}},
	{"lcl.flows[].latency_budget", LCL_FLOWS LCL_NAME LCL_MATCH_OPEN "hops: 1\n      " LCL_RATE LCL_BURST, "",
		.good = {{"8us", "8us"}, {"16us", "16us"}, {"24000ns", "24us"}},
		.bad = {{"999ns", "too small"}, {"1001ms", "too large"}, {"15", "no unit"}}},
	{"lcl.flows[].hops", LCL_FLOWS LCL_NAME LCL_MATCH_OPEN LCL_BUDGET LCL_RATE LCL_BURST, "",
		.good = {{"1", "1"}, {"2", "2"}}, .bad = {{"0", "too small"}, {"65", "too large"}}},
	{"lcl.flows[].rate", LCL_FLOWS LCL_NAME LCL_MATCH_OPEN LCL_BUDGET LCL_HOPS LCL_BURST, "",
		.good = {{"1bps", "1bps"}, {"6Gbps", "6Gbps"}},
		.bad = {{"0bps", "too small"}, {"1001Gbps", "too large"}, {"26Gbps", "it is below the flow's average rate"}}},
	{"lcl.flows[].burst", LCL_FLOWS LCL_NAME LCL_MATCH_OPEN LCL_BUDGET LCL_HOPS LCL_RATE, "",
		.good = {{"84", "84"}, {"25000", "25000"}, {"4KiB", "4KiB"}},
		.bad = {{"83", "too small"}, {"2GiB", "too large"}}},
	{"lcl.flows[].peak_rate", LCL_FLOW, "", .good = {{"1Mbps", "1Mbps"}, {"1Tbps", "1Tbps"}},
		.bad = {{"999kbps", "expected at least rate"}, {"0bps", "too small"}}},
	{"lcl.flows[].max_frame_size", LCL_FLOW, "", .good = {{"46", "46"}, {"1518", "1518"}},
		.bad = {{"45", "too small"}, {"65536", "too large"},
			{"1519", "a frame of 1519 bytes takes 1557 bytes on the link"}}},
	{"lcl.flows[].id", LCL_FLOW, "", .good = {{"1", "1"}, {"65535", "65535"}},
		.bad = {{"0", "too small"}, {"65536", "too large"}}},
	{"lcl.flows[].output_port", LCL_FLOW, "", .good = {{"b", "\"b\""}},
		.bad = {{"c", "there is no port 'c'"}, {"a", "port 'a' is not in lcl.ports"}, {"''", "no port ''"}}},
	/* clang-format on */
