/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include "config/service.h"

/*
 * For each setting: values that are taken, with what the dump makes of them, and values that are
 * refused, with the reason. A setting of the schema that is not here fails the test.
 */

struct value {
	const char *text;
	const char *as; /* accepted: in the dump; refused: in the message */
};

struct row {
	const char *path;
	const char *before, *after; /* the file around "KEY: VALUE" */
	struct value good[12];
	struct value bad[12];
};

#define NAME31 "abcdefghijklmnopqrstuvwxyz01234"
#define NAME63 NAME31 NAME31 "5"
#define LISTEN106 NAME31 NAME31 NAME31 "0123456789012"
#define TEXT127 NAME63 NAME63 "6"
#define TEXT255 TEXT127 TEXT127 "7"
#define TEXT511 TEXT255 TEXT255 "8"
#define TEXT1023 TEXT511 TEXT511 "9"
#define PORT "ports:\n  - name: a\n    device: x\n    routed: {}\n    "
#define ROUTED "ports:\n  - name: a\n    device: x\n    routed:\n      "
#define ROUTED_HOST ROUTED "host_interface:\n        "
#define OFFLOADS PORT "offloads:\n      "
#define OFFLOAD_WORDS                                                                              \
	.good = {{"auto", "auto"}, {"on", "on"}, {"off", "off"}},                                  \
	.bad = {{"true", "not a valid choice"}, {"AUTO", "not a valid choice"},                    \
		{"1", "not a valid choice"}}

#define BRIDGES ROLELESS "bridges:\n  - "
#define HOST BRIDGES "name: h\n    ports: [a, b]\n    host_interface:\n      "
#define VIA                                                                                        \
	"ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/24, \"fd00::1/64\"]}}, "       \
	"{name: b, device: y, routed: {}}]\n"
#define ROUTE VIA "routing:\n  static_routes:\n    - "
#define NEIGHBOR VIA "routing:\n  static_neighbors:\n    - "

#define ADDRESSES                                                                                  \
	.good = {{"[]", "[]"}, {"10.0.0.1/24", "[\"10.0.0.1/24\"]"},                               \
		{"[10.0.0.1/24, \"FD00::1/64\"]", "[\"10.0.0.1/24\", \"fd00::1/64\"]"},            \
		{"[10.0.0.0/31, 10.0.0.255/32]", "[\"10.0.0.0/31\", \"10.0.0.255/32\"]"},          \
		{"[10.0.1.0/23, \"fe80::1/10\"]", "[\"10.0.1.0/23\", \"fe80::1/10\"]"},            \
		{"[fd00::1/128, 1.0.0.1/1]", "[\"fd00::1/128\", \"1.0.0.1/1\"]"}},                 \
	.bad = {{"10.0.0.1", "'10.0.0.1' has no length"},                                          \
		{"10.0.0.1/33", "'33' is not a length from 0 to 32"},                              \
		{"\"fd00::1/129\"", "'129' is not a length from 0 to 128"},                        \
		{"[10.0.0.0/24]", "the network's or the broadcast address"},                       \
		{"[10.0.0.255/24]", "the network's or the broadcast address"},                     \
		{"[10.0.0.3/30]", "the network's or the broadcast address"},                       \
		{"[224.0.0.5/24]", "not the address of one host"},                                 \
		{"[\"ff02::1/64\"]", "not the address of one host"},                               \
		{"[0.0.0.0/8]", "not the address of one host"},                                    \
		{"[\"::/64\"]", "not the address of one host"},                                    \
		{"[127.0.0.1/8]", "not the address of one host"},                                  \
		{"[\"::1/128\"]", "not the address of one host"}}
#define BACKEND                                                                                    \
	.good = {{"auto", "auto"}, {"virtio", "virtio"}, {"tap", "tap"}, {"off", "off"}},          \
	.bad = {{"on", "not a valid choice"}, {"false", "not a valid choice"}}
#define KERNEL_NAME                                                                                \
	.good = {{"w", "\"w\""}, {"eth0.10_a-b", "\"eth0.10_a-b\""},                               \
		{"abcdefghij01234", "\"abcdefghij01234\""}},                                       \
	.bad = {{"abcdefghij012345", "16 bytes long"}, {"''", "the text is empty"},                \
		{"a/b", "not a name"}, {"\"tap%d\"", "not a name"}, {"lo", "'lo' is reserved"},    \
		{"all", "'all' is reserved"}, {"default", "'default' is reserved"}}
#define RATE                                                                                       \
	.good = {{"1", "1"}, {"10000000", "10000000"}},                                            \
	.bad = {{"0", "too small"}, {"10000001", "too large"}, {"5/s", "not a whole number"}}
#define QUEUE                                                                                      \
	.good = {{"16", "16"}, {"65536", "65536"}, {"100", "100"}},                                \
	.bad = {{"15", "too small"}, {"65537", "too large"}}
#define POLICERS(name) PORTS "punt:\n  policers:\n    " name ":\n      "
#define POLICER(name)                                                                              \
	{"punt.policers." name ".rate_pps", POLICERS(name), "", RATE},                             \
		{"punt.policers." name ".burst", POLICERS(name), "", RATE},                        \
	{                                                                                          \
		"punt.policers." name ".queue_len", POLICERS(name), "", QUEUE                      \
	}

#define STATE PORTS "name: g\nfleet:\n  name: f\n  state:\n    "

#define TEXT_VALUES(longest)                                                                       \
	.good = {{"x", "\"x\""}, {"\"a\\\"b\\\\\"", "\"a\\\"b\\\\\""},                             \
		{longest, "\"" longest "\""}, {"\"\\u00e4 \\u2028\"", "\"\xc3\xa4 \\u2028\""}},    \
	.bad = {{"''", "the text is empty"}, {longest "x", " bytes long"},                         \
		{"\"a\\tb\"", "control character"}, {"[x]", "found a list"}, {"", "no value"},     \
		{"\"a\\0b\"", "NUL character"}}

static const struct row rows[] = {
	{"name", PORTS, "",
		.good = {{"a", "\"a\""}, {"_a.b-C9", "\"_a.b-C9\""}, {NAME31, "\"" NAME31 "\""}},
		.bad = {{"-a", "not a name"}, {".a", "not a name"}, {"a b", "not a name"},
			{NAME31 "x", "32 bytes long"}, {"''", "the text is empty"},
			{"\xc3\xa4", "not a name"}, {"{a: b}", "found a mapping"}}},
	{"workers", PORTS, "",
		.good = {{"1", "1"}, {"64", "64"}, {"[0, 1023]", "[0, 1023]"}, {"[7]", "[7]"},
			{"0x10", "16"}},
		.bad = {{"0", "too small"}, {"65", "too large"}, {"[]", "0 are given"},
			{"[1024]", "too large"}, {"[2, 2]", "2 is given twice"},
			{"two", "not a whole number"}, {"[[1]]", "not a number"},
			{"{a: 1}", "found a mapping"}, {"", "no value"}}},
	{"log.level", PORTS "log:\n  ", "",
		.good = {{"error", "error"}, {"warning", "warning"}, {"info", "info"},
			{"debug", "debug"}},
		.bad = {{"notice", "not a valid choice"}, {"3", "not a valid choice"}}},
	{"log.events", PORTS "log:\n  ", "",
		.good = {{"off", "off"}, {"journal", "journal"},
			{"/var/log/biplane/events.json", "\"/var/log/biplane/events.json\""},
			{"unix:/run/events.sock", "\"unix:/run/events.sock\""}},
		.bad = {{"events.json", "not an absolute path"},
			{"unix:events.sock", "path is not absolute"}, {"/var/log/", "directory"},
			{"\"/a\\tb\"", "control character"}, {"syslog", "not an absolute path"}}},
	{"log.format", PORTS "log:\n  ", "", .good = {{"text", "text"}, {"json", "json"}},
		.bad = {{"xml", "not a valid choice"}}},
	{"fleet.name", PORTS "fleet:\n  ", "", .good = {{"a", "\"a\""}, {NAME31, "\"" NAME31 "\""}},
		.bad = {{"a b", "not a name"}, {NAME31 "x", "32 bytes long"},
			{"''", "the text is empty"}}},
	{"fleet.state.server", STATE, "",
		.good = {{"redis://10.0.0.1", "\"redis://10.0.0.1:6379\""},
			{"\"rediss://[fd00::1]:1/15\"", "\"rediss://[fd00::1]:1/15\""},
			{"redis-sentinel://10.0.0.1,10.0.0.2:99/3#m",
				"\"redis-sentinel://10.0.0.1:26379,10.0.0.2:99/3#m\""},
			{"\"rediss-sentinel://[::1]#a-b\"",
				"\"rediss-sentinel://[::1]:26379#a-b\""}},
		.bad = {{"10.0.0.1", "not a URL of Redis"},
			{"http://10.0.0.1", "not a URL of Redis"},
			{"redis://redis.example", "'redis.example' is not an IP address"},
			{"redis://", "the host is missing"}, {"redis://10.0.0.1:0", "not a port"},
			{"redis://10.0.0.1/x", "not a number from 0 to 65535"},
			{"redis://10.0.0.1/65536", "not a number from 0 to 65535"},
			{"redis://10.0.0.1#m", "only a URL of Sentinels"},
			{"redis://10.0.0.1,10.0.0.2", "is not a"},
			{"redis-sentinel://10.0.0.1", "#MASTER is missing"},
			{"redis-sentinel://10.0.0.1#", "has 0 bytes"},
			{"redis-sentinel://1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
			 "1.1.1.1,1.1.1.1#m",
				"more than 8 Sentinels"}}},
	{"fleet.state.username", STATE, "    server: rediss://10.0.0.1\n    password_file: p\n",
		TEXT_VALUES(TEXT127)},
	{"fleet.state.password_file", STATE, "    server: rediss://10.0.0.1\n",
		TEXT_VALUES(TEXT511)},
	{"fleet.state.tls.ca", STATE "server: rediss://10.0.0.1\n    tls:\n      ", "",
		TEXT_VALUES(TEXT511)},
	{"fleet.state.tls.cert", STATE "server: rediss://10.0.0.1\n    tls:\n      ",
		"      key: k\n", TEXT_VALUES(TEXT511)},
	{"fleet.state.tls.key", STATE "server: rediss://10.0.0.1\n    tls:\n      ",
		"      cert: c\n", TEXT_VALUES(TEXT511)},
	{"fleet.state.timeout", STATE, "    server: redis://10.0.0.1\n",
		.good = {{"10ms", "10ms"}, {"1m", "1m"}},
		.bad = {{"9ms", "too small"}, {"61s", "too large"}, {"off", "not a duration"}}},
	{"fleet.state.max_queued", STATE, "    server: redis://10.0.0.1\n",
		.good = {{"16", "16"}, {"1048576", "1048576"}},
		.bad = {{"15", "too small"}, {"1048577", "too large"}}},
	{"fleet.state.max_queue_size", STATE, "    server: redis://10.0.0.1\n",
		.good = {{"256KiB", "256KiB"}, {"1GiB", "1GiB"}},
		.bad = {{"255KiB", "too small"}, {"1025MiB", "too large"}}},
	{"fleet.state.max_alarm_states", STATE, "    server: redis://10.0.0.1\n",
		.good = {{"16", "16"}, {"65536", "65536"}},
		.bad = {{"15", "too small"}, {"65537", "too large"}}},
	{"fleet.state.max_alarm_states_per_client", STATE, "    server: redis://10.0.0.1\n",
		.good = {{"1", "1"}, {"65536", "65536"}},
		.bad = {{"0", "too small"}, {"65537", "too large"}}},
	{"version", PORTS, "", .good = {{"1", "1"}, {"\"1\"", "1"}},
		.bad = {{"2", "version '2' is unknown"}, {"1.0", "version '1.0' is unknown"}}},
	{"poll_mode", PORTS, "", .good = {{"busy", "busy"}, {"adaptive", "adaptive"}},
		.bad = {{"Busy", "not a valid choice"}, {"\"busy \"", "not a valid choice"}}},
	{"controlplane_poll_mode", PORTS, "", .good = {{"busy", "busy"}, {"adaptive", "adaptive"}},
		.bad = {{"off", "not a valid choice"}}},
	{"mbufs", PORTS, "", .good = {{"auto", "auto"}, {"512", "512"}, {"16777216", "16777216"}},
		.bad = {{"0", "too small"}, {"off", "not a whole number"}, {"511", "too small"},
			{"16777217", "too large"}, {"-1", "not a whole number"},
			{"1.5", "not a whole number"}, {"99999999999999999999", "too large"}}},
	{"runtime.directory", PORTS "runtime:\n  ", "", TEXT_VALUES(TEXT255)},
	{"runtime.hugepages", PORTS "runtime:\n  ", "",
		.good = {{"auto", "auto"}, {"require", "require"}, {"never", "never"}},
		.bad = {{"true", "not a valid choice"}}},
	{"runtime.memory", PORTS "runtime:\n  ", "",
		.good = {{"64MiB", "64MiB"}, {"1TiB", "1TiB"}, {"65536 KiB", "64MiB"},
			{"67108864", "64MiB"}, {"131072kB", "125MiB"}},
		.bad = {{"63MiB", "too small"}, {"1025GiB", "too large"},
			{"65537KiB", "not a multiple of 1MiB"}, {"64mib", "not a known unit"},
			{"1e9", "not a known unit"}, {"99999999TiB", "too large"}}},
	{"runtime.cpu_latency_limit", PORTS "runtime:\n  ", "",
		.good = {{"0us", "0us"}, {"10us", "10us"}, {"1s", "1s"}},
		.bad = {{"0", "has no unit"}, {"500ns", "not a multiple of 1us"},
			{"1001ms", "too large"}, {"unlimited", "not a duration"}}},
	{"runtime.watchdog", PORTS "runtime:\n  ", "",
		.good = {{"off", "off"}, {"2s", "2s"}, {"1h", "1h"}},
		.bad = {{"1s", "too small"}, {"61m", "too large"}, {"10", "has no unit"},
			{"0", "has no unit"}, {"0s", "too small"}}},
	{"monitoring.listen", PORTS "monitoring:\n  ",
		"\n  tls_certificate: c\n  tls_key: k\n  token_file: t\n",
		.good = {{"off", "off"}, {"127.0.0.1:9464", "\"127.0.0.1:9464\""},
			{"\"[::1]:1\"", "\"[::1]:1\""}, {"0.0.0.0:65535", "\"0.0.0.0:65535\""},
			{"\"[2001:DB8::1]:80\"", "\"[2001:db8::1]:80\""},
			{"unix:/run/m", "\"unix:/run/m\""},
			{"unix:/" LISTEN106, "\"unix:/" LISTEN106 "\""}},
		.bad = {{"127.0.0.1", "not an address with a TCP port"},
			{"127.0.0.1:0", "too small"}, {"127.0.0.1:65536", "too large"},
			{"\"127.0.0.1:\"", "not a whole number"},
			{"\"::1:9464\"", "not an address with a TCP port"},
			{"\"[127.0.0.1]:80\"", "not an address with a TCP port"},
			{"\"[::1]\"", "not an address with a TCP port"},
			{"localhost:80", "not an address with a TCP port"},
			{"unix:run/m", "not absolute"}, {"unix:/" LISTEN106 "x", "108 bytes long"},
			{"9464", "not an address with a TCP port"},
			{"\"unix:/a\\tb\"", "control character"}}},
	{"monitoring.tls_certificate", PORTS "monitoring:\n  ", "\n  tls_key: k\n",
		TEXT_VALUES(TEXT255)},
	{"monitoring.tls_key", PORTS "monitoring:\n  ", "\n  tls_certificate: c\n",
		TEXT_VALUES(TEXT255)},
	{"monitoring.token_file", PORTS "monitoring:\n  ", "", TEXT_VALUES(TEXT255)},
	{"monitoring.max_connections", PORTS "monitoring:\n  ", "",
		.good = {{"4", "4"}, {"512", "512"}},
		.bad = {{"3", "too small"}, {"513", "too large"}, {"off", "not a whole number"}}},
	{"monitoring.link_up_delay", PORTS "monitoring:\n  ", "",
		.good = {{"1s", "1s"}, {"1h", "1h"}},
		.bad = {{"999ms", "too small"}, {"61m", "too large"}, {"10", "has no unit"},
			{"off", "not a duration"}}},
	{"monitoring.mbuf_low_percent", PORTS "monitoring:\n  ", "",
		.good = {{"off", "off"}, {"1", "1"}, {"90", "90"}},
		.bad = {{"91", "too large"}, {"5%", "not a whole number"}, {"0", "too small"},
			{"-1", "not a whole number"}}},
	{"monitoring.poll_gap_warning", PORTS "monitoring:\n  ", "",
		.good = {{"off", "off"}, {"100us", "100us"}, {"1m", "1m"}},
		.bad = {{"99us", "too small"}, {"61s", "too large"}, {"100", "has no unit"},
			{"0", "has no unit"}}},
	{"monitoring.worker_stall_timeout", PORTS "monitoring:\n  ", "",
		.good = {{"off", "off"}, {"500ms", "500ms"}, {"1h", "1h"}},
		.bad = {{"499ms", "too small"}, {"61m", "too large"}, {"2", "has no unit"},
			{"0", "has no unit"}}},
	{"monitoring.not_inspected_warning", PORTS "monitoring:\n  ", "",
		.good = {{"off", "off"}, {"1s", "1s"}, {"1d", "1d"}},
		.bad = {{"999ms", "too small"}, {"25h", "too large"}, {"60", "has no unit"},
			{"0", "has no unit"}}},
	{"monitoring.history", PORTS "monitoring:\n  ", "",
		.good = {{"off", "off"}, {"1m", "1m"}, {"24h", "1d"}},
		.bad = {{"59s", "too small"}, {"25h", "too large"}, {"60", "has no unit"},
			{"0", "has no unit"}}},
	{"monitoring.log_interval", PORTS "monitoring:\n  ", "",
		.good = {{"1s", "1s"}, {"1d", "1d"}},
		.bad = {{"999ms", "too small"}, {"25h", "too large"}, {"0", "no unit"},
			{"off", "not a duration"}, {"0s", "too small"}}},
	{"monitoring.event_queue_size", PORTS "monitoring:\n  ", "",
		.good = {{"64", "64"}, {"65536", "65536"}},
		.bad = {{"63", "too small"}, {"65537", "too large"},
			{"off", "not a whole number"}}},
	{"monitoring.capture_buffer", PORTS "monitoring:\n  ", "",
		.good = {{"off", "off"}, {"1MiB", "1MiB"}, {"1GiB", "1GiB"}},
		.bad = {{"1023KiB", "too small"}, {"1025MiB", "too large"}, {"4", "too small"},
			{"0", "too small"}}},
	{"ports[].name", "ports:\n  - device: x\n    routed: {host_interface: {name: i}}\n    ", "",
		.good = {{"a", "\"a\""}, {NAME31, "\"" NAME31 "\""}},
		.bad = {{NAME31 "x", "32 bytes long"}, {"a/b", "not a name"}}},
	{"ports[].device", "ports:\n  - name: a\n    routed: {}\n    ", "", TEXT_VALUES(TEXT511)},
	{"ports[].rx_queues", PORT, "", .good = {{"auto", "auto"}, {"1", "1"}, {"64", "64"}},
		.bad = {{"65", "too large"}, {"0", "too small"}}},
	{"ports[].rx_descriptors", PORT, "",
		.good = {{"auto", "auto"}, {"32", "32"}, {"65535", "65535"}},
		.bad = {{"31", "too small"}, {"65536", "too large"}, {"0", "too small"}}},
	{"ports[].tx_descriptors", PORT, "",
		.good = {{"auto", "auto"}, {"32", "32"}, {"65535", "65535"}},
		.bad = {{"31", "too small"}, {"65536", "too large"}, {"0", "too small"}}},
	{"ports[].mtu", PORT, "", .good = {{"auto", "auto"}, {"68", "68"}, {"65535", "65535"}},
		.bad = {{"67", "too small"}, {"65536", "too large"}, {"0", "too small"}}},
	{"ports[].promiscuous", PORT, "",
		.good = {{"true", "true"}, {"false", "false"}, {"True", "true"},
			{"FALSE", "false"}},
		.bad = {{"yes", "neither true nor false"}, {"1", "neither true nor false"}}},
	{"ports[].mac", PORT, "",
		.good = {{"\"02:00:00:00:00:fF\"", "\"02:00:00:00:00:ff\""},
			{"00-1b-21-00-00-01", "\"00:1b:21:00:00:01\""}},
		.bad = {{"01:00:00:00:00:01", "not the address of one station"},
			{"00:00:00:00:00:00", "not the address of one station"},
			{"02:00:00:00:00", "not a MAC address"}, {"", "no value is given"}}},
	{"ports[].routed.addresses", ROUTED, "", ADDRESSES},
	{"ports[].routed.host_interface.backend", ROUTED_HOST, "", BACKEND},
	{"ports[].routed.host_interface.name", ROUTED_HOST, "", KERNEL_NAME},
	{"ports[].offloads.rx_checksum", OFFLOADS, "", OFFLOAD_WORDS},
	{"ports[].offloads.tx_checksum", OFFLOADS, "", OFFLOAD_WORDS},
	{"ports[].offloads.tx_multi_segs", OFFLOADS, "", OFFLOAD_WORDS},
	{"ports[].offloads.rx_scatter", OFFLOADS, "", OFFLOAD_WORDS},
	{"ports[].offloads.rss", OFFLOADS, "", OFFLOAD_WORDS},
	{"ports[].offloads.vlan_strip", OFFLOADS, "", OFFLOAD_WORDS},
	{"bridges[].name", BRIDGES "ports: [a, b]\n    host_interface: {name: i}\n    ", "",
		.good = {{"h", "\"h\""}, {NAME31, "\"" NAME31 "\""}},
		.bad = {{NAME31 "x", "32 bytes long"}, {"a/b", "not a name"},
			{"b", "the name of ports[1] too"}}},
	{"bridges[].ports", BRIDGES "name: h\n    ", "", .good = {{"[b, a]", "[\"b\", \"a\"]"}},
		.bad = {{"a", "not a list"}, {"{a: b}", "not a list"}, {"[a]", "has 1 port;"},
			{"[]", "has 0 ports"}, {"[a, a]", "in a bridge already"},
			{"[a, c]", "no port 'c'"}, {"[a, b, a]", "in a bridge already"},
			{"[a, [b]]", "no port"}, {"", "not a list"}}},
	{"bridges[].network", BRIDGES "name: h\n    ports: [a, b]\n    ", "",
		.good = {{"h", "\"h\""}, {"main", "\"main\""}, {NAME31, "\"" NAME31 "\""}},
		.bad = {{NAME31 "x", "32 bytes long"}, {"a/b", "not a name"},
			{"''", "the text is empty"}}},
	{"bridges[].host_interface.addresses", HOST, "", ADDRESSES},
	{"bridges[].host_interface.backend", HOST, "", BACKEND},
	{"bridges[].host_interface.name", HOST, "", KERNEL_NAME},
	{"bridges[].fdb_max_entries", BRIDGES "name: h\n    ports: [a, b]\n    ", "",
		.good = {{"16", "16"}, {"1048576", "1048576"}},
		.bad = {{"15", "too small"}, {"1048577", "too large"}}},
	{"bridges[].fdb_aging_time", BRIDGES "name: h\n    ports: [a, b]\n    ", "",
		.good = {{"1s", "1s"}, {"1000000s", "1000000s"}, {"5 m", "5m"},
			{"1500ms", "1500ms"}},
		.bad = {{"999ms", "too small"}, {"1000001s", "too large"}, {"300", "has no unit"},
			{"1.5m", "not a whole number with a unit"},
			{"5 min", "'min' is not a known unit"}}},
	{"routing.ipv6_rp_filter", PORTS "routing:\n  ", "",
		.good = {{"off", "off"}, {"strict", "strict"}, {"loose", "loose"}},
		.bad = {{"on", "is not a valid choice"}, {"1", "is not a valid choice"}}},
	{"routing.max_ipv4_routes", PORTS "routing:\n  ", "",
		.good = {{"16", "16"}, {"16777216", "16777216"}},
		.bad = {{"15", "too small"}, {"16777217", "too large"}}},
	{"routing.max_ipv6_routes", PORTS "routing:\n  ", "",
		.good = {{"16", "16"}, {"4194304", "4194304"}},
		.bad = {{"15", "too small"}, {"4194305", "too large"}}},
	{"routing.max_neighbors", PORTS "routing:\n  ", "",
		.good = {{"16", "16"}, {"1048576", "1048576"}},
		.bad = {{"15", "too small"}, {"1048577", "too large"}}},
	{"routing.max_nexthops", PORTS "routing:\n  ", "",
		.good = {{"16", "16"}, {"1048576", "1048576"}},
		.bad = {{"15", "too small"}, {"1048577", "too large"}}},
	{"routing.max_nexthop_groups", PORTS "routing:\n  ", "",
		.good = {{"16", "16"}, {"65536", "65536"}},
		.bad = {{"15", "too small"}, {"65537", "too large"}}},
	{"netlink.route_table", PORTS "netlink:\n  ", "",
		.good = {{"main", "main"}, {"local", "local"}, {"default", "default"},
			{"254", "main"}, {"1", "1"}, {"4294967295", "4294967295"}},
		.bad = {{"0", "too small"}, {"4294967296", "too large"},
			{"mian", "not a whole number"}}},
	{"netlink.receive_buffer", PORTS "netlink:\n  ", "",
		.good = {{"1MiB", "1MiB"}, {"1GiB", "1GiB"}},
		.bad = {{"1023KiB", "too small"}, {"1025MiB", "too large"}}},
	{"netlink.neighbor_refresh", PORTS "netlink:\n  ", "", .good = {{"1s", "1s"}, {"1d", "1d"}},
		.bad = {{"999ms", "too small"}, {"25h", "too large"}, {"60", "has no unit"}}},
	{"routing.static_routes[].prefix", ROUTE "interface: a\n      ", "",
		.good = {{"10.2.0.0/16", "\"10.2.0.0/16\""}, {"0.0.0.0/0", "\"0.0.0.0/0\""},
			{"\"2001:DB8::/32\"", "\"2001:db8::/32\""}, {"\"::/0\"", "\"::/0\""},
			{"10.2.3.4/32", "\"10.2.3.4/32\""}, {"240.0.0.0/4", "\"240.0.0.0/4\""}},
		.bad = {{"10.2.3.0/16", "10.2.3.0/16 has bits set beyond its length; its prefix is "
					"10.2.0.0/16"},
			{"\"2001:db8::1/64\"", "its prefix is 2001:db8::/64"},
			{"10.2.0.0", "'10.2.0.0' has no length"},
			{"10.2.0.0/33", "not a length from 0 to 32"},
			{"10.2.0.0/-1", "not a length from 0 to 32"}, {"10.2/16", "not a prefix"},
			{"default", "not a prefix"}, {"224.0.0.0/4", "is multicast"},
			{"\"ff00::/8\"", "is multicast"}}},
	{"routing.static_routes[].via", ROUTE "prefix: 10.2.0.0/16\n      ", "",
		.good = {{"10.0.0.2", "10.0.0.2"}, {"\"fd00::2\"", "\"fd00::2\""}},
		.bad = {{"10.0.1.2", "no interface has this address in its prefixes"},
			{"\"fe80::2\"", "a link-local next hop needs an interface"},
			{"10.0.0.1", "an address of this gateway"},
			{"10.0.0.300", "not an address"},
			{"224.0.0.1", "not the address of one host"},
			{"0.0.0.0", "not the address of one host"},
			{"\"::ffff:10.0.0.2\"", "not the address of one host"}}},
	{"routing.static_routes[].interface", ROUTE "prefix: 10.2.0.0/16\n      ", "",
		.good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "there is no interface 'c'"}, {"''", "no interface"}}},
	{"routing.static_routes[].type", ROUTE "prefix: 10.2.0.0/16\n      ", "",
		.good = {{"blackhole", "blackhole"}, {"unreachable", "unreachable"},
			{"prohibit", "prohibit"}},
		.bad = {{"unicast", "has neither 'via' nor 'interface'"},
			{"local", "not a valid choice"}, {"punt", "not a valid choice"},
			{"''", "not a valid choice"}}},
	{"routing.static_routes[].weight", ROUTE "prefix: 10.2.0.0/16\n      interface: a\n      ",
		"", .good = {{"1", "1"}, {"256", "256"}},
		.bad = {{"0", "too small"}, {"257", "too large"}}},
	{"routing.static_neighbors[].address",
		NEIGHBOR "interface: a\n      mac: \"02:00:00:00:01:02\"\n      ", "",
		.good = {{"10.0.0.2", "10.0.0.2"}, {"\"fe80::2\"", "\"fe80::2\""},
			{"192.0.2.1", "192.0.2.1"}},
		.bad = {{"10.0.0.1", "an address of this gateway"},
			{"10.0.0.2/24", "not an address"},
			{"255.255.255.255", "not the address of one host"}}},
	{"routing.static_neighbors[].mac", NEIGHBOR "interface: a\n      address: 10.0.0.2\n      ",
		"", .good = {{"\"02:00:00:00:01:02\"", "\"02:00:00:00:01:02\""}},
		.bad = {{"ff:ff:ff:ff:ff:ff", "not the address of one station"},
			{"02:00", "not a MAC address"}}},
	{"routing.static_neighbors[].interface",
		NEIGHBOR "address: 10.0.0.2\n      mac: \"02:00:00:00:01:02\"\n      ", "",
		.good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "there is no interface 'c'"}}},
	{"punt.health_device_ports", PORTS "punt:\n  ", "",
		.good = {{"[1, 65535]", "[1, 65535]"}, {"6024", "[6024]"},
			{"[1,2,3,4,5,6,7,8]", "[1, 2, 3, 4, 5, 6, 7, 8]"}},
		.bad = {{"[0]", "too small"}, {"[]", "0 are given"},
			{"[1,2,3,4,5,6,7,8,9]", "9 are given"}, {"[5, 5]", "5 is given twice"}}},
	POLICER("routing"),
	POLICER("health_devices"),
	POLICER("local"),
	POLICER("other"),
#include "settings_phd.h"
#include "settings_aggregation.h"
#include "settings_transform.h"
#include "settings_lcl.h"
#include "settings_sampling.h"
#include "settings_fleet.h"
#include "settings_mqtt.h"
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *key_of(const struct row *r)
{
	const char *dot = strrchr(r->path, '.');

	return dot != NULL ? dot + 1 : r->path;
}

static char *file_with(const struct row *r, const char *value)
{
	char *text;

	assert_true(asprintf(&text, "%s%s: %s\n%s", r->before, key_of(r), value, r->after) > 0);
	return text;
}

/* Whether a line of the dump, or an element of a flow mapping, is "KEY: AS". */
static bool dump_has(const char *dumped, const char *key, const char *as)
{
	char *line;
	const char *at;

	assert_true(asprintf(&line, "%s:%s%s", key, as[0] == '\n' ? "" : " ", as) > 0);
	at = strstr(dumped, line);
	while (at != NULL && ((at != dumped && strchr(" {\n", at[-1]) == NULL) ||
				     strchr("\n,}", at[strlen(line)]) == NULL))
		at = strstr(at + 1, line);
	free(line);
	return at != NULL;
}

static void good_values_are_taken(void **state)
{
	for (const struct row *r = rows; r < rows + N_ROWS; r++) {
		assert_non_null(r->good[0].text);
		for (const struct value *v = r->good; v < r->good + 12 && v->text != NULL; v++) {
			char *text = file_with(r, v->text), *dumped;
			struct bp_config *c = accepted(text);

			dumped = dump(c);
			if (!dump_has(dumped, key_of(r), v->as))
				fail_msg("%s: '%s' was not dumped as '%s':\n%s", r->path, v->text,
					v->as, dumped);
			free(dumped);
			bp_config_free(c);
			free(text);
		}
	}
}

static void bad_values_are_refused(void **state)
{
	for (const struct row *r = rows; r < rows + N_ROWS; r++) {
		assert_non_null(r->bad[0].text);
		for (const struct value *v = r->bad; v < r->bad + 12 && v->text != NULL; v++) {
			char *text = file_with(r, v->text);
			struct outcome o = parse(text);

			if (o.config != NULL || strstr(o.errors, v->as) == NULL)
				fail_msg("%s: '%s' should be refused for '%s', but: %s", r->path,
					v->text, v->as, o.errors);
			/* One mistake, one message. */
			if (strchr(o.errors, '\n') != o.errors + strlen(o.errors) - 1)
				fail_msg("%s: '%s' gives several messages:\n%s", r->path, v->text,
					o.errors);
			end(&o);
			free(text);
		}
	}
}

static void every_setting_is_tested(void **state)
{
	const struct bp_setting *s = NULL;

	while ((s = bp_schema_next(s)) != NULL) {
		size_t k = 0;

		if (s->type == &bp_type_section || s->list != NULL)
			continue;
		while (k < N_ROWS && strcmp(rows[k].path, s->path) != 0)
			k++;
		if (k == N_ROWS)
			fail_msg("no test of %s", s->path);
	}
}

/* The schema itself: invariants that the code relies on. */
static void the_schema_is_consistent(void **state)
{
	static struct bp_config c;
	static max_align_t element[1024]; /* of any list */
	const struct bp_setting *s = NULL;

	for (unsigned i = 0; i < BP_SERVICE_COUNT; i++)
		c.service[i] = calloc(1, bp_config_services[i]->size + 1);
	while ((s = bp_schema_next(s)) != NULL) {
		const struct bp_setting *before = NULL;
		bool leaf = s->type != &bp_type_section && s->list == NULL;
		const bool listed = strstr(s->path, "[].") != NULL;
		void *base = listed ? (void *)element : bp_setting_base(s, &c);
		struct bp_fault fault;

		assert_non_null(s->help);
		assert_true(s->help[strlen(s->help) - 1] == '.');
		while ((before = bp_schema_next(before)) != s)
			assert_string_not_equal(s->path, before->path);
		if (leaf)
			assert_true((s->flags & BP_REQUIRED) != 0 || s->preset != NULL ||
				    s->preset_text != NULL);
		if (s->preset != NULL &&
			!s->type->parse(s, &c, s->preset, bp_setting_field(s, base), &fault))
			fail_msg("%s: its default is refused: %s", s->path, fault.what);
		if (s->list != NULL)
			assert_in_range(s->list->element, 1, sizeof(element));
	}
	for (unsigned i = 0; i < BP_SERVICE_COUNT; i++)
		free(c.service[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_values_are_taken),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(every_setting_is_tested),
		cmocka_unit_test(the_schema_is_consistent),
	};

	return cmocka_run_group_tests_name("config settings", tests, NULL, NULL);
}
