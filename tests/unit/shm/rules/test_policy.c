/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy in an image of rules: its decisions, its statistics' slots, and damaged images. */
#include "tests/unit/shm/rules/policy_rig.h"

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
