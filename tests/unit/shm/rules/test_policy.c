/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy in an image of rules: its decisions, its statistics' slots, and damaged images. */
#include "tests/unit/shm/rules/ruleset_rig.h"

#include "shm/rules/policy.h"

#define MAX_RULES 16u
#define BANK (bp_ruleset_bank_size(1) + bp_policy_bank_size(MAX_RULES))

static struct bp_ruleset *image(struct bp_policy_rule_spec *rules, uint32_t n, uint8_t preset,
	const struct bp_ruleset *old, uint64_t generation)
{
	const struct bp_policy_spec policy = {
		.given = true, .preset = preset, .n_rules = n, .rules = rules};
	const struct bp_ruleset_input input = {.max_rules = 1,
		.policy = &policy,
		.max_policy_rules = MAX_RULES,
		.old = old,
		.generation = generation,
		.now_ns = 1};
	void *bank = aligned_alloc(64, (BANK + 63) & ~63ull);

	assert_non_null(bank);
	if (bp_ruleset_compile(bank, BANK, &input, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	assert_true(bp_ruleset_valid(bank, BANK, 1));
	return bank;
}

static struct bp_policy_rule_spec rule(const char *name, uint8_t action)
{
	struct bp_policy_rule_spec r = {.action = action};

	snprintf(r.name, sizeof(r.name), "%s", name);
	return r;
}

static struct bp_policy_rule_spec of_topic(const char *name, uint8_t action, const char *topic)
{
	struct bp_policy_rule_spec r = rule(name, action);

	snprintf(r.topic, sizeof(r.topic), "%s", topic);
	return r;
}

static struct bp_policy_packet_view packet(uint8_t type, const char *topic)
{
	static const uint8_t address[16] = {10, 0, 0, 5};

	return (struct bp_policy_packet_view){.packet = type,
		.version = 4,
		.port = 1,
		.known = true,
		.address = address,
		.client = (const uint8_t *)"pump-1",
		.client_len = 6,
		.user = (const uint8_t *)"anna",
		.user_len = 4,
		.topic = (const uint8_t *)topic,
		.topic_len = (uint32_t)strlen(topic)};
}

static struct bp_policy_decision decide(
	const struct bp_ruleset *rs, const struct bp_policy_packet_view *p)
{
	struct bp_policy_decision d;

	bp_policy_decide(rs, p, &d);
	return d;
}

/* ---- topics ---- */

static void relations_of_filters(void **state)
{
	/* by the rule's filter and the topic, or another filter */
	static const struct {
		const char *rule, *topic;
		bool matches, covers, overlaps;
	} row[] = {
		{"a/b", "a/b", true, true, true},
		{"a/b", "a/c", false, false, false},
		{"a/b", "a", false, false, false},
		{"a", "a/b", false, false, false},
		{"a/+", "a/b", true, true, true},
		{"a/+", "a/b/c", false, false, false},
		{"a/+", "a/", true, true, true},
		{"a/#", "a", true, true, true},
		{"a/#", "a/b/c", true, true, true},
		{"#", "a/b", true, true, true},
		{"#", "$SYS/x", false, false, false},
		{"+/x", "$SYS/x", false, false, false},
		{"$SYS/#", "$SYS/x", true, true, true},
		{"a//b", "a//b", true, true, true},
		{"a/+/b", "a//b", true, true, true},
		{"plant/{client}/t", "plant/pump-1/t", true, true, true},
		{"plant/{client}/t", "plant/pump-2/t", false, false, false},
		{"{user}/#", "anna/x", true, true, true},
		{"{user}", "anna/x", false, false, false},
		{"x{user}", "xanna", false, false, false},
		/* filters: a topic name has no wildcards, so "matches" is of no interest */
		{"a/#", "a/+", true, true, true},
		{"a/#", "a/#", true, true, true},
		{"a/+", "a/+", true, true, true},
		{"a/+", "a/#", true, false, true},
		{"a/b", "a/+", false, false, true},
		{"a/b", "a/#", false, false, true},
		{"a/b", "#", false, false, true},
		{"a/b", "+/b", false, false, true},
		{"a/b", "+/c", false, false, false},
		{"a/b", "a/b/#", false, false, true},
		{"a/b", "a/b/c/#", false, false, false},
		{"a/+/c", "a/b/+", false, false, true},
		{"#", "#", true, true, true},
		{"$SYS/x", "#", false, false, false},
		{"$SYS/x", "+/x", false, false, false},
		{"#", "$SYS/#", false, false, false},
		{"plant/{client}/t", "plant/+/t", false, false, true},
		{"plant/{client}/t", "plant/pump-1/#", false, false, true},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct bp_policy_packet_view p = packet(BP_POLICY_SUBSCRIBE, row[i].topic);
		const uint8_t *filter = (const uint8_t *)row[i].rule;
		const uint32_t n = (uint32_t)strlen(row[i].rule);

		if (strpbrk(row[i].topic, "+#") == NULL &&
			bp_policy_topic_is(filter, n, BP_POLICY_MATCHES, &p) != row[i].matches)
			fail_msg("%s matches %s", row[i].rule, row[i].topic);
		if (bp_policy_topic_is(filter, n, BP_POLICY_COVERS, &p) != row[i].covers)
			fail_msg("%s covers %s", row[i].rule, row[i].topic);
		if (bp_policy_topic_is(filter, n, BP_POLICY_OVERLAPS, &p) != row[i].overlaps)
			fail_msg("%s overlaps %s", row[i].rule, row[i].topic);
	}
}

/*
 * Two filters over the levels a and b, and topics of up to four of them: one covers the other if it
 * matches all topics of that one, and both overlap if a topic matches both.
 */
static void relations_by_all_topics(void **state)
{
	static const char *const level[] = {"a", "b", "+", "#"};
	char filter[2][16], topic[16];

	(void)state;
	for (unsigned k = 0; k < 64u * 64u; k++) {
		bool covers = true, overlaps = false;
		struct bp_policy_packet_view p;
		const uint8_t *x = (const uint8_t *)filter[0];
		uint32_t n;

		for (unsigned f = 0; f < 2; f++) {
			const unsigned of = f == 0 ? k % 64 : k / 64;
			const unsigned l[3] = {of % 4, of / 4 % 4, of / 16};

			filter[f][0] = '\0';
			for (unsigned i = 0; i < 3; i++) {
				snprintf(filter[f] + strlen(filter[f]), 4, i == 0 ? "%s" : "/%s",
					level[l[i]]);
				if (l[i] == 3)
					break;
			}
		}
		n = (uint32_t)strlen(filter[0]);
		for (unsigned t = 0; t < 30; t++) {
			const unsigned depth = t < 2 ? 1 : t < 6 ? 2 : t < 14 ? 3 : 4;
			const unsigned bits = t + 2 - (1u << depth);
			bool a, b;

			topic[0] = '\0';
			for (unsigned i = 0; i < depth; i++)
				snprintf(topic + strlen(topic), 4, i == 0 ? "%s" : "/%s",
					level[bits >> i & 1]);
			p = packet(BP_POLICY_PUBLISH, topic);
			a = bp_policy_topic_is(x, n, BP_POLICY_MATCHES, &p);
			b = bp_policy_topic_is((const uint8_t *)filter[1],
				(uint32_t)strlen(filter[1]), BP_POLICY_MATCHES, &p);
			covers = covers && (a || !b);
			overlaps = overlaps || (a && b);
		}
		p = packet(BP_POLICY_SUBSCRIBE, filter[1]);
		if (bp_policy_topic_is(x, n, BP_POLICY_COVERS, &p) != covers)
			fail_msg("%s covers %s", filter[0], filter[1]);
		if (bp_policy_topic_is(x, n, BP_POLICY_OVERLAPS, &p) != overlaps)
			fail_msg("%s overlaps %s", filter[0], filter[1]);
	}
}

static void topics_with_many_levels(void **state)
{
	char topic[8192];
	struct bp_policy_packet_view p;

	(void)state;
	memset(topic, '/', sizeof(topic) - 1);
	topic[sizeof(topic) - 1] = '\0';
	p = packet(BP_POLICY_PUBLISH, topic);
	assert_true(bp_policy_topic_is((const uint8_t *)"#", 1, BP_POLICY_MATCHES, &p));
	assert_true(bp_policy_topic_is((const uint8_t *)"/#", 2, BP_POLICY_MATCHES, &p));
	assert_false(bp_policy_topic_is((const uint8_t *)"/+", 2, BP_POLICY_MATCHES, &p));
}

static bool pattern_is(const char *pattern, const char *text)
{
	const char *star = strchr(pattern, '*');

	return bp_policy_pattern_is((const uint8_t *)pattern, (uint16_t)strlen(pattern),
		star != NULL ? (uint16_t)(star - pattern) : UINT16_MAX, (const uint8_t *)text,
		(uint32_t)strlen(text));
}

static void patterns(void **state)
{
	(void)state;
	assert_true(pattern_is("pump", "pump"));
	assert_false(pattern_is("pump", "pump1"));
	assert_true(pattern_is("pump-*", "pump-"));
	assert_true(pattern_is("pump-*", "pump-17"));
	assert_true(pattern_is("*-17", "pump-17"));
	assert_true(pattern_is("p*7", "pump-17"));
	assert_false(pattern_is("pump*pump", "pump"));
	assert_true(pattern_is("*", ""));
}

/* ---- decisions ---- */

static void first_rule_decides(void **state)
{
	struct bp_policy_rule_spec r[] = {
		of_topic("own", BP_POLICY_ALLOW, "plant/{client}/#"),
		of_topic("plant", BP_POLICY_OBSERVE, "plant/#"),
		of_topic("late", BP_POLICY_ALLOW, "plant/#"),
	};
	struct bp_ruleset *rs = image(r, 3, BP_POLICY_ALLOW, NULL, 1);
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "plant/pump-1/t");
	struct bp_policy_decision d = decide(rs, &p);

	(void)state;
	assert_int_equal(d.action, BP_POLICY_ALLOW);
	assert_int_equal(d.rule, 0);
	assert_int_equal(d.slot, 1);
	assert_true(d.fixed);
	p = packet(BP_POLICY_PUBLISH, "plant/pump-2/t");
	d = decide(rs, &p);
	assert_int_equal(d.action, BP_POLICY_OBSERVE);
	assert_int_equal(d.rule, 1);
	p = packet(BP_POLICY_PUBLISH, "office/t");
	d = decide(rs, &p);
	assert_int_equal(d.action, BP_POLICY_ALLOW);
	assert_int_equal(d.rule, 3);
	assert_int_equal(d.slot, 0);
	free(rs);
	rs = image(r, 3, BP_POLICY_OBSERVE, NULL, 1);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_OBSERVE);
	free(rs);
}

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

static uint64_t key[2] = {0x1234567, 0x89abcdef};

/* `n` packets at once; returns how many of them exceed the rate. */
static unsigned over(const struct bp_ruleset *rs, const struct bp_policy_packet_view *p, unsigned n)
{
	unsigned exceeded = 0;

	for (unsigned i = 0; i < n; i++)
		exceeded += decide(rs, p).action == BP_POLICY_OBSERVE;
	return exceeded;
}

static struct bp_policy_rule_spec rated(uint8_t per)
{
	struct bp_policy_rule_spec r = rule("rate", BP_POLICY_OBSERVE);

	r.has_rate = true;
	r.rate_per = per;
	r.rate = (struct bp_policy_rate){10, 1};
	r.rate_burst = 4;
	return r;
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
	for (char id = 'a'; id < 'a' + 8; id++) {
		p.client = (const uint8_t *)&id;
		p.client_len = 1;
		assert_int_equal(over(rs, &p, 1), id < 'a' + 4 ? 0 : 1);
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
	/* it is not known whether it is a packet of the rule */
	free(rs);
	memset(bucket, 0, sizeof(bucket));
	snprintf(r[0].client, sizeof(r[0].client), "pump-*");
	rs = image(r, 1, BP_POLICY_ALLOW, NULL, 1);
	p.topic = (const uint8_t *)"t/1";
	p.known = false;
	p.client = NULL;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	free(rs);
}

static struct bp_policy_rule_spec with_value(
	const char *name, uint8_t action, struct bp_rule_spec *payload)
{
	struct bp_policy_rule_spec r = rule(name, action);

	r.payload = payload;
	return r;
}

static void read_payload(struct bp_policy_packet_view *p, const void *payload, uint32_t len)
{
	p->payload = payload;
	p->size = len;
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

static void anonymous_clients(void **state)
{
	struct bp_policy_rule_spec r = rule("anonymous", BP_POLICY_OBSERVE);
	struct bp_policy_packet_view p = packet(BP_POLICY_CONNECT, "");
	struct bp_ruleset *rs;

	(void)state;
	r.identity = BP_POLICY_ANONYMOUS;
	rs = image(&r, 1, BP_POLICY_ALLOW, NULL, 1);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	p.user = NULL;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_OBSERVE);
	/* met in the middle of the connection: nobody knows */
	p.known = false;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	free(rs);
}

/* A rule that may apply is not passed over, and one that cannot is. */
static void unknown_clients(void **state)
{
	struct bp_policy_rule_spec r[] = {
		of_topic("own", BP_POLICY_ALLOW, "plant/{client}/t"),
		of_topic("rest", BP_POLICY_OBSERVE, "#"),
	};
	struct bp_ruleset *rs = image(r, 2, BP_POLICY_ALLOW, NULL, 1);
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "plant/pump-1/t");

	(void)state;
	p.known = false;
	p.client = NULL;
	p.client_len = 0;
	assert_int_equal(decide(rs, &p).action, BP_POLICY_UNDECIDED);
	assert_int_equal(decide(rs, &p).slot, 1);
	/* whoever it is, the rule does not apply */
	p = packet(BP_POLICY_PUBLISH, "office/pump-1/t");
	p.known = false;
	p.client = NULL;
	assert_int_equal(decide(rs, &p).rule, 1);
	free(rs);
	snprintf(r[0].client, sizeof(r[0].client), "pump-*");
	r[0].packet = BP_POLICY_SUBSCRIBE;
	rs = image(r, 2, BP_POLICY_ALLOW, NULL, 1);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_OBSERVE);
	free(rs);
}

/* The result of a message that a rule may treat otherwise is not that of the next one. */
static void fixed_results(void **state)
{
	struct bp_policy_rule_spec r[] = {
		of_topic("large", BP_POLICY_OBSERVE, "t/#"),
		rule("all", BP_POLICY_ALLOW),
	};
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "t/1");
	struct bp_ruleset *rs;

	(void)state;
	r[0].has_size = true;
	r[0].larger_than = 10;
	rs = image(r, 2, BP_POLICY_OBSERVE, NULL, 1);
	assert_int_equal(decide(rs, &p).action, BP_POLICY_ALLOW);
	assert_false(decide(rs, &p).fixed);
	p = packet(BP_POLICY_PUBLISH, "u/1");
	assert_true(decide(rs, &p).fixed);
	free(rs);
}

static void subscriptions(void **state)
{
	struct bp_policy_rule_spec r[] = {
		of_topic("secret", BP_POLICY_OBSERVE, "plant/secret/#"),
		of_topic("plant", BP_POLICY_ALLOW, "plant/#"),
	};
	struct bp_ruleset *rs = image(r, 2, BP_POLICY_OBSERVE, NULL, 1);
	struct bp_policy_packet_view p = packet(BP_POLICY_SUBSCRIBE, "plant/+/t");

	(void)state;
	assert_int_equal(decide(rs, &p).rule, 0); /* it would receive plant/secret/t */
	p = packet(BP_POLICY_SUBSCRIBE, "plant/hall/#");
	assert_int_equal(decide(rs, &p).rule, 1);
	p = packet(BP_POLICY_SUBSCRIBE, "+/hall");
	assert_int_equal(decide(rs, &p).rule, 2); /* more than plant/# */
	free(rs);
	/* no topic is that of a user without a name */
	r[0] = of_topic("user", BP_POLICY_OBSERVE, "x/{user}");
	r[1] = of_topic("all", BP_POLICY_ALLOW, "#");
	rs = image(r, 2, BP_POLICY_OBSERVE, NULL, 1);
	p = packet(BP_POLICY_SUBSCRIBE, "#");
	assert_int_equal(decide(rs, &p).rule, 0);
	p.user = NULL;
	p.user_len = 0;
	assert_int_equal(decide(rs, &p).rule, 1);
	free(rs);
}

/* ---- the image ---- */

/* As many rules as there may be, and none of them is one of before. */
static void all_rules_are_replaced(void **state)
{
	struct bp_policy_rule_spec r[2][MAX_RULES];
	struct bp_ruleset *old = NULL, *rs;
	char name[16];

	(void)state;
	for (uint64_t generation = 1; generation <= 4; generation++) {
		bool used[2 * MAX_RULES + 1] = {false};
		struct bp_policy_rule_spec *now = r[generation % 2];

		for (unsigned i = 0; i < MAX_RULES; i++) {
			snprintf(name, sizeof(name), "r%u-%u", (unsigned)generation, i);
			now[i] = of_topic(name, BP_POLICY_ALLOW, "t");
		}
		rs = image(now, MAX_RULES, BP_POLICY_ALLOW, old, generation);
		for (unsigned i = 0; old != NULL && i < MAX_RULES; i++)
			used[bp_policy_rule(old, i)->slot] = true;
		for (unsigned i = 0; i < MAX_RULES; i++) {
			const uint32_t slot = bp_policy_rule(rs, i)->slot;

			assert_in_range(slot, 1, bp_policy_stat_slots(MAX_RULES) - 1);
			assert_false(used[slot]);
			used[slot] = true;
		}
		free(old);
		old = rs;
	}
	free(old);
}

static void reload_keeps_slots(void **state)
{
	struct bp_policy_rule_spec r[] = {
		of_topic("a", BP_POLICY_ALLOW, "a"),
		of_topic("b", BP_POLICY_ALLOW, "b"),
		of_topic("c", BP_POLICY_ALLOW, "c"),
	};
	struct bp_policy_rule_spec after[] = {r[2], of_topic("d", BP_POLICY_ALLOW, "d"), r[0]};
	struct bp_ruleset *old = image(r, 3, BP_POLICY_ALLOW, NULL, 1);
	struct bp_ruleset *rs = image(after, 3, BP_POLICY_ALLOW, old, 2);

	(void)state;
	assert_int_equal(bp_policy_rule(rs, 0)->slot, bp_policy_rule(old, 2)->slot);
	assert_int_equal(bp_policy_rule(rs, 2)->slot, bp_policy_rule(old, 0)->slot);
	assert_int_equal(bp_policy_rule(rs, 1)->slot, 4); /* not that of a rule that ends */
	assert_string_equal(bp_policy_rule(rs, 1)->name, "d");
	free(old);
	free(rs);
}

static void too_many_rules(void **state)
{
	struct bp_policy_rule_spec r[MAX_RULES + 1];
	const struct bp_policy_spec policy = {.given = true, .n_rules = MAX_RULES + 1, .rules = r};
	const struct bp_ruleset_input input = {
		.max_rules = 1, .policy = &policy, .max_policy_rules = MAX_RULES, .generation = 1};
	void *bank = aligned_alloc(64, 1 << 20);

	(void)state;
	for (unsigned i = 0; i <= MAX_RULES; i++)
		r[i] = rule("x", BP_POLICY_ALLOW);
	assert_int_equal(bp_ruleset_compile(bank, 1 << 20, &input, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "mqtt.max_policy_rules"));
	free(bank);
}

/* Each byte of the policy in the image, and its header, may be anything: the check finds it, or the
 * decision reads no memory outside of the image. */
static void damaged_images(void **state)
{
	struct bp_rule_spec json = {
		.value = {.kind = BP_VALUE_JSON}, .raise = {.op = BP_COND_GT, .a = 80}};
	struct bp_rule_spec string = {.value = {.type = BP_VALUE_STRING},
		.strings = {.n = 1, .len = {4}, .text = {"open"}}};
	struct bp_policy_rule_spec r[] = {
		of_topic("own", BP_POLICY_OBSERVE, "plant/{client}/#"),
		rated(BP_POLICY_PER_TOPIC),
		with_value("json", BP_POLICY_OBSERVE, &json),
		with_value("string", BP_POLICY_OBSERVE, &string),
		of_topic("b", BP_POLICY_ALLOW, "+/#"),
	};
	struct bp_policy_bucket bucket[4] = {0};
	const struct bp_policy_rates rates = {bucket, 4};
	struct bp_policy_packet_view p = packet(BP_POLICY_PUBLISH, "plant/pump-1/t");
	struct bp_ruleset *rs, *copy;
	const char *why;
	uint64_t size;
	size_t why_at;

	(void)state;
	snprintf(r[0].client, sizeof(r[0].client), "pump-*");
	r[0].has_packet_size = true;
	p.rates = &rates;
	p.hash_key = key;
	assert_int_equal(bp_json_path_compile("$.a[*].b", &json.value.json, &why, &why_at), 0);
	read_payload(&p, "{\"a\":[{\"b\":9},{\"b\":1}]}", 23);
	rs = image(r, 5, BP_POLICY_ALLOW, NULL, 1);
	size = rs->size;
	for (uint64_t at = 0; at < size; at++) {
		static const uint8_t value[] = {0, 1, 0x7f, 0x80, 0xff};

		if (at >= sizeof(*rs) && at < rs->policy)
			continue;
		for (unsigned v = 0; v < sizeof(value); v++) {
			copy = aligned_alloc(64, (size + 63) & ~63ull);
			memcpy(copy, rs, size);
			((uint8_t *)copy)[at] = value[v];
			if (copy->size == size && bp_ruleset_valid(copy, size, 1))
				(void)decide(copy, &p);
			free(copy);
		}
	}
	free(rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relations_of_filters),
		cmocka_unit_test(relations_by_all_topics),
		cmocka_unit_test(topics_with_many_levels),
		cmocka_unit_test(patterns),
		cmocka_unit_test(first_rule_decides),
		cmocka_unit_test(conditions),
		cmocka_unit_test(keep_alives),
		cmocka_unit_test(sizes_of_packets),
		cmocka_unit_test(rates),
		cmocka_unit_test(order_of_rates),
		cmocka_unit_test(values),
		cmocka_unit_test(values_of_other_types),
		cmocka_unit_test(payloads_that_come_later),
		cmocka_unit_test(many_values),
		cmocka_unit_test(connections),
		cmocka_unit_test(hours),
		cmocka_unit_test(anonymous_clients),
		cmocka_unit_test(unknown_clients),
		cmocka_unit_test(fixed_results),
		cmocka_unit_test(subscriptions),
		cmocka_unit_test(all_rules_are_replaced),
		cmocka_unit_test(reload_keeps_slots),
		cmocka_unit_test(too_many_rules),
		cmocka_unit_test(damaged_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
