/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the table in test_settings.c for section transform, included in it. */
/* clang-format off */
#define XFORM BRIDGED "transform:\n  entries:\n  - unknown_source: forward\n    "
#define XFORM_OPEN XFORM "port: a\n    udp_port: 10000\n    "
#define XFORM_TO XFORM_OPEN "receiver:\n      "
#define XFORM_SOURCE XFORM_OPEN "sources:\n      - "
#define XFORM_RECEIVER XFORM_SOURCE "address: 10.0.0.5\n        receivers:\n          - "
#define IN_1 "      radius: {offset: 0, type: fixed32}\n"
#define IN_2 "      phi: {offset: 4, type: fixed32}\n"
#define IN_3 "      theta: {offset: 8, type: fixed32}\n"
#define FROM_1 "      from_x: {offset: 0, type: fixed32}\n"
#define FROM_2 "      from_y: {offset: 4, type: fixed32}\n"
#define FROM_3 "      from_z: {offset: 8, type: fixed32}\n"
#define OUT_1 "      x: {offset: 12, type: fixed32}\n"
#define OUT_2 "      y: {offset: 16, type: fixed32}\n"
#define OUT_3 "      z: {offset: 20, type: fixed32}\n"
#define LAYOUT XFORM_OPEN "layout:\n"
/* A number of a layout, with the five others around it. */
#define NUMBER_OF(name, rest)                                                                      \
	{"transform.entries[].layout." name ".offset", LAYOUT "      length: 1500\n" rest "      " name ":\n        type: float64\n        ", "", \
		.good = {{"24", "24"}, {"0o1000", "512"}, {"1400", "1400"}},                       \
		.bad = {{"1401", "1401 is too large"}, {"-1", "-1"}, {"x", "not a whole number"},  \
			{"~", "no value"}}},                                                       \
	{"transform.entries[].layout." name ".type", LAYOUT rest "      " name ":\n        offset: 100\n        ", "", \
		.good = {{"fixed32", "fixed32"}, {"ufixed32", "ufixed32"}, {"float32", "float32"}, \
			{"float64", "float64"}},                                                   \
		.bad = {{"int32", "not a valid choice"}}},                                                  \
	{"transform.entries[].layout." name ".fraction", LAYOUT rest "      " name ":\n        offset: 100\n        type: ufixed32\n        ", "", \
		.good = {{"0", "0"}, {"31", "31"}}, .bad = {{"32", "too large"}}}
#define RECEIVER_ADDRESS                                                                           \
	.good = {{"10.1.0.9", "10.1.0.9"}},                                                        \
	.bad = {{"10.1.0.0/24", "not an address"}, {"224.0.0.1", "not the address of one"},        \
		{"127.0.0.1", "not the address of one"}, {"robot", "not an address"}}
#define RECEIVER_UDP                                                                               \
	.good = {{"1", "1"}, {"65535", "65535"}},                                                  \
	.bad = {{"0", "too small"}, {"65536", "too large"}, {"1-2", "not a whole number"}}
#define RECEIVER_MAC                                                                               \
	.good = {{"02:00:00:00:00:09", "\"02:00:00:00:00:09\""}},                                  \
	.bad = {{"02:00:00:00:00", "MAC"}, {"01:00:00:00:00:01", "not the address of one station"}}
#define RECEIVER_REPLY                                                                           \
	.good = {{"true", "true"}, {"false", "false"}}, .bad = {{"back", "neither true nor false"}}

	{"transform.entries[].port", XFORM "udp_port: 1\n    ", "", .good = {{"a", "\"a\""}, {"b", "\"b\""}},
		.bad = {{"c", "no port 'c'"}, {"''", "no port ''"}}},
	{"transform.entries[].udp_port", XFORM "port: a\n    ", "", .good = {{"1", "1"}, {"65535", "65535"}},
		.bad = {{"0", "too small"}, {"65536", "too large"}, {"1-2", "not a whole number"}}},
	{"transform.entries[].to", XFORM_OPEN, "",
		.good = {{"10.1.0.9", "\"10.1.0.9\""}, {"10.0.0.0/8", "\"10.0.0.0/8\""},
			{"\"FD00::/64\"", "\"fd00::/64\""}},
		.bad = {HOSTS_BAD}},
	{"transform.entries[].layout", XFORM_OPEN, "",
		.good = {{"kunze2021", "kunze2021"}, {"kunze2021_timed", "kunze2021_timed"},
			{"{radius: {offset: 0, type: fixed32}, phi: {offset: 4, type: ufixed32}, "
			 "theta: {offset: 8, type: ufixed32}, x: {offset: 12, type: fixed32}, "
			 "y: {offset: 16, type: fixed32}, z: {offset: 20, type: fixed32}, "
			 "length: 40}", "kunze2021"}},
		.bad = {{"paper", "'paper' is not a known layout"}, {"[kunze2021]", "found a list"},
			{"~", "no value is given"}, {"{}", "'radius' is missing"}}},
	{"transform.entries[].layout.length", LAYOUT IN_1 IN_2 IN_3 OUT_1 OUT_2 OUT_3 "      ", "",
		.good = {{"auto", "24"}, {"24", "24"}, {"9000", "9000"}},
		.bad = {{"0", "too small"}, {"7", "too small"}, {"9001", "too large"},
			{"23", "a field reaches beyond the length"}}},
	{"transform.entries[].layout.byte_order", LAYOUT IN_1 IN_2 IN_3 OUT_1 OUT_2 OUT_3 "      ", "",
		.good = {{"big", "big"}, {"little", "little"}}, .bad = {{"network", "not a valid choice"}}},
	{"transform.entries[].layout.angle_unit", LAYOUT IN_1 IN_2 IN_3 OUT_1 OUT_2 OUT_3 "      ", "",
		.good = {{"radians", "radians"}, {"degrees", "degrees"}},
		.bad = {{"gon", "not a valid choice"}}},
	NUMBER_OF("radius", IN_2 IN_3 OUT_1 OUT_2 OUT_3),
	NUMBER_OF("phi", IN_1 IN_3 OUT_1 OUT_2 OUT_3),
	NUMBER_OF("theta", IN_1 IN_2 OUT_1 OUT_2 OUT_3),
	NUMBER_OF("from_x", FROM_2 FROM_3 OUT_1 OUT_2 OUT_3),
	NUMBER_OF("from_y", FROM_1 FROM_3 OUT_1 OUT_2 OUT_3),
	NUMBER_OF("from_z", FROM_1 FROM_2 OUT_1 OUT_2 OUT_3),
	NUMBER_OF("x", IN_1 IN_2 IN_3 OUT_2 OUT_3),
	NUMBER_OF("y", IN_1 IN_2 IN_3 OUT_1 OUT_3),
	NUMBER_OF("z", IN_1 IN_2 IN_3 OUT_1 OUT_2),
	{"transform.entries[].method", XFORM_OPEN, "",
		.good = {{"vector", "vector"}, {"exact", "exact"}},
		.bad = {{"fast", "not a valid choice"}, {"kunze2021_large", "not a valid choice"}}},
	{"transform.entries[].unknown_source", BRIDGED "transform:\n  entries:\n  - port: a\n    udp_port: 1\n    ", "    sources: [{address: 10.0.0.5}]\n",
		.good = {{"drop", "drop"}, {"forward", "forward"}}, .bad = {{"bare", "not a valid choice"}}},
	{"transform.entries[].overflow", XFORM_OPEN, "", .good = {{"saturate", "saturate"}, {"drop", "drop"}},
		.bad = {{"wrap", "not a valid choice"}}},
	{"transform.entries[].allow_singular", XFORM_OPEN, "",
		.good = {{"true", "true"}, {"false", "false"}},
		.bad = {{"allow", "neither true nor false"}}},
	{"transform.entries[].matrix_loader", XFORM_OPEN, "", .good = {{"true", "true"}, {"false", "false"}},
		.bad = {{"127.0.0.1", "neither true nor false"}}},
	{"transform.entries[].receiver.address", XFORM_TO, "", RECEIVER_ADDRESS},
	{"transform.entries[].receiver.udp_port", XFORM_TO, "", RECEIVER_UDP},
	{"transform.entries[].receiver.mac", XFORM_TO, "", RECEIVER_MAC},
	{"transform.entries[].receiver.reply_to_sender", XFORM_TO, "", RECEIVER_REPLY},
	{"transform.entries[].sources[].address", XFORM_SOURCE, "",
		.good = {{"10.0.0.5", "\"10.0.0.5\""}, {"10.0.0.0/8", "\"10.0.0.0/8\""},
			{"\"fd00::5\"", "\"fd00::5\""}},
		.bad = {HOSTS_BAD}},
	{"transform.entries[].sources[].receivers[].address", XFORM_RECEIVER, "", RECEIVER_ADDRESS},
	{"transform.entries[].sources[].receivers[].udp_port", XFORM_RECEIVER, "", RECEIVER_UDP},
	{"transform.entries[].sources[].receivers[].mac", XFORM_RECEIVER, "", RECEIVER_MAC},
	{"transform.entries[].sources[].receivers[].reply_to_sender", XFORM_RECEIVER, "", RECEIVER_REPLY},
	{"transform.entries[].sources[].receivers[].matrix", XFORM_RECEIVER, "",
		.good = {{"[[0, -1, 0, 1.5], [1, 0, 0, 0], [0, 0, 1, 0.25]]",
				 "[[0, -1, 0, 1.5], [1, 0, 0, 0], [0, 0, 1, 0.25]]"},
			{"[[0.1, 0, 0, 1e-3], [0, 2147483647, 0, 0], [0, 0, +1, -1E2]]",
				"[[0.10000000000000001, 0, 0, 0.001], [0, 2147483647, 0, 0], "
				"[0, 0, 1, -100]]"}},
		.bad = {{"identity", "found a single value"}, {"[]", "0 are given"},
			{"[[1, 0, 0, 0], [0, 1, 0, 0]]", "2 are given"},
			{"[[1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]", "a row of 3 numbers"},
			{"[1, 2, 3]", "a row of 1 numbers"},
			{"[[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, 0]]", "'x' is not a finite"},
			{"[[1, 0, 0, .inf], [0, 1, 0, 0], [0, 0, 1, 0]]", "'.inf' is not a finite"},
			{"[[1, 0, 0, 1e999], [0, 1, 0, 0], [0, 0, 1, 0]]", "'1e999' is not a finite"},
			{"[[1, 0, 0, ~], [0, 1, 0, 0], [0, 0, 1, 0]]", "this is not a number"},
			{"[[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]", "the matrix is singular"},
			{"[[2147483648, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]", "2^31 or more"}}},
	{"transform.max_matrices", PORTS "transform:\n  ", "",
		.good = {{"1", "1"}, {"65536", "65536"}},
		.bad = {{"0", "too small"}, {"65537", "too large"}}},
	{"transform.matrix_loader.address", PORTS "transform:\n  matrix_loader:\n    ", "",
		.good = {{"127.0.0.1", "127.0.0.1"}, {"127.9.9.9", "127.9.9.9"},
			{"\"::1\"", "\"::1\""}},
		.bad = {{"10.0.0.1", "not a loopback address"}, {"0.0.0.0", "not a loopback"},
			{"localhost", "not an address"}, {"\"::\"", "not a loopback"}}},
	{"transform.matrix_loader.tcp_port", PORTS "transform:\n  matrix_loader:\n    address: 127.0.0.1\n    ", "",
		.good = {{"1", "1"}, {"65535", "65535"}},
		.bad = {{"0", "too small"}, {"65536", "too large"}}},
	{"transform.matrix_loader.max_connections", PORTS "transform:\n  matrix_loader:\n    address: 127.0.0.1\n    ", "",
		.good = {{"1", "1"}, {"256", "256"}}, .bad = {{"0", "too small"}, {"257", "too large"}}},
	/* clang-format on */
