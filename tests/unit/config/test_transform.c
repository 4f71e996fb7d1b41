/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/transform/settings.h"
#include "config_test.h"

#include "services/transform/layout.h"

/* Section transform; test_settings.c has each setting's bounds. */

#define XF "transform:\n  entries:\n"
#define XFORM(more) XF "  - {port: a, udp_port: 10000" more "}\n"
#define SOURCES(list) ", sources: [" list "]"
#define ONE SOURCES("{address: 10.0.0.5}")
#define UNIT "[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]"
#define MAC ", mac: \"02:00:00:00:00:09\""

static bool is_prefix4(
	const struct bp_prefix *p, uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t length)
{
	const struct bp_prefix want = {.bytes = {a, b, c, d}, .family = 4, .length = length};

	return memcmp(p, &want, sizeof(want)) == 0;
}

static void defaults_of_an_entry(void **state)
{
	struct bp_config *c = accepted(BRIDGED XFORM(ONE));
	const struct bp_transform_rule *r = &bp_config_transform(c)->entries.rule[0];

	assert_true(bp_config_transforms(c));
	assert_int_equal(bp_config_transform(c)->entries.n_rules, 1);
	assert_int_equal(r->port, 0);
	assert_int_equal(r->udp, 10000);
	assert_int_equal(r->to.family, 0);
	assert_memory_equal(&r->layout, &bp_transform_layout_kunze2021, sizeof(r->layout));
	assert_int_equal(r->method, BP_TRANSFORM_VECTOR);
	assert_true(r->drop_unknown && !r->drop_overflow && !r->allow_singular && !r->loader);
	assert_int_equal(r->otherwise.flags, 0);
	assert_int_equal(bp_config_transform(c)->entries.n_sources, 1);
	assert_int_equal(bp_config_transform(c)->entries.n_receivers, 0);
	assert_int_equal(bp_config_transform(c)->entries.source[0].n, 0);
	assert_true(
		is_prefix4(&bp_config_transform(c)->entries.source[0].address, 10, 0, 0, 5, 32));
	assert_int_equal(bp_config_transform(c)->max_matrices, 1024);
	assert_int_equal(bp_config_transform(c)->matrix_loader_address.family, 0);
	bp_config_free(c);
	c = accepted(BRIDGED "transform: {entries: []}\n");
	assert_false(bp_config_transforms(c));
	bp_config_free(c);
}

#define FULL                                                                                       \
	BRIDGED                                                                                    \
	XF "  - port: b\n    udp_port: 10000\n    to: 10.0.0.0/8\n    layout: kunze2021_timed\n"   \
	   "    method: exact\n    unknown_source: forward\n    overflow: drop\n   "               \
	   " allow_singular: true\n"                                                               \
	   "    matrix_loader: true\n"                                                             \
	   "    receiver: {address: 10.1.0.9, udp_port: 20000, mac: \"02:00:00:00:00:09\"}\n"      \
	   "    sources:\n"                                                                        \
	   "      - address: 10.0.0.5\n"                                                           \
	   "        receivers:\n"                                                                  \
	   "          - {udp_port: 20001, matrix: [[0, -1, 0, 1.5], [1, 0, 0, 0], [0, 0, 1, "      \
	   "0.25]]}\n"                                                                             \
	   "          - {reply_to_sender: true, matrix: [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, " \
	   "12]]}\n"                                                                               \
	   "      - address: 10.0.0.0/16\n"                                                        \
	   "  - port: a\n    udp_port: 10000\n    layout:\n"                                       \
	   "      byte_order: little\n      angle_unit: degrees\n"                                 \
	   "      theta: {offset: 16, type: float32}\n      phi: {offset: 8, type: float64}\n"     \
	   "      radius: {offset: 0, type: ufixed32, fraction: 10}\n"                             \
	   "      x: {offset: 20, type: float64}\n      y: {offset: 28, type: fixed32}\n"          \
	   "      z: {offset: 32, type: float32}\n"                                                \
	   "    sources:\n"                                                                        \
	   "      - address: \"fd00::/64\"\n"                                                      \
	   "        receivers: [{address: \"fd00:1::9\", mac: \"02:00:00:00:00:01\"}]\n"           \
	   "  - port: a\n    udp_port: 10001\n    layout:\n      length: 100\n"                    \
	   "      from_x: {offset: 0, type: fixed32}\n      from_y: {offset: 4, type: fixed32}\n"  \
	   "      from_z: {offset: 8, type: fixed32}\n      x: {offset: 12, type: fixed32}\n"      \
	   "      y: {offset: 16, type: fixed32}\n      z: {offset: 20, type: fixed32}\n"          \
	   "    unknown_source: forward\n    receiver: {reply_to_sender: true}\n"                  \
	   "  max_matrices: 5\n  matrix_loader: {address: \"::1\", max_connections: 2}\n"

static void entries_are_read(const struct bp_transform_rule *r)
{
	assert_int_equal(r[0].port, 1);
	assert_true(is_prefix4(&r[0].to, 10, 0, 0, 0, 8));
	assert_memory_equal(
		&r[0].layout, &bp_transform_layout_kunze2021_timed, sizeof(r[0].layout));
	assert_int_equal(r[0].method, BP_TRANSFORM_EXACT);
	assert_true(!r[0].drop_unknown && r[0].drop_overflow && r[0].allow_singular && r[0].loader);
	assert_int_equal(
		r[0].otherwise.flags, BP_TRANSFORM_ADDRESS | BP_TRANSFORM_UDP | BP_TRANSFORM_MAC);
	assert_true(r[0].otherwise.family == 4 && r[0].otherwise.address[3] == 9);
	assert_true(r[0].otherwise.udp == 20000 && r[0].otherwise.mac[5] == 9);
	assert_true(r[1].layout.little_endian && r[1].layout.degrees && !r[1].layout.cartesian);
	assert_int_equal(r[1].layout.length, 36);
	assert_true(r[1].layout.in[0].type == BP_TRANSFORM_UFIXED32 &&
		    r[1].layout.in[0].fraction == 10);
	assert_true(
		r[1].layout.in[1].type == BP_TRANSFORM_FLOAT64 && r[1].layout.in[1].offset == 8);
	assert_true(
		r[1].layout.in[2].type == BP_TRANSFORM_FLOAT32 && r[1].layout.in[2].offset == 16);
	assert_int_equal(r[1].layout.out[2].offset, 32);
	assert_true(r[2].layout.cartesian && !r[2].layout.kunze2021);
	assert_int_equal(r[2].layout.length, 100);
	assert_true(r[2].layout.in[2].offset == 8 && r[2].layout.in[2].fraction == 25);
	assert_int_equal(r[2].otherwise.flags, BP_TRANSFORM_REFLECT);
}

static void all_sections_are_read(void **state)
{
	struct bp_config *c = accepted(FULL);
	const struct bp_transform_config *t = &bp_config_transform(c)->entries;
	/* column by column */
	static const double first[12] = {0, 1, 0, -1, 0, 0, 0, 0, 1, 1.5, 0, 0.25};
	static const double second[12] = {1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12};

	assert_int_equal(t->n_rules, 3);
	entries_are_read(t->rule);
	assert_int_equal(t->n_sources, 3);
	assert_int_equal(t->n_receivers, 3);
	assert_true(t->source[0].rule == 0 && t->source[0].first == 0 && t->source[0].n == 2);
	assert_true(t->source[1].rule == 0 && t->source[1].n == 0);
	assert_true(t->source[2].rule == 1 && t->source[2].first == 2 && t->source[2].n == 1);
	assert_true(is_prefix4(&t->source[1].address, 10, 0, 0, 0, 16));
	assert_int_equal(t->receiver[0].flags, BP_TRANSFORM_UDP | BP_TRANSFORM_MATRIX);
	assert_memory_equal(t->receiver[0].m, first, sizeof(first));
	assert_int_equal(t->receiver[1].flags, BP_TRANSFORM_REFLECT | BP_TRANSFORM_MATRIX);
	assert_memory_equal(t->receiver[1].m, second, sizeof(second));
	assert_int_equal(t->receiver[2].flags, BP_TRANSFORM_ADDRESS | BP_TRANSFORM_MAC);
	assert_int_equal(t->receiver[2].family, 6);
	assert_int_equal(bp_config_transform(c)->max_matrices, 5);
	assert_true(bp_config_transform(c)->matrix_loader_address.family == 6 &&
		    bp_config_transform(c)->matrix_loader_address.bytes[15] == 1);
	assert_true(bp_config_transform(c)->matrix_loader_tcp_port == 16400 &&
		    bp_config_transform(c)->matrix_loader_max_connections == 2);
	bp_config_free(c);
}

/* A dump that is read again gives the same bytes, and the same dump. */
static void dumps_come_back(void **state)
{
	static const char *const texts[] = {FULL, BRIDGED XFORM(ONE)};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct bp_config *a = accepted(texts[i]), *b;
		char *first = dump(a), *second;

		b = accepted(first);
		second = dump(b);
		assert_string_equal(first, second);
		assert_int_equal(bp_config_restart_needed(a, b, stderr), 0);
		const struct bp_config_transform *s = bp_config_transform(a);
		const struct bp_config_transform *t = bp_config_transform(b);
		const struct bp_transform_config *x = &s->entries, *y = &t->entries;

		assert_memory_equal(x->rule, y->rule, sizeof(x->rule));
		assert_int_equal(x->n_sources, y->n_sources);
		assert_memory_equal(x->source, y->source, x->n_sources * sizeof(*x->source));
		assert_int_equal(x->n_receivers, y->n_receivers);
		if (x->n_receivers != 0)
			assert_memory_equal(
				x->receiver, y->receiver, x->n_receivers * sizeof(*x->receiver));
		assert_int_equal(s->max_matrices, t->max_matrices);
		assert_memory_equal(&s->matrix_loader_address, &t->matrix_loader_address,
			sizeof(s->matrix_loader_address));
		assert_int_equal(s->matrix_loader_tcp_port, t->matrix_loader_tcp_port);
		assert_int_equal(
			s->matrix_loader_max_connections, t->matrix_loader_max_connections);
		bp_config_free(a);
		bp_config_free(b);
		free(first);
		free(second);
	}
}

static void required_settings(void **state)
{
	says(BRIDGED XF "  - {method: exact}\n",
		"f.yaml:5:5: transform.entries[0] has no 'port'; expected the name of one of the "
		"ports\n"
		"f.yaml:5:5: transform.entries[0] has no 'udp_port'; expected a whole number from "
		"1 to 65535\n");
	says(BRIDGED XFORM(SOURCES("{receivers: [{udp_port: 1}]}")),
		"f.yaml:5:42: transform.entries[0].sources[0] has no 'address'; expected a unicast "
		"IPv4 or IPv6 address or prefix, such as 10.1.0.9, 10.1.0.0/24 or 2001:db8::/64\n");
	says(BRIDGED "transform: {matrix_loader: {}}\n",
		"f.yaml:3:28: transform.matrix_loader has no 'address'; expected a loopback "
		"address such as 127.0.0.1, or \"::1\"\n");
	says(BRIDGED XFORM(ONE ", recever: {udp_port: 1}"),
		"f.yaml:5:64: unknown setting 'recever'; did you mean 'receiver'?\n");
}

#define LAYOUT(fields) ", layout: {" fields "}" ONE
#define EXPECTED_LAYOUT                                                                            \
	"; expected kunze2021, kunze2021_timed, or a mapping with x, y, z and either radius, "     \
	"phi, "                                                                                    \
	"theta or from_x, from_y, from_z\n"
#define IN3                                                                                        \
	"radius: {offset: 0, type: fixed32}, phi: {offset: 4, type: fixed32}, "                    \
	"theta: {offset: 8, type: fixed32}"
#define FROM3                                                                                      \
	"from_x: {offset: 0, type: fixed32}, from_y: {offset: 4, type: fixed32}, "                 \
	"from_z: {offset: 8, type: fixed32}"
#define OUT3                                                                                       \
	"x: {offset: 12, type: fixed32}, y: {offset: 16, type: fixed32}, "                         \
	"z: {offset: 20, type: fixed32}"

static void invalid_layouts_are_rejected(void **state)
{
	says(BRIDGED XFORM(LAYOUT(IN3)),
		"f.yaml:5:40: transform.entries[0].layout: 'x' is missing" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT("radius: {offset: 0, type: fixed32}, " OUT3)),
		"f.yaml:5:40: transform.entries[0].layout: 'phi' is missing" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT("from_z: {offset: 0, type: fixed32}, " OUT3)),
		"f.yaml:5:40: transform.entries[0].layout: 'from_x' is missing" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT(IN3 ", " FROM3 ", " OUT3)),
		"f.yaml:5:40: transform.entries[0].layout: it has both a spherical and a Cartesian "
		"input" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT(IN3 ", x: {offset: 12, type: fixed32}, y: {offset: 15, type: "
				      "fixed32}, z: {offset: 20, type: fixed32}")),
		"f.yaml:5:40: transform.entries[0].layout: two outputs overlap" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT(IN3 ", x: {offset: 12, type: fixed32}, y: {offset: 16, type: "
				      "fixed32}, z: {offset: 20, type: float32, fraction: 3}")),
		"f.yaml:5:250: transform.entries[0].layout: z is of type float32 and has no "
		"fraction" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT("x: 12")),
		"f.yaml:5:44: transform.entries[0].layout.x: found a single "
		"value; expected a mapping of settings\n");
	says(BRIDGED XFORM(LAYOUT(FROM3 ", " OUT3)), "");
}

static void sources_that_are_given_twice(void **state)
{
	says(BRIDGED XF "  - port: a\n    udp_port: 1\n    sources:\n"
			"      - {address: 10.0.0.5}\n      - {address: 10.0.0.0/24}\n"
			"      - {address: 10.0.0.5/32}\n      - {address: 10.0.0.0/25}\n"
			"  - port: a\n    udp_port: 2\n    sources: [{address: 10.0.0.5}]\n",
		"f.yaml:10:19: transform.entries[0].sources[2].address: 10.0.0.5/32 is given twice "
		"(first on line 8); expected it once, with all its receivers\n");
}

static void sixteen_prefix_lengths_are_enough(void **state)
{
	char text[2048];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s",
		BRIDGED XF "  - port: a\n    udp_port: 1\n    sources:\n");

	for (unsigned length = 17; length <= 32; length++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "      - {address: 10.0.0.0/%u}\n", length);
	/* prefix lengths of IPv6 count separately, and an existing length does not count again */
	n += (size_t)snprintf(text + n, sizeof(text) - n,
		"      - {address: \"fd00::/16\"}\n      - {address: 10.1.0.0/17}\n");
	says(text, "");
	snprintf(text + n, sizeof(text) - n, "      - {address: 10.0.0.0/16}\n");
	says(text,
		"f.yaml:26:19: transform.entries[0].sources[18].address: earlier sources have 16 "
		"different "
		"prefix lengths of IPv4; expected no more than that\n");
}

#define RECEIVERS(list) SOURCES("{address: 10.0.0.5, receivers: [" list "]}")
#define AT_RECEIVER "transform.entries[0].sources[0].receivers[0]"

static void receivers_that_contradict_themselves(void **state)
{
	says(BRIDGED XFORM(RECEIVERS("{address: 10.1.0.9, reply_to_sender: true}")),
		"f.yaml:5:111: " AT_RECEIVER ".reply_to_sender: replies go to the sender's "
		"addresses; expected no address in this receiver\n");
	says(BRIDGED XFORM(", receiver: {reply_to_sender: true" MAC "}" ONE),
		"f.yaml:5:60: transform.entries[0].receiver.reply_to_sender: replies go to the "
		"sender's addresses; expected no mac in this receiver\n");
	says(BRIDGED XFORM(RECEIVERS("{address: 10.1.0.9}")),
		"f.yaml:5:84: warning: " AT_RECEIVER
		".address: port 'a' is in a bridge, which resolves no MAC addresses, so results "
		"keep the reading's; expected mac in this receiver\n");
	says(PORTS XFORM(RECEIVERS("{address: 10.1.0.9" MAC "}")),
		"f.yaml:4:99: warning: " AT_RECEIVER
		".mac: port 'a' is routed and resolves MAC addresses itself, so this one is not "
		"used; expected mac only if the port is in a bridge\n");
	says(PORTS XFORM(RECEIVERS("{address: 10.1.0.9}")), "");
}

static void versions_stay_as_they_are(void **state)
{
	says(BRIDGED XFORM(RECEIVERS("{address: \"fd00::9\"" MAC "}")),
		"f.yaml:5:84: " AT_RECEIVER
		".address: readings of this source are IPv4; expected an IPv4 address\n");
	says(BRIDGED XFORM(", receiver: {address: \"fd00::9\"" MAC "}" ONE),
		"f.yaml:5:100: transform.entries[0].sources[0]: readings of this source are IPv4, "
		"and the entry's receiver has an IPv6 address; expected a receiver with an IPv4 "
		"address\n");
	says(BRIDGED XFORM(", to: \"fd00::/8\"" ONE),
		"f.yaml:5:68: transform.entries[0].sources[0].address: it is IPv4 and to is IPv6; "
		"expected an IPv6 address or prefix\n");
	says(BRIDGED XFORM(", to: 10.0.0.9, receiver: {address: \"fd00::9\"" MAC
			   "}, unknown_source: forward"),
		"f.yaml:5:66: transform.entries[0].receiver.address: readings to IPv4 addresses "
		"stay IPv4; expected an IPv4 address\n");
	/* a receiver with its own value may differ from the entry */
	says(BRIDGED XFORM(", receiver: {address: \"fd00::9\"" MAC
			   "}" RECEIVERS("{address: 10.1.0.9" MAC "}, {reply_to_sender: true}")),
		"");
}

static void invalid_matrices_are_rejected(void **state)
{
	says(BRIDGED XFORM(RECEIVERS("{matrix: [[1, 0, 0, 9], [0, 1, 0, 9], [0, 0, 0, 9]]}")),
		"f.yaml:5:83: " AT_RECEIVER ".matrix: the matrix is singular; expected one that is "
		"not, or allow_singular: true in this entry\n");
	says(BRIDGED XFORM(", allow_singular: true" RECEIVERS(
		     "{matrix: [[1, 0, 0, 9], [0, 1, 0, 9], [0, 0, 0, 9]]}")),
		"");
	says(BRIDGED XFORM(RECEIVERS("{matrix: [[1, 0, 0, 64], [0, 1, 0, 9], [0, 0, 1, 9]]}")), "");
	says(BRIDGED XFORM(RECEIVERS("{matrix: [[1, 0, 0, 9], [0, 1, 0], [0, 0, 1, 9]]}")),
		"f.yaml:5:98: " AT_RECEIVER
		".matrix: found a row of 3 numbers; expected three rows of four numbers, "
		"[[a, b, c, shift of x], [d, e, f, shift of y], [g, h, i, shift of z]]\n");
}

#define TO(address, udp)                                                                           \
	"  - {port: a, udp_port: " udp ", to: " address ", unknown_source: forward}\n"
#define ANY(udp) "  - {port: a, udp_port: " udp ", unknown_source: forward}\n"

/* An entry that an earlier one leaves nothing for. */
static void unreachable_entries(void **state)
{
	says(BRIDGED XF ANY("5") TO("10.0.0.9", "5") ANY("5"),
		"f.yaml:6:32: transform.entries[1]: transform.entries[0] on line 5 matches all "
		"these readings first; expected this entry before that one, or other destinations\n"
		"f.yaml:7:5: transform.entries[2]: transform.entries[0] on line 5 matches all "
		"these readings first; expected another port, UDP port or destination\n");
	says(BRIDGED XF TO("10.0.0.0/8", "5") TO("10.0.0.9", "5"),
		"f.yaml:6:32: transform.entries[1]: transform.entries[0] on line 5 matches all "
		"these readings first; expected this entry before that one, or other "
		"destinations\n");
	says(BRIDGED XF TO("10.0.0.9", "5") TO("10.0.0.0/8", "5") TO("\"fd00::/8\"", "5") ANY("5")
			TO("10.0.0.9", "6") "  - {port: b, udp_port: 5, unknown_source: forward}\n",
		"");
}

static void capacity_is_available(void **state)
{
	says(BRIDGED XFORM(SOURCES(
		     "{address: 10.0.0.5, receivers: [{udp_port: 1}, {udp_port: 2}]}, {address: "
		     "10.0.0.6}")) "  max_matrices: 2\n",
		"f.yaml:6:17: transform.max_matrices: 2 is too small for the 3 receivers in all "
		"entries; expected at least 3 (at most 65536)\n");
	says(BRIDGED XFORM(SOURCES(
		     "{address: 10.0.0.5, receivers: [{udp_port: 1}, {udp_port: 2}]}, {address: "
		     "10.0.0.6}")) "  max_matrices: 3\n",
		"");
}

static void ineffective_settings_cause_warnings(void **state)
{
	says(BRIDGED XFORM(""),
		"f.yaml:5:5: warning: transform.entries[0]: there are no sources, so every reading "
		"is dropped; expected sources, unknown_source: forward, or matrix_loader: true\n");
	says(BRIDGED XFORM(", matrix_loader: true"),
		"f.yaml:5:47: warning: transform.entries[0].matrix_loader: there is no section "
		"transform.matrix_loader, so no matrices can be loaded; expected it, such as "
		"matrix_loader: {address: 127.0.0.1}\n");
	says(BRIDGED XFORM(ONE) "  matrix_loader: {address: 127.0.0.1}\n",
		"f.yaml:6:3: warning: transform.matrix_loader: no entry has matrix_loader: true, "
		"so no matrices can be loaded; expected it in an entry\n");
	says(BRIDGED XFORM(", matrix_loader: true") "  matrix_loader: {address: 127.0.0.1}\n", "");
}

#define ROUTED                                                                                     \
	"ports: [{name: a, device: x, routed: {addresses: [10.0.0.1/24, \"fd00::1/64\"]}}, "       \
	"{name: b, "                                                                               \
	"device: y, routed: {}}]\nhealth_devices: {cse: {coap: \"coap://10.1.0.20\"}}\n"

static void own_ports_are_unchanged(void **state)
{
	says(ROUTED XF ANY("6024"),
		"f.yaml:5:25: transform.entries[0].udp_port: it is health_devices.listen.udp_port "
		"of 10.0.0.1, an "
		"address of this gateway; expected another port, or destinations (to) without that "
		"address\n");
	says(ROUTED XF TO("\"fd00::/16\"", "29999"),
		"f.yaml:5:25: transform.entries[0].udp_port: it is health_devices.cse.source_ports "
		"of "
		"fd00::1, an address of this gateway; expected another port, or destinations (to) "
		"without that address\n");
	says(ROUTED XF TO("10.0.0.2", "6024") ANY("10000"), "");
}

#define APART(address, udp)                                                                        \
	"aggregation:\n  decapsulate:\n  - {port: a, to: {address: " address ", udp_port: " udp    \
	"}, allowed_senders: "                                                                     \
	"[10.0.0.0/8]}\n"

/* Readings that were in an aggregate are transformed, too. */
static void readings_may_be_restored(void **state)
{
	says(BRIDGED APART("10.0.0.0/16", "5-7") XF TO("10.0.0.9", "5"), "");
	says(BRIDGED APART("10.0.0.9", "5") XF ANY("5"), "");
}

static void names_before_version_1(void **state)
{
	says(BRIDGED "transformation: {matrices: 5}\n",
		"f.yaml:3:1: unknown setting 'transformation' in the file; expected transform, its "
		"name in version 1\n");
	says(BRIDGED "transform: {matrices: 5, loader: {}, matrix_loader: {address: 127.0.0.1, "
		     "tcp: 1, connections: 1}}\n",

		"f.yaml:3:13: unknown setting 'matrices' in transform; expected "
		"transform.max_matrices, its name in version 1\n"
		"f.yaml:3:26: unknown setting 'loader' in transform; expected "
		"transform.matrix_loader, its name in version 1\n"
		"f.yaml:3:74: unknown setting 'tcp' in transform.matrix_loader; expected "
		"transform.matrix_loader.tcp_port, its name in version 1\n"
		"f.yaml:3:82: unknown setting 'connections' in transform.matrix_loader; expected "
		"transform.matrix_loader.max_connections, its name in version 1\n");
	says(BRIDGED XF "  - {port: a, udp: 5, unknown: bare, singular: allow, loader: true, "
			"layout: {order: big, angles: degrees}}\n",

		"f.yaml:5:5: transform.entries[0] has no 'udp_port'; expected a whole number from "
		"1 to 65535\n"
		"f.yaml:5:15: unknown setting 'udp' in transform.entries[0]; expected "
		"transform.entries[].udp_port, its name in version 1\n"
		"f.yaml:5:23: unknown setting 'unknown' in transform.entries[0]; expected "
		"transform.entries[].unknown_source, its name in version 1\n"
		"f.yaml:5:38: unknown setting 'singular' in transform.entries[0]; expected "
		"transform.entries[].allow_singular, its name in version 1\n"
		"f.yaml:5:55: unknown setting 'loader' in transform.entries[0]; expected "
		"transform.entries[].matrix_loader, its name in version 1\n"
		"f.yaml:5:78: unknown setting 'order' in transform.entries[0].layout; expected "
		"transform.entries[].layout.byte_order, its name in version 1\n"
		"f.yaml:5:90: unknown setting 'angles' in transform.entries[0].layout; expected "
		"transform.entries[].layout.angle_unit, its name in version 1\n");
	says(BRIDGED XF "  - {port: a, udp_port: 5, receiver: {udp: 1, reflect: true}, sources: "
			"[{address: 10.0.0.5, receivers: [{udp: 1, reflect: true}]}]}\n",

		"f.yaml:5:39: unknown setting 'udp' in transform.entries[0].receiver; expected "
		"transform.entries[].receiver.udp_port, its name in version 1\n"
		"f.yaml:5:47: unknown setting 'reflect' in transform.entries[0].receiver; expected "
		"transform.entries[].receiver.reply_to_sender, its name in version 1\n"
		"f.yaml:5:106: unknown setting 'udp' in "
		"transform.entries[0].sources[0].receivers[0]; expected "
		"transform.entries[].sources[].receivers[].udp_port, its name in version 1\n"
		"f.yaml:5:114: unknown setting 'reflect' in "
		"transform.entries[0].sources[0].receivers[0]; expected "
		"transform.entries[].sources[].receivers[].reply_to_sender, its name in version "
		"1\n");
	says(BRIDGED XFORM(ONE ", layout: paper, method: large"),
		"f.yaml:5:72: transform.entries[0].layout: 'paper' is not a known layout; expected "
		"kunze2021, kunze2021_timed, or a mapping with x, y, z and either radius, phi, "
		"theta or from_x, from_y, from_z\n"
		"f.yaml:5:87: transform.entries[0].method: 'large' is not a valid choice; expected "
		"vector or exact\n");
	/* which are only in the benchmarks */
	says(BRIDGED XFORM(ONE ", method: kunze2021_large"),
		"f.yaml:5:72: transform.entries[0].method: 'kunze2021_large' is not a valid "
		"choice; expected vector or exact\n");
}

static void compare(const char *from, const char *to, const char *said)
{
	struct bp_config *a = accepted(from), *b = accepted(to);
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	bp_config_restart_needed(a, b, f);
	fclose(f);
	assert_string_equal(text, said);
	free(text);
	bp_config_free(a);
	bp_config_free(b);
}

static void settings_that_need_a_restart(void **state)
{
	compare(BRIDGED, BRIDGED XFORM(ONE),
		"transform.entries: adding the first entry needs a restart\n");
	compare(BRIDGED XFORM(ONE), BRIDGED,
		"transform.entries: removing the last entry needs a restart\n");
	compare(FULL,
		BRIDGED XFORM(ONE) "  max_matrices: 5\n  matrix_loader: {address: \"::1\", "
				   "max_connections: 2}\n",
		"");
	compare(BRIDGED XFORM(ONE),
		BRIDGED XFORM(ONE) "  max_matrices: 5\n  matrix_loader: {address: 127.0.0.1}\n",
		"transform.max_matrices: changing it needs a restart\n"
		"transform.matrix_loader: changing it needs a restart\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_of_an_entry),
		cmocka_unit_test(all_sections_are_read),
		cmocka_unit_test(dumps_come_back),
		cmocka_unit_test(required_settings),
		cmocka_unit_test(invalid_layouts_are_rejected),
		cmocka_unit_test(sources_that_are_given_twice),
		cmocka_unit_test(sixteen_prefix_lengths_are_enough),
		cmocka_unit_test(receivers_that_contradict_themselves),
		cmocka_unit_test(versions_stay_as_they_are),
		cmocka_unit_test(invalid_matrices_are_rejected),
		cmocka_unit_test(unreachable_entries),
		cmocka_unit_test(capacity_is_available),
		cmocka_unit_test(ineffective_settings_cause_warnings),
		cmocka_unit_test(own_ports_are_unchanged),
		cmocka_unit_test(readings_may_be_restored),
		cmocka_unit_test(names_before_version_1),
		cmocka_unit_test(settings_that_need_a_restart),
	};

	return cmocka_run_group_tests_name("config transform", tests, NULL, NULL);
}
