/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions of rules of the policy. */
#include "tests/unit/shm/rules/policy_rig.h"

/* Each condition alone decides whether the rule applies. */
static void conditions(void **state)
{
	static const uint8_t elsewhere[16] = {10, 1, 0, 5};
	struct bp_policy_rule_spec r = of_topic("x", BP_POLICY_OBSERVE, "t/#");
	struct bp_policy_packet_view yes = packet(BP_POLICY_PUBLISH, "t/1"), no;
	struct bp_ruleset *rs;

	(void)state;
	yes.qos = 1;
	yes.retain = true;
	yes.size = 101;
	yes.packet_size = 201;
	r.packet = BP_POLICY_PUBLISH;
	r.version = 4;
	r.identity = BP_POLICY_USERS;
	r.has_port = r.has_address = r.has_size = r.has_packet_size = true;
	r.port = 0;
	r.address = (struct bp_prefix){.bytes = {10}, .family = 4, .length = 16};
	r.larger_than = 100;
	r.packet_larger_than = 200;
	r.qos = 2;
	r.retain = 2;
	snprintf(r.client, sizeof(r.client), "pump-*");
	snprintf(r.user, sizeof(r.user), "anna");
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	assert_int_equal(decide(rs, &yes).action, BP_POLICY_OBSERVE);
#define NO(change_)                                                                                \
	no = yes;                                                                                  \
	change_;                                                                                   \
	assert_int_equal(decide(rs, &no).action, BP_POLICY_ALLOW)
	NO(no.packet = BP_POLICY_WILL);
	NO(no.version = 5);
	NO(no.port = 2);
	NO(no.address = elsewhere);
	NO(no.ip6 = true);
	NO(no.client_len = 3);
	NO(no.client = NULL);
	NO(no.user_len = 3);
	NO(no.user = NULL);
	NO(no.topic = (const uint8_t *)"u/1");
	NO(no.qos = 0);
	NO(no.retain = false);
	NO(no.size = 100);
	NO(no.packet_size = 200);
#undef NO
	free(rs);
}

/* A keep-alive of 0 is that of a client which may be silent forever. */
static void keep_alives(void **state)
{
	static const struct {
		uint32_t above, below; /* 0: not given */
		uint32_t keep_alive;
		uint8_t action;
	} row[] = {
		{60, 0, 60, BP_POLICY_ALLOW},
		{60, 0, 61, BP_POLICY_OBSERVE},
		{60, 0, BP_POLICY_KEEP_ALIVE_NONE, BP_POLICY_OBSERVE},
		{60, 0, BP_POLICY_KEEP_ALIVE_UNKNOWN, BP_POLICY_UNDECIDED},
		{65535, 0, 65535, BP_POLICY_ALLOW},
		{65535, 0, BP_POLICY_KEEP_ALIVE_NONE, BP_POLICY_OBSERVE},
		{0, 10, 9, BP_POLICY_OBSERVE},
		{0, 10, 10, BP_POLICY_ALLOW},
		{0, 10, BP_POLICY_KEEP_ALIVE_NONE, BP_POLICY_ALLOW},
		{60, 62, 61, BP_POLICY_OBSERVE},
		{60, 62, 62, BP_POLICY_ALLOW},
	};
	struct bp_policy_rule_spec r = rule("keep-alive", BP_POLICY_OBSERVE);
	struct bp_policy_packet_view p = packet(BP_POLICY_CONNECT, "");

	(void)state;
	r.has_keep_alive = true;
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bp_ruleset *rs;

		r.has_keep_above = row[i].above != 0;
		r.keep_above = row[i].above;
		r.has_keep_below = row[i].below != 0;
		r.keep_below = row[i].below;
		rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
		p.packet = BP_POLICY_CONNECT;
		p.keep_alive = row[i].keep_alive;
		if (decide(rs, &p).action != row[i].action)
			fail_msg("row %u", i);
		/* no other packet has one */
		p.packet = BP_POLICY_PUBLISH;
		assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
		free(rs);
	}
}

/* A will is a part of a CONNECT, and the size of one that a search found is not known. */
static void sizes_of_packets(void **state)
{
	struct bp_policy_rule_spec r = rule("large", BP_POLICY_OBSERVE);
	struct bp_policy_packet_view p = packet(BP_POLICY_CONNECT, "");
	struct bp_ruleset *rs;

	(void)state;
	r.has_packet_size = true;
	r.packet_larger_than = 100;
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	p.packet_size = 100;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	p.packet_size = 101;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_OBSERVE);
	p.packet = BP_POLICY_WILL;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	p.packet = BP_POLICY_PUBLISH;
	assert_false(decide(rs, &p).fixed);
	free(rs);
}

/* `n` packets at once; returns how many of them exceed the rate. */
static unsigned over(const struct bp_ruleset *rs, const struct bp_policy_packet_view *p, unsigned n)
{
	unsigned exceeded = 0;

	for (unsigned i = 0; i < n; i++)
		exceeded += decide(rs, p).action == BP_POLICY_OBSERVE;
	return exceeded;
}

static void rates(void **state)
{
	struct bp_policy_bucket bucket[64];
	const struct bp_policy_rates rates = {bucket, 64};
	static const uint8_t other[16] = {10, 0, 0, 6};
	static const uint8_t in64[2][16] = {{0x20, 1, [15] = 1}, {0x20, 1, [15] = 2}};
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "t/1");
	struct bp_policy_rule_spec r;
	struct bp_ruleset *rs;

	(void)state;
	p.hash_key = key;
	p.mono_ns = 1000000000;
	/* nothing is known about the rate */
	r = rated(BP_POLICY_PER_CLIENT);
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	p.rates = &rates;
	memset(bucket, 0, sizeof(bucket));
	assert_false(decide(rs, &p).fixed);
	assert_int_equal(over(rs, &p, 10), 7); /* the burst is of 4 */
	p.mono_ns += 100000000;                /* time of one */
	assert_int_equal(over(rs, &p, 2), 1);
	p.mono_ns += 100000000000;
	assert_int_equal(over(rs, &p, 10), 6);
	/* of the client alone, and of its identifier at another address */
	p.client = (const uint8_t *)"pump-2";
	assert_int_equal(over(rs, &p, 4), 0);
	p.address = other;
	assert_int_equal(over(rs, &p, 4), 0);
	/* without an identifier: its address */
	p.client = NULL;
	assert_int_equal(over(rs, &p, 5), 1);
	free(rs);

	/* a client identifier for each packet is no new rate */
	r = rated(BP_POLICY_PER_ADDRESS);
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	memset(bucket, 0, sizeof(bucket));
	for (unsigned n = 0; n < 8; n++) {
		const char id = (char)('a' + n);

		p.client = (const uint8_t *)&id;
		p.client_len = 1;
		assert_int_equal(over(rs, &p, 1), n < 4 ? 0 : 1);
	}
	/* neither is an address in the /64 */
	p.ip6 = true;
	p.address = in64[0];
	assert_int_equal(over(rs, &p, 3), 0);
	p.address = in64[1];
	assert_int_equal(over(rs, &p, 2), 1);
	free(rs);

	r = rated(BP_POLICY_PER_TOPIC);
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	memset(bucket, 0, sizeof(bucket));
	assert_int_equal(over(rs, &p, 3), 0);
	p.client = NULL;
	p.address = other;
	p.ip6 = false;
	assert_int_equal(over(rs, &p, 2), 1);
	p.topic = (const uint8_t *)"t/2";
	assert_int_equal(over(rs, &p, 5), 1);
	p.packet = BP_POLICY_CONNECT;
	assert_int_equal(over(rs, &p, 5), 0);
	free(rs);
}

/* A packet that may not be one of the rule's uses no token, and has no decision. */
static void unknown_with_rate(void **state)
{
	struct bp_policy_bucket bucket[64] = {0};
	const struct bp_policy_rates rates = {bucket, 64};
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "t/1");
	struct bp_policy_rule_spec r = rated(BP_POLICY_PER_TOPIC);
	struct bp_ruleset *rs;

	(void)state;
	p.hash_key = key;
	p.mono_ns = 1000000000;
	p.rates = &rates;
	snprintf(r.client, sizeof(r.client), "pump-1");
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	p.known = false;
	p.client = NULL;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	p.known = true;
	p.client = (const uint8_t *)"pump-2";
	p.client_len = 6;
	assert_int_equal(over(rs, &p, 10), 0);
	p.client = (const uint8_t *)"pump-1";
	assert_int_equal(over(rs, &p, 10), 6);
	free(rs);
}

/* Only packets that meet all other conditions are counted, and by no rule after the first. */
static void order_of_rates(void **state)
{
	struct bp_policy_bucket bucket[64] = {0};
	const struct bp_policy_rates rates = {bucket, 64};
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "t/1");
	struct bp_policy_rule_spec r[2] = {
		rated(BP_POLICY_PER_CLIENT), rated(BP_POLICY_PER_CLIENT)};
	struct bp_ruleset *rs;

	(void)state;
	p.rates = &rates;
	p.hash_key = key;
	p.mono_ns = 1;
	snprintf(r[0].topic, sizeof(r[0].topic), "t/1");
	r[0].rate_burst = 2;
	snprintf(r[1].name, sizeof(r[1].name), "second");
	rs = image(r, 2, BP_POLICY_ALLOW, NULL, 1);
	p.topic = (const uint8_t *)"t/2";
	assert_int_equal(decide(rs, &p).rule, 2); /* 3 are left of the second */
	p.topic = (const uint8_t *)"t/1";
	assert_int_equal(decide(rs, &p).rule, 2);
	assert_int_equal(decide(rs, &p).rule, 2); /* 1 is left, and none of the first */
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(decide(rs, &p).rule, 0);
	p.topic = (const uint8_t *)"t/2";
	assert_int_equal(decide(rs, &p).rule, 2);
	assert_int_equal(decide(rs, &p).rule, 1);
	free(rs);
}

/* A payload without a value matches no rule that reads it: what may pass is allowed by its value,
 * and not refused by it. */
static void values(void **state)
{
	static const uint8_t nan[] = {0x7f, 0xc0, 0, 0}, infinite[] = {0x7f, 0x80, 0, 0},
			     high[] = {0x42, 0xa2, 0, 0}; /* 81 */
	static const struct {
		const char *payload;
		bool inside, outside;
	} row[] = {{"{\"v\":0}", true, false}, {"{\"v\":80}", true, false},
		{"{\"v\":80.1}", false, true}, {"{\"v\":-1e999}", false, true},
		{"{\"v\":\"90\"}", false, false}, {"{\"v\":NaN}", false, false},
		{"{\"w\":90}", false, false}, {"", false, false}, {"90", false, false}};
	struct bp_rule_spec range = {.value = {.kind = BP_VALUE_JSON},
		.raise = {.op = BP_COND_OUTSIDE, .a = 0, .b = 80}};
	struct bp_rule_spec within = {
		.value = {.kind = BP_VALUE_JSON}, .raise = {.op = BP_COND_INSIDE, .a = 0, .b = 80}};
	struct bp_policy_rule_spec r[] = {
		with_value("outside", BP_POLICY_OBSERVE, &range),
		with_value("inside", BP_POLICY_ALLOW, &within),
	};
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "sp");
	struct bp_ruleset *rs;
	const char *why;
	size_t at;

	(void)state;
	assert_int_equal(bp_json_path_compile("$.v", &range.value.json, &why, &at), 0);
	within.value.json = range.value.json;
	rs = image(r, 2, BP_POLICY_OBSERVE, NULL, 1);
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bp_policy_decision d;

		read_payload(&p, row[i].payload, (uint32_t)strlen(row[i].payload));
		d = decide(rs, &p);
		if (d.rule != (row[i].outside ? 0 : row[i].inside ? 1 : 2))
			fail_msg("%s: rule %u", row[i].payload, d.rule);
		assert_int_equal(d.values_missing, row[i].outside || row[i].inside ? 0 : 2);
		assert_false(d.fixed);
	}
	/* no other packet has a payload */
	p.packet = BP_POLICY_CONNECT;
	assert_int_equal(decide(rs, &p).rule, 2);
	p.packet = BP_POLICY_PUBLISH;
	free(rs);

	range.value = within.value = (struct bp_value_source){
		.kind = BP_VALUE_BINARY, .binary = {.type = BP_BIN_FLOAT32}};
	rs = image(r, 2, BP_POLICY_OBSERVE, NULL, 1);
	read_payload(&p, nan, sizeof(nan));
	assert_int_equal(decide(rs, &p).rule, 2);
	read_payload(&p, infinite, sizeof(infinite));
	assert_int_equal(decide(rs, &p).rule, 2);
	read_payload(&p, high, sizeof(high));
	assert_int_equal(decide(rs, &p).rule, 0);
	free(rs);
}

/* Elements of an array, and strings. */
static void values_of_other_types(void **state)
{
	struct bp_rule_spec spec = {
		.value = {.kind = BP_VALUE_JSON}, .raise = {.op = BP_COND_GT, .a = 80}};
	struct bp_policy_rule_spec r = with_value("x", BP_POLICY_OBSERVE, &spec);
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "sp");
	static const char some[] = "[1, 90]", all[] = "[81, 90]", open[] = "open", other[] = "no";
	struct bp_ruleset *rs;
	const char *why;
	size_t at;

	(void)state;
	assert_int_equal(bp_json_path_compile("$[*]", &spec.value.json, &why, &at), 0);
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	read_payload(&p, some, sizeof(some) - 1);
	assert_int_equal(decide(rs, &p).rule, 0);
	free(rs);
	spec.value.match = BP_ELEMENT_ALL;
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	assert_int_equal(decide(rs, &p).rule, 1);
	read_payload(&p, all, sizeof(all) - 1);
	assert_int_equal(decide(rs, &p).rule, 0);
	free(rs);
	spec = (struct bp_rule_spec){.value = {.kind = BP_VALUE_TEXT, .type = BP_VALUE_STRING},
		.strings = {.n = 1, .len = {4}, .text = {"open"}},
		.raise = {.op = BP_COND_NE, .a = 0}};
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	read_payload(&p, open, sizeof(open) - 1);
	assert_int_equal(decide(rs, &p).rule, 1);
	read_payload(&p, other, sizeof(other) - 1);
	assert_int_equal(decide(rs, &p).rule, 0);
	free(rs);
}

/* The payload is asked for only where a rule reads it, and no rate counts the packet before. */
static void payloads_that_come_later(void **state)
{
	struct bp_policy_bucket bucket[64] = {0};
	const struct bp_policy_rates rates = {bucket, 64};
	struct bp_rule_spec spec = {.raise = {.op = BP_COND_GT, .a = 80}};
	struct bp_policy_rule_spec r[] = {
		of_topic("open", BP_POLICY_ALLOW, "open/#"),
		rated(BP_POLICY_PER_CLIENT),
		with_value("high", BP_POLICY_OBSERVE, &spec),
	};
	struct bp_ruleset *rs;
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "open/x");

	(void)state;
	p.rates = &rates;
	p.hash_key = key;
	p.mono_ns = 1;
	p.payload_later = true;
	snprintf(r[2].topic, sizeof(r[2].topic), "sp/#");
	rs = image(r, 3, BP_POLICY_ALLOW, NULL, 1);
	assert_int_equal(decide(rs, &p).rule, 0);
	p.topic = (const uint8_t *)"sp/abc";
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(decide(rs, &p).action, BP_POLICY_NEEDS_PAYLOAD);
	p.payload_later = false;
	read_payload(&p, "90", 2);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(decide(rs, &p).rule, 2);
	assert_int_equal(decide(rs, &p).rule, 1);
	/* it is never whole */
	p.payload = NULL;
	p.mono_ns += 100000000;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	assert_int_equal(decide(rs, &p).rule, 1);
	p.topic = (const uint8_t *)"open/x";
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	free(rs);
}

/* Reading values has a bound, after which nothing is decided. */
static void many_values(void **state)
{
	static char payload[200000];
	struct bp_rule_spec spec = {
		.value = {.kind = BP_VALUE_TEXT}, .raise = {.op = BP_COND_GT, .a = 80}};
	struct bp_policy_rule_spec r[MAX_RULES];
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "sp");
	struct bp_ruleset *rs;
	struct bp_policy_decision d;

	(void)state;
	memset(payload, '0', sizeof(payload));
	for (unsigned i = 0; i < MAX_RULES; i++)
		r[i] = with_value("x", BP_POLICY_OBSERVE, &spec);
	rs = image(r, MAX_RULES, BP_POLICY_ALLOW, NULL, 1);
	read_payload(&p, payload, sizeof(payload));
	d = decide(rs, &p);
	assert_int_equal(d.action, BP_POLICY_UNDECIDED);
	assert_true(d.steps > 1000000 && d.steps < 1300000);
	read_payload(&p, payload, 1000);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	free(rs);
}

static void connections(void **state)
{
	struct bp_policy_rule_spec r = rule("many", BP_POLICY_OBSERVE);
	struct bp_policy_packet_view p = packet(BP_POLICY_CONNECT, "");
	struct bp_ruleset *rs;

	(void)state;
	r.has_connections = true;
	r.connections = 10;
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	p.connections = 10;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	p.connections = 11;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_OBSERVE);
	p.connections = 0; /* not known */
	assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	p.packet = BP_POLICY_PUBLISH;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	assert_true(decide(rs, &p).fixed);
	free(rs);
}

#define MON 1u
#define FRI 16u
#define SUN 64u

static void hours(void **state)
{
	static const struct {
		uint16_t from, to;
		uint8_t days;   /* of the rule */
		uint64_t hours; /* since a Monday began */
		bool is;
	} row[] = {
		{8 * 60, 17 * 60, 0, 8, true},
		{8 * 60, 17 * 60, 0, 7, false},
		{8 * 60, 17 * 60, 0, 17, false},
		{8 * 60, 17 * 60, MON, 24 + 9, false},
		{8 * 60, 17 * 60, MON | FRI, 4 * 24 + 9, true},
		/* over midnight: of the day on which it begins */
		{22 * 60, 6 * 60, 0, 22, true},
		{22 * 60, 6 * 60, 0, 5, true},
		{22 * 60, 6 * 60, 0, 6, false},
		{22 * 60, 6 * 60, FRI, 4 * 24 + 5, false},
		{22 * 60, 6 * 60, FRI, 4 * 24 + 23, true},
		{22 * 60, 6 * 60, FRI, 5 * 24 + 5, true},
		{22 * 60, 6 * 60, FRI, 5 * 24 + 23, false},
		/* and over the week's end */
		{22 * 60, 6 * 60, SUN, 6 * 24 + 23, true},
		{22 * 60, 6 * 60, SUN, 7 * 24 + 5, true},
		{22 * 60, 6 * 60, SUN, 7 * 24 + 23, false},
		{22 * 60, 6 * 60, MON, 7 * 24 + 5, false},
		{0, 24 * 60, SUN, 6 * 24, true},
		{0, 24 * 60, SUN, 7 * 24, false},
	};
	const uint64_t monday = 1796601600; /* 2026-12-07 */
	struct bp_policy_rule_spec r = rule("night", BP_POLICY_OBSERVE);
	struct bp_policy_packet_view p = packet(BP_POLICY_CONNECT, "");

	(void)state;
	r.has_hours = true;
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bp_ruleset *rs;

		r.from = row[i].from;
		r.to = row[i].to;
		r.days = row[i].days;
		rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
		bp_policy_set_time(&p, (monday + row[i].hours * 3600) * 1000000000ull);
		if ((decide(rs, &p).rule == 0) != row[i].is)
			fail_msg("row %u: day %u, minute %u", i, p.day, p.minute);
		assert_false(decide(rs, &p).fixed);
		p.day = 0;
		assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
		free(rs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions),
		cmocka_unit_test(keep_alives),
		cmocka_unit_test(sizes_of_packets),
		cmocka_unit_test(rates),
		cmocka_unit_test(unknown_with_rate),
		cmocka_unit_test(order_of_rates),
		cmocka_unit_test(values),
		cmocka_unit_test(values_of_other_types),
		cmocka_unit_test(payloads_that_come_later),
		cmocka_unit_test(many_values),
		cmocka_unit_test(connections),
		cmocka_unit_test(hours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
