/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the table in test_settings.c for section fleet, included in it. */
/* clang-format off */
#define FLEET PORTS "fleet:\n  name: f\n  "
#define FLEET_CONFIG_ PORTS "name: g\nfleet:\n  name: f\n  config:\n    "
#define FLEET_SERVER "server: \"etcd://h:1\"\n    "
#define FLEET_KEYS "keys: [/k]\n    "
#define FLEET_CONFIG FLEET_CONFIG_ FLEET_SERVER FLEET_KEYS
#define FLEET_PATHS .good = {{"/a/b", "\"/a/b\""}}, .bad = {{"''", "the text is empty"}, {"[x]", "found a list"}, {"/" TEXT255, " bytes long"}}

	{"fleet.labels", FLEET, "",
		.good = {{"{site: north}", "{site: \"north\"}"}, {"{a: 1, b_-.c: x.y-z_0}", "{a: \"1\", b_-.c: \"x.y-z_0\"}"},
			{"{a: a, b: a, c: a, d: a, e: a, f: a, g: a, h: a}", "{a: \"a\", b: \"a\", c: \"a\", d: \"a\", e: \"a\", f: \"a\", g: \"a\", h: \"a\"}"},
			{"{" NAME31 ": " NAME63 "}", "{" NAME31 ": \"" NAME63 "\"}"}},
		.bad = {{"[a]", "found a list"}, {"a", "found a single value"}, {"{a: }", "not a word"}, {"{a: b c}", "not a word"},
			{"{a=b: c}", "not a word"}, {"{a: [b]}", "not a word"}, {"{a: 1, a: 2}", "given twice"}, {"{" NAME31 "x: a}", "not a word"},
			{"{a: " NAME63 "x}", "not a word"}, {"{a: a, b: a, c: a, d: a, e: a, f: a, g: a, h: a, i: a}", "9 are given"}}},
	{"fleet.config.server", FLEET_CONFIG_ FLEET_KEYS, "",
		.good = {{"\"etcd://10.0.0.1:2379\"", "\"etcd://10.0.0.1:2379\""}, {"\"etcds://a:1,[::1]:2\"", "\"etcds://a:1,[::1]:2\""}},
		.bad = {{"\"http://a:1\"", "not supported"}, {"a:1", "not a URL"}, {"\"etcd://a\"", "has no port"}, {"\"etcd://a:1,b\"", "has no port"},
			{"\"etcd://a:1,\"", "host is missing"}, {"\"etcd://a:0\"", "not a port"}, {"\"etcd://u@a:1\"", "nothing is allowed"},
			{"\"etcd://" TEXT511 ":1\"", " bytes long"}}},
	{"fleet.config.keys", FLEET_CONFIG_ FLEET_SERVER, "",
		.good = {{"[/a]", "[\"/a\"]"}, {"[/a, /b, /c, /d]", "[\"/a\", \"/b\", \"/c\", \"/d\"]"}},
		.bad = {{"[]", "the list is empty"}, {"/a", "no list"}, {"[/a, /b, /c, /d, /e]", "too long"}, {"[a]", "not an absolute path"},
			{"[[/a]]", "not an absolute path"}, {"[/" TEXT255 "]", "not an absolute path"}}},
	{"fleet.config.ca_file", FLEET_CONFIG, "", FLEET_PATHS},
	{"fleet.config.cert_file", FLEET_CONFIG, "\n    key_file: /k\n", FLEET_PATHS},
	{"fleet.config.key_file", FLEET_CONFIG, "\n    cert_file: /c\n", FLEET_PATHS},
	{"fleet.config.username", FLEET_CONFIG, "\n    password_file: /p\n", .good = {{"u", "\"u\""}, {NAME63, "\"" NAME63 "\""}},
		.bad = {{"''", "the text is empty"}, {NAME63 "x", " bytes long"}}},
	{"fleet.config.password_file", FLEET_CONFIG, "\n    username: u\n", FLEET_PATHS},
	{"fleet.config.trial_time", FLEET_CONFIG, "", .good = {{"1s", "1s"}, {"24h", "1d"}},
		.bad = {{"0s", "too small"}, {"25h", "too large"}, {"60", "has no unit"}}},
	{"fleet.config.directory", FLEET_CONFIG, "", .good = {{"/d", "\"/d\""}}, .bad = {{"d", "not an absolute path"}, {"''", "the text is empty"}}},
	/* clang-format on */
