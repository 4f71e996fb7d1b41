/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/transform/settings.h"
#include "config_test.h"

#include "services/transform/layout.h"

/* Sections transform and transformation; test_settings.c has each setting's bounds. */

#define XFORM(more) "transform:\n  - {port: a, udp: 10000" more "}\n"
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

static void defaults(void **state)
{
	struct bp_config *c = accepted(BRIDGED XFORM(ONE));
	const struct bp_transform_rule *r = &bp_config_transform(c)->entries.rule[0];

	assert_true(bp_config_transforms(c));
	assert_int_equal(bp_config_transform(c)->entries.n_rules, 1);
	assert_int_equal(r->port, 0);
	assert_int_equal(r->udp, 10000);
	assert_int_equal(r->to.family, 0);
	assert_memory_equal(&r->layout, &bp_transform_layout_paper, sizeof(r->layout));
	assert_int_equal(r->method, BP_TRANSFORM_VECTOR);
	assert_true(r->drop_unknown && !r->drop_overflow && !r->allow_singular && !r->loader);
	assert_int_equal(r->otherwise.flags, 0);
	assert_int_equal(bp_config_transform(c)->entries.n_sources, 1);
	assert_int_equal(bp_config_transform(c)->entries.n_receivers, 0);
	assert_int_equal(bp_config_transform(c)->entries.source[0].n, 0);
	assert_true(
		is_prefix4(&bp_config_transform(c)->entries.source[0].address, 10, 0, 0, 5, 32));
	assert_int_equal(bp_config_transform(c)->matrices, 1024);
	assert_int_equal(bp_config_transform(c)->loader.family, 0);
	bp_config_free(c);
	c = accepted(BRIDGED "transform: []\n");
	assert_false(bp_config_transforms(c));
	bp_config_free(c);
}

#define FULL                                                                                       \
	BRIDGED                                                                                    \
	"transform:\n"                                                                             \
	"  - port: b\n    udp: 10000\n    to: 10.0.0.0/8\n    layout: paper-timed\n"               \
	"    method: chebyshev\n    unknown: bare\n    overflow: drop\n    singular: allow\n"      \
	"    loader: true\n"                                                                       \
	"    receiver: {address: 10.1.0.9, udp: 20000, mac: \"02:00:00:00:00:09\"}\n"              \
	"    sources:\n"                                                                           \
	"      - address: 10.0.0.5\n"                                                              \
	"        receivers:\n"                                                                     \
	"          - {udp: 20001, matrix: [[0, -1, 0, 1.5], [1, 0, 0, 0], [0, 0, 1, 0.25]]}\n"     \
	"          - {reflect: true, matrix: [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]}\n"     \
	"      - address: 10.0.0.0/16\n"                                                           \
	"  - port: a\n    udp: 10000\n    layout:\n"                                               \
	"      order: little\n      angles: degrees\n"                                             \
	"      theta: {offset: 16, type: float32}\n      phi: {offset: 8, type: float64}\n"        \
	"      radius: {offset: 0, type: ufixed32, fraction: 10}\n"                                \
	"      x: {offset: 20, type: float64}\n      y: {offset: 28, type: fixed32}\n"             \
	"      z: {offset: 32, type: float32}\n"                                                   \
	"    sources:\n"                                                                           \
	"      - address: \"fd00::/64\"\n"                                                         \
	"        receivers: [{address: \"fd00:1::9\", mac: \"02:00:00:00:00:01\"}]\n"              \
	"  - port: a\n    udp: 10001\n    layout:\n      length: 100\n"                            \
	"      from_x: {offset: 0, type: fixed32}\n      from_y: {offset: 4, type: fixed32}\n"     \
	"      from_z: {offset: 8, type: fixed32}\n      x: {offset: 12, type: fixed32}\n"         \
	"      y: {offset: 16, type: fixed32}\n      z: {offset: 20, type: fixed32}\n"             \
	"    unknown: bare\n    receiver: {reflect: true}\n"                                       \
	"transformation:\n  matrices: 5\n  loader: {address: \"::1\", connections: 2}\n"

static void entries_are_read(const struct bp_transform_rule *r)
{
	assert_int_equal(r[0].port, 1);
	assert_true(is_prefix4(&r[0].to, 10, 0, 0, 0, 8));
	assert_memory_equal(&r[0].layout, &bp_transform_layout_paper_timed, sizeof(r[0].layout));
	assert_int_equal(r[0].method, BP_TRANSFORM_CHEBYSHEV);
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
	assert_true(r[2].layout.cartesian && !r[2].layout.paper);
	assert_int_equal(r[2].layout.length, 100);
	assert_true(r[2].layout.in[2].offset == 8 && r[2].layout.in[2].fraction == 25);
	assert_int_equal(r[2].otherwise.flags, BP_TRANSFORM_REFLECT);
}

static void everything_is_read(void **state)
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
	assert_int_equal(bp_config_transform(c)->matrices, 5);
	assert_true(bp_config_transform(c)->loader.family == 6 &&
		    bp_config_transform(c)->loader.bytes[15] == 1);
	assert_true(bp_config_transform(c)->loader_tcp == 16400 &&
		    bp_config_transform(c)->loader_connections == 2);
	bp_config_free(c);
}

/* What is dumped means the same to the byte, and is dumped the same. */
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
		assert_int_equal(s->matrices, t->matrices);
		assert_memory_equal(&s->loader, &t->loader, sizeof(s->loader));
		assert_int_equal(s->loader_tcp, t->loader_tcp);
		assert_int_equal(s->loader_connections, t->loader_connections);
		bp_config_free(a);
		bp_config_free(b);
		free(first);
		free(second);
	}
}

static void what_must_be_given(void **state)
{
	says(BRIDGED "transform:\n  - {method: exact}\n",
		"f.yaml:4:5: transform[0] has no 'port'; expected the name of one of the ports\n"
		"f.yaml:4:5: transform[0] has no 'udp'; expected a whole number from 1 to 65535\n");
	says(BRIDGED XFORM(SOURCES("{receivers: [{udp: 1}]}")),
		"f.yaml:4:37: transform[0].sources[0] has no 'address'; expected a unicast IPv4 or "
		"IPv6 address or prefix, such as 10.1.0.9, 10.1.0.0/24 or 2001:db8::/64\n");
	says(BRIDGED "transformation: {loader: {}}\n",
		"f.yaml:3:26: transformation.loader has no 'address'; expected a loopback address "
		"such as 127.0.0.1, or \"::1\"\n");
	says(BRIDGED XFORM(ONE ", recever: {udp: 1}"),
		"f.yaml:4:59: unknown setting 'recever'; did you mean 'receiver'?\n");
}

#define LAYOUT(fields) ", layout: {" fields "}" ONE
#define EXPECTED_LAYOUT                                                                            \
	"; expected paper, paper-timed, or a mapping with radius, phi and theta, or from_x, "      \
	"from_y and from_z, and with x, y and z\n"
#define IN3                                                                                        \
	"radius: {offset: 0, type: fixed32}, phi: {offset: 4, type: fixed32}, "                    \
	"theta: {offset: 8, type: fixed32}"
#define FROM3                                                                                      \
	"from_x: {offset: 0, type: fixed32}, from_y: {offset: 4, type: fixed32}, "                 \
	"from_z: {offset: 8, type: fixed32}"
#define OUT3                                                                                       \
	"x: {offset: 12, type: fixed32}, y: {offset: 16, type: fixed32}, "                         \
	"z: {offset: 20, type: fixed32}"

static void layouts_that_are_none(void **state)
{
	says(BRIDGED XFORM(LAYOUT(IN3)),
		"f.yaml:4:35: transform[0].layout: there is no 'x'" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT("radius: {offset: 0, type: fixed32}, " OUT3)),
		"f.yaml:4:35: transform[0].layout: there is no 'phi'" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT("from_z: {offset: 0, type: fixed32}, " OUT3)),
		"f.yaml:4:35: transform[0].layout: there is no 'from_x'" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT(IN3 ", " FROM3 ", " OUT3)),
		"f.yaml:4:35: transform[0].layout: it has both a spherical and a Cartesian point "
		"to read" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT(IN3 ", x: {offset: 12, type: fixed32}, y: {offset: 15, type: "
				      "fixed32}, z: {offset: 20, type: fixed32}")),
		"f.yaml:4:35: transform[0].layout: two outputs overlap" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT(IN3 ", x: {offset: 12, type: fixed32}, y: {offset: 16, type: "
				      "fixed32}, z: {offset: 20, type: float32, fraction: 3}")),
		"f.yaml:4:245: transform[0].layout: z is of type float32 and has no "
		"fraction" EXPECTED_LAYOUT);
	says(BRIDGED XFORM(LAYOUT("x: 12")),
		"f.yaml:4:39: transform[0].layout.x: a single value stands here; expected a "
		"mapping of settings\n");
	says(BRIDGED XFORM(LAYOUT(FROM3 ", " OUT3)), "");
}

static void sources_that_are_given_twice(void **state)
{
	says(BRIDGED "transform:\n  - port: a\n    udp: 1\n    sources:\n"
		     "      - {address: 10.0.0.5}\n      - {address: 10.0.0.0/24}\n"
		     "      - {address: 10.0.0.5/32}\n      - {address: 10.0.0.0/25}\n"
		     "  - port: a\n    udp: 2\n    sources: [{address: 10.0.0.5}]\n",
		"f.yaml:9:19: transform[0].sources[2].address: 10.0.0.5/32 is given twice (line 7 "
		"has it, too); expected it once, with all its receivers\n");
}

static void sixteen_prefix_lengths_are_enough(void **state)
{
	char text[2048];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s",
		BRIDGED "transform:\n  - port: a\n    udp: 1\n    "
			"sources:\n");

	for (unsigned length = 17; length <= 32; length++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "      - {address: 10.0.0.0/%u}\n", length);
	/* those of IPv6 count apart, and a length that there is costs nothing */
	n += (size_t)snprintf(text + n, sizeof(text) - n,
		"      - {address: \"fd00::/16\"}\n      - {address: 10.1.0.0/17}\n");
	says(text, "");
	snprintf(text + n, sizeof(text) - n, "      - {address: 10.0.0.0/16}\n");
	says(text, "f.yaml:25:19: transform[0].sources[18].address: those before have 16 different "
		   "prefix lengths of IPv4 already; expected no more than that\n");
}

#define RECEIVERS(list) SOURCES("{address: 10.0.0.5, receivers: [" list "]}")
#define AT_RECEIVER "transform[0].sources[0].receivers[0]"

static void receivers_that_contradict_themselves(void **state)
{
	says(BRIDGED XFORM(RECEIVERS("{address: 10.1.0.9, reflect: true}")),
		"f.yaml:4:98: " AT_RECEIVER ".reflect: what goes back to its sender has the "
		"sender's addresses; expected no address beside it\n");
	says(BRIDGED XFORM(", receiver: {reflect: true" MAC "}" ONE),
		"f.yaml:4:47: transform[0].receiver.reflect: what goes back to its sender has the "
		"sender's addresses; expected no mac beside it\n");
	says(BRIDGED XFORM(RECEIVERS("{address: 10.1.0.9}")),
		"f.yaml:4:79: warning: " AT_RECEIVER ".address: port 'a' is in a bridge, which "
		"does not ask for a MAC address, so results keep that of the reading; expected "
		"mac: beside it\n");
	says(PORTS XFORM(RECEIVERS("{address: 10.1.0.9" MAC "}")),
		"f.yaml:3:94: warning: " AT_RECEIVER ".mac: port 'a' routes, and finds the MAC "
		"address itself; expected it where the port is in a bridge\n");
	says(PORTS XFORM(RECEIVERS("{address: 10.1.0.9}")), "");
}

static void versions_stay_as_they_are(void **state)
{
	says(BRIDGED XFORM(RECEIVERS("{address: \"fd00::9\"" MAC "}")),
		"f.yaml:4:79: " AT_RECEIVER ".address: readings of this source are IPv4; expected "
		"an IPv4 address\n");
	says(BRIDGED XFORM(", receiver: {address: \"fd00::9\"" MAC "}" ONE),
		"f.yaml:4:95: transform[0].sources[0]: readings of this source are IPv4, and the "
		"entry's receiver has an IPv6 address; expected a receiver with an IPv4 address\n");
	says(BRIDGED XFORM(", to: \"fd00::/8\"" ONE),
		"f.yaml:4:63: transform[0].sources[0].address: it sends nothing to IPv6, which to "
		"is; expected an IPv6 address or prefix\n");
	says(BRIDGED XFORM(
		     ", to: 10.0.0.9, receiver: {address: \"fd00::9\"" MAC "}, unknown: bare"),
		"f.yaml:4:61: transform[0].receiver.address: readings to IPv4 addresses stay IPv4; "
		"expected an IPv4 address\n");
	/* one that is on its own need not fit the entry's */
	says(BRIDGED XFORM(", receiver: {address: \"fd00::9\"" MAC
			   "}" RECEIVERS("{address: 10.1.0.9" MAC "}, {reflect: true}")),
		"");
}

static void matrices_that_are_none(void **state)
{
	says(BRIDGED XFORM(RECEIVERS("{matrix: [[1, 0, 0, 9], [0, 1, 0, 9], [0, 0, 0, 9]]}")),
		"f.yaml:4:78: " AT_RECEIVER ".matrix: it is singular, so that it flattens space; "
		"expected one that is not, or singular: allow in this entry\n");
	says(BRIDGED XFORM(", singular: allow" RECEIVERS(
		     "{matrix: [[1, 0, 0, 9], [0, 1, 0, 9], [0, 0, 0, 9]]}")),
		"");
	says(BRIDGED XFORM(", method: small" RECEIVERS(
		     "{matrix: [[1, 0, 0, 64], [0, 1, 0, 9], [0, 0, 1, 9]]}")),
		"f.yaml:4:93: warning: " AT_RECEIVER ".matrix: an entry has a size of 64 or more, "
		"with which method small computes in double; expected less, or method: vector\n");
	says(BRIDGED XFORM(", method: small" RECEIVERS(
		     "{matrix: [[1, 0, 0, 63.9], [0, 1, 0, 9], [0, 0, 1, 9]]}")),
		"");
	says(BRIDGED XFORM(RECEIVERS("{matrix: [[1, 0, 0, 64], [0, 1, 0, 9], [0, 0, 1, 9]]}")), "");
	says(BRIDGED XFORM(RECEIVERS("{matrix: [[1, 0, 0, 9], [0, 1, 0], [0, 0, 1, 9]]}")),
		"f.yaml:4:93: " AT_RECEIVER ".matrix: a row of 3 numbers stands here; expected "
		"three rows of four numbers, [[a, b, c, shift of x], [d, e, f, shift of y], [g, h, "
		"i, shift of z]]\n");
}

#define TO(address, udp) "  - {port: a, udp: " udp ", to: " address ", unknown: bare}\n"
#define ANY(udp) "  - {port: a, udp: " udp ", unknown: bare}\n"

/* An entry that an earlier one leaves nothing for. */
static void entries_that_are_never_reached(void **state)
{
	says(BRIDGED "transform:\n" ANY("5") TO("10.0.0.9", "5") ANY("5"),
		"f.yaml:5:27: transform[1]: transform[0] on line 4 is for all of these readings; "
		"expected this entry before it, or other destinations\n"
		"f.yaml:6:5: transform[2]: transform[0] on line 4 is for all of these readings; "
		"expected another port, UDP port or destination\n");
	says(BRIDGED "transform:\n" TO("10.0.0.0/8", "5") TO("10.0.0.9", "5"),
		"f.yaml:5:27: transform[1]: transform[0] on line 4 is for all of these readings; "
		"expected this entry before it, or other destinations\n");
	says(BRIDGED "transform:\n" TO("10.0.0.9", "5") TO("10.0.0.0/8", "5") TO("\"fd00::/8\"",
		     "5") ANY("5") TO("10.0.0.9", "6") "  - {port: b, udp: 5, unknown: bare}\n",
		"");
}

static void there_is_room(void **state)
{
	says(BRIDGED XFORM(
		     SOURCES("{address: 10.0.0.5, receivers: [{udp: 1}, {udp: 2}]}, {address: "
			     "10.0.0.6}")) "transformation: {matrices: 2}\n",
		"f.yaml:5:28: transformation.matrices: 2 are too few for 3 receivers in all "
		"entries of transform; expected at least as many (at most 65536)\n");
	says(BRIDGED XFORM(
		     SOURCES("{address: 10.0.0.5, receivers: [{udp: 1}, {udp: 2}]}, {address: "
			     "10.0.0.6}")) "transformation: {matrices: 3}\n",
		"");
}

static void what_does_nothing_is_warned_of(void **state)
{
	says(BRIDGED XFORM(""), "f.yaml:4:5: warning: transform[0]: there are no sources, so every "
				"reading is dropped; expected some, unknown: bare, or loader: "
				"true\n");
	says(BRIDGED XFORM(", loader: true"),
		"f.yaml:4:35: warning: transform[0].loader: nobody listens for matrices; expected "
		"transformation.loader, such as {address: 127.0.0.1}\n");
	says(BRIDGED XFORM(ONE) "transformation: {loader: {address: 127.0.0.1}}\n",
		"f.yaml:5:18: warning: transformation.loader: it may set no matrices; expected "
		"loader: true in an entry of transform\n");
	says(BRIDGED XFORM(", loader: true") "transformation: {loader: {address: 127.0.0.1}}\n",
		"");
}

#define ROUTED                                                                                     \
	"ports: [{name: a, device: x, addresses: [10.0.0.1/24, \"fd00::1/64\"]}, {name: b, "       \
	"device: y}]\nphd: {cse: {address: 10.1.0.20}}\n"

static void own_ports_are_left_alone(void **state)
{
	says(ROUTED "transform:\n" ANY("6024"),
		"f.yaml:4:20: transform[0].udp: phd.listen.udp of 10.0.0.1, biplane's own, has "
		"this port; expected another one, or destinations (to) without it\n");
	says(ROUTED "transform:\n" TO("\"fd00::/16\"", "29999"),
		"f.yaml:4:20: transform[0].udp: phd.cse.source_ports of fd00::1, biplane's own, "
		"has this port; expected another one, or destinations (to) without it\n");
	says(ROUTED "transform:\n" TO("10.0.0.2", "6024") ANY("10000"), "");
}

#define APART(address, udp)                                                                        \
	"aggregation:\n  decapsulate:\n  - {port: a, to: {address: " address ", udp_port: " udp    \
	"}, allowed_senders: "                                                                     \
	"[10.0.0.0/8]}\n"
#define RESTORED                                                                                   \
	"transform[0].udp: aggregation.decapsulate[0] restores messages to this port, and what "   \
	"it restores "                                                                             \
	"is not transformed; expected transform at the gateway that aggregates, or another port\n"

/* A reading that was in an aggregate would leave as it is. */
static void readings_are_not_restored_here(void **state)
{
	says(BRIDGED APART("10.0.0.0/16", "5-7") "transform:\n" TO("10.0.0.9", "5"),
		"f.yaml:7:20: " RESTORED);
	says(BRIDGED APART("10.0.0.9", "5-7") "transform:\n" TO("10.0.0.0/8", "7"),
		"f.yaml:7:20: " RESTORED);
	says(BRIDGED APART("10.0.0.9", "5") "transform:\n" ANY("5"), "f.yaml:7:20: " RESTORED);
	says(BRIDGED APART("10.0.0.9", "5-7") "transform:\n" TO("10.0.0.8", "5") TO("10.0.0.9", "8")
			TO("\"fd00::9\"", "6") "  - {port: b, udp: 5, unknown: bare}\n",
		"");
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

static void what_needs_a_restart(void **state)
{
	compare(BRIDGED, BRIDGED XFORM(ONE), "transform: adding the first entry needs a restart\n");
	compare(BRIDGED XFORM(ONE), BRIDGED,
		"transform: removing the last entry needs a restart\n");
	compare(FULL,
		BRIDGED XFORM(ONE) "transformation: {matrices: 5, loader: {address: \"::1\", "
				   "connections: 2}}\n",
		"");
	compare(BRIDGED XFORM(ONE),
		BRIDGED XFORM(ONE) "transformation: {matrices: 5, loader: {address: 127.0.0.1}}\n",
		"transformation.matrices: changing it needs a restart\n"
		"transformation.loader: changing it needs a restart\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(dumps_come_back),
		cmocka_unit_test(what_must_be_given),
		cmocka_unit_test(layouts_that_are_none),
		cmocka_unit_test(sources_that_are_given_twice),
		cmocka_unit_test(sixteen_prefix_lengths_are_enough),
		cmocka_unit_test(receivers_that_contradict_themselves),
		cmocka_unit_test(versions_stay_as_they_are),
		cmocka_unit_test(matrices_that_are_none),
		cmocka_unit_test(entries_that_are_never_reached),
		cmocka_unit_test(there_is_room),
		cmocka_unit_test(what_does_nothing_is_warned_of),
		cmocka_unit_test(own_ports_are_left_alone),
		cmocka_unit_test(readings_are_not_restored_here),
		cmocka_unit_test(what_needs_a_restart),
	};

	return cmocka_run_group_tests_name("config transform", tests, NULL, NULL);
}
