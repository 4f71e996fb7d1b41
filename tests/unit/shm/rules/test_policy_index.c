/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of the policy: the same decisions as those of a test of all rules. */
#include "tests/unit/shm/rules/ruleset_rig.h"

#include "shm/rules/policy_index.h"

#define MAX_RULES 1000u
#define BANK (bp_ruleset_bank_size(1) + bp_policy_bank_size(MAX_RULES))

static uint64_t seed, policy_seed;

static uint32_t draw(uint32_t n)
{
	seed = bp_mix64(seed + 0x9e3779b97f4a7c15ull);
	return (uint32_t)(seed % n);
}

static struct bp_policy_rule_spec rules[MAX_RULES];

static struct bp_ruleset *image(uint32_t n)
{
	const struct bp_policy_spec policy = {
		.given = true, .preset = BP_POLICY_OBSERVE, .n_rules = n, .rules = rules};
	const struct bp_ruleset_input input = {.max_rules = 1,
		.policy = &policy,
		.max_policy_rules = MAX_RULES,
		.generation = 1,
		.now_ns = seed};
	void *bank = aligned_alloc(64, (BANK + 63) & ~63ull);

	assert_non_null(bank);
	if (bp_ruleset_compile(bank, BANK, &input, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	assert_true(bp_ruleset_valid(bank, BANK, 1));
	return bank;
}

static struct bp_ruleset *without_index(const struct bp_ruleset *rs)
{
	void *copy = aligned_alloc(64, (rs->size + 63) & ~63ull);

	memcpy(copy, rs, rs->size);
	((struct bp_ruleset *)copy)->policy_index.n_nodes = 0;
	return copy;
}

/* ---- random policies and packets of few texts, so that many match ---- */

static void draw_topic(char *out, size_t size, uint32_t kinds)
{
	static const char *const level[] = {
		"a", "b", "", "a-level-of-many-bytes", "$a", "+", "#", "{client}", "{user}"};
	const uint32_t n = 1 + draw(draw(8) == 0 ? 2 * BP_POLICY_DEPTH : 4);

	out[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const char *l = level[draw(kinds)];
		const size_t at = strlen(out);

		snprintf(out + at, size - at, i == 0 ? "%s" : "/%s", l);
		if (l[0] == '#')
			return;
	}
}

static void draw_rule(struct bp_policy_rule_spec *r, uint32_t i)
{
	static const char *const text[] = {"", "", "a", "b", "c", "a*", "*"};

	*r = (struct bp_policy_rule_spec){.action = (uint8_t)draw(BP_POLICY_ACTIONS),
		.packet = (uint8_t)draw(BP_POLICY_PACKETS)};
	snprintf(r->name, sizeof(r->name), "r%u", i);
	snprintf(r->client, sizeof(r->client), "%s", text[draw(7)]);
	snprintf(r->user, sizeof(r->user), "%s", text[draw(7)]);
	if (r->packet != BP_POLICY_CONNECT && draw(5) != 0)
		draw_topic(r->topic, sizeof(r->topic), 9);
	if (draw(8) == 0)
		r->identity = (uint8_t)draw(3);
	if (draw(8) == 0)
		r->version = (uint8_t)(4 + draw(2));
	r->has_port = draw(10) == 0;
	r->port = (uint8_t)draw(2);
	r->has_address = draw(3) == 0;
	if (r->has_address)
		r->address = draw(2)   ? (struct bp_prefix){.bytes = {10, 0, 0, (uint8_t)draw(3)},
						 .family = 4,
						 .length = 32}
			     : draw(2) ? (struct bp_prefix){.bytes = {10}, .family = 4, .length = 8}
				       : (struct bp_prefix){.bytes = {10, 0, 0, (uint8_t)draw(3)},
						 .family = 6,
						 .length = 128};
	r->has_size = draw(10) == 0;
	r->larger_than = draw(3);
	if (draw(10) == 0)
		r->qos = (uint8_t)(1 + draw(3));
}

struct drawn {
	struct bp_policy_packet_view view;
	uint8_t address[16];
	char topic[1024];
};

static void draw_packet(struct drawn *d)
{
	static const char *const text[] = {NULL, "a", "b", "c", "ab", "d"};
	const char *client = text[draw(6)], *user = text[draw(6)];
	struct bp_policy_packet_view *v = &d->view;

	memset(d->address, 0, sizeof(d->address));
	d->address[0] = (uint8_t)(10 + (draw(4) == 0));
	d->address[3] = (uint8_t)draw(4);
	*v = (struct bp_policy_packet_view){
		.packet = (uint8_t)(BP_POLICY_CONNECT + draw(BP_POLICY_PACKETS - 1)),
		.version = (uint8_t)(4 + draw(2)),
		.port = (uint8_t)draw(3),
		.qos = (uint8_t)draw(3),
		.retain = draw(2),
		.ip6 = draw(4) == 0,
		.known = draw(3) != 0,
		.address = d->address,
		.client = (const uint8_t *)client,
		.client_len = client != NULL ? (uint16_t)strlen(client) : 0,
		.user = (const uint8_t *)user,
		.user_len = user != NULL ? (uint16_t)strlen(user) : 0,
		.size = draw(4)};
	if (v->packet == BP_POLICY_CONNECT)
		return;
	draw_topic(d->topic, sizeof(d->topic), v->packet == BP_POLICY_SUBSCRIBE ? 7 : 5);
	v->topic = (const uint8_t *)d->topic;
	v->topic_len = (uint32_t)strlen(d->topic);
}

/* Of both images. Returns the index of the rule. */
static uint32_t same_decision(const struct bp_ruleset *rs, const struct bp_ruleset *all,
	const struct bp_policy_packet_view *v)
{
	struct bp_policy_decision a, b;

	bp_policy_decide(rs, v, &a);
	bp_policy_decide(all, v, &b);
	if (a.rule != b.rule || a.action != b.action || a.slot != b.slot || a.fixed != b.fixed)
		fail_msg("packet %u on %.*s: rule %u, action %u, fixed %d; without the index %u, "
			 "%u, %d; seed %llu",
			v->packet, (int)v->topic_len,
			v->topic != NULL ? (const char *)v->topic : "", a.rule, a.action, a.fixed,
			b.rule, b.action, b.fixed, (unsigned long long)policy_seed);
	return a.rule;
}

static void same_decisions_as_all_rules(void **state)
{
	uint64_t by_rule = 0, late = 0;
	struct drawn d;

	(void)state;
	for (seed = 1; seed < 4000; seed++) {
		struct bp_ruleset *rs, *all;
		uint32_t n;

		policy_seed = seed;
		n = 1 + draw(draw(4) == 0 ? 200 : 12);
		for (uint32_t i = 0; i < n; i++)
			draw_rule(&rules[i], i);
		rs = image(n);
		all = without_index(rs);
		for (uint32_t i = 0; i < 200; i++) {
			uint32_t rule;

			draw_packet(&d);
			rule = same_decision(rs, all, &d.view);
			by_rule += rule < n;
			late += rule < n && rule >= 5;
		}
		free(rs);
		free(all);
		seed = policy_seed;
	}
	assert_true(by_rule > 100000);
	assert_true(late > 10000);
}

/* ---- the work ---- */

static struct bp_policy_packet_view publication(const char *client, const char *topic)
{
	static const uint8_t address[16] = {10, 0, 0, 5};

	return (struct bp_policy_packet_view){.packet = BP_POLICY_PUBLISH,
		.version = 4,
		.port = 1,
		.known = true,
		.address = address,
		.client = (const uint8_t *)client,
		.client_len = (uint16_t)strlen(client),
		.topic = (const uint8_t *)topic,
		.topic_len = (uint32_t)strlen(topic)};
}

/* The decision is the last rule, with a small part of the work of testing all rules. */
static void assert_fast(const struct bp_policy_packet_view *v)
{
	struct bp_ruleset *rs = image(MAX_RULES), *all = without_index(rs);
	struct bp_policy_decision a, b;

	assert_int_equal(same_decision(rs, all, v), MAX_RULES - 1);
	bp_policy_decide(rs, v, &a);
	bp_policy_decide(all, v, &b);
	assert_true(a.steps < 200);
	assert_true(b.steps >= 4 * MAX_RULES);
	free(rs);
	free(all);
}

static void rules_by_topic(void **state)
{
	const struct bp_policy_packet_view v = publication("c", "plant/999/state");

	(void)state;
	for (uint32_t i = 0; i < MAX_RULES; i++) {
		rules[i] = (struct bp_policy_rule_spec){.action = BP_POLICY_OBSERVE};
		snprintf(rules[i].topic, sizeof(rules[i].topic), "plant/%u/#", i);
	}
	assert_fast(&v);
}

/* Rules that allow it are found by its levels, others are tested. */
static void subscriptions_with_wildcards(void **state)
{
	struct bp_policy_packet_view v = publication("c", "plant/999/#");

	(void)state;
	v.packet = BP_POLICY_SUBSCRIBE;
	for (uint32_t i = 0; i < MAX_RULES; i++) {
		rules[i] = (struct bp_policy_rule_spec){
			.action = i == 500 ? BP_POLICY_OBSERVE : BP_POLICY_ALLOW};
		snprintf(rules[i].topic, sizeof(rules[i].topic), "plant/%u/#", i);
	}
	assert_fast(&v);
}

/* With one filter, or none. */
static void rules_by_client(void **state)
{
	const struct bp_policy_packet_view v = publication("pump-999", "plant/state");
	struct bp_policy_packet_view user = v;

	(void)state;
	for (unsigned topic = 0; topic < 2; topic++) {
		for (uint32_t i = 0; i < MAX_RULES; i++) {
			rules[i] = (struct bp_policy_rule_spec){.packet = BP_POLICY_PUBLISH};
			snprintf(rules[i].client, sizeof(rules[i].client), "pump-%u", i);
			snprintf(rules[i].topic, sizeof(rules[i].topic), "%s",
				topic ? "plant/+" : "");
		}
		assert_fast(&v);
	}
	for (uint32_t i = 0; i < MAX_RULES; i++) {
		memcpy(rules[i].user, rules[i].client, sizeof(rules[i].user));
		rules[i].client[0] = '\0';
	}
	user.user = v.client;
	user.user_len = v.client_len;
	assert_fast(&user);
}

static void rules_by_address(void **state)
{
	const uint8_t address[4] = {10, 0, 999 / 256, 999 % 256};
	struct bp_policy_packet_view v = publication("c", "plant/state");

	(void)state;
	for (uint32_t i = 0; i < MAX_RULES; i++)
		rules[i] = (struct bp_policy_rule_spec){.has_address = true,
			.address = {.bytes = {10, 0, (uint8_t)(i / 256), (uint8_t)i},
				.family = 4,
				.length = 32}};
	v.address = address;
	assert_fast(&v);
}

/* A trie with more nodes on the way than are visited: all rules are tested. */
static void too_many_branches(void **state)
{
	const struct bp_policy_packet_view v = publication("c", "a/a/a/a/a/a/a/a/a/b");
	struct bp_ruleset *rs, *all;

	(void)state;
	for (uint32_t i = 0; i < MAX_RULES; i++) {
		rules[i] = (struct bp_policy_rule_spec){.action = BP_POLICY_OBSERVE};
		for (uint32_t level = 0; level < 10; level++)
			strcat(rules[i].topic, i >> level & 1 ? "+/" : "a/");
		strcat(rules[i].topic, i + 1 == MAX_RULES ? "#" : "a");
	}
	snprintf(rules[MAX_RULES - 1].topic, sizeof(rules[0].topic), "a/+/a/+/a/+/#");
	rs = image(MAX_RULES);
	all = without_index(rs);
	assert_int_equal(same_decision(rs, all, &v), MAX_RULES - 1);
	free(rs);
	free(all);
}

/* Each byte of the index, and of its header, may be anything: the check finds it, or the search
 * ends, and reads no memory outside of the image. */
static void damaged_index(void **state)
{
	const struct bp_policy_packet_view v = publication("pump-7", "plant/x/7");
	struct bp_ruleset *rs;
	uint64_t from, to;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		rules[i] = (struct bp_policy_rule_spec){.action = BP_POLICY_OBSERVE};
		snprintf(rules[i].topic, sizeof(rules[i].topic), "plant/+/#");
		snprintf(rules[i].client, sizeof(rules[i].client), "pump-%u", i);
	}
	rs = image(8);
	from = rs->policy;
	to = rs->policy_index.slots +
	     (rs->policy_index.slot_mask + 1ull) * sizeof(struct bp_policy_slot);
	for (uint64_t at = 0; at < to; at++) {
		static const uint8_t value[] = {0, 1, 2, 7, 0x80, 0xff};

		if (at >= sizeof(*rs) && at < from)
			continue;
		for (unsigned k = 0; k < sizeof(value); k++) {
			struct bp_ruleset *copy = aligned_alloc(64, (rs->size + 63) & ~63ull);
			struct bp_policy_decision d;

			memcpy(copy, rs, rs->size);
			((uint8_t *)copy)[at] = value[k];
			if (copy->size == rs->size && bp_ruleset_valid(copy, rs->size, 1))
				bp_policy_decide(copy, &v, &d);
			free(copy);
		}
	}
	free(rs);
}

/* Loops of nodes are within the bounds that are checked. */
static void loops_end(void **state)
{
	const struct bp_policy_packet_view v =
		publication("c", "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a");
	struct bp_policy_decision d;
	struct bp_ruleset *rs;
	struct bp_policy_node *nodes;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		rules[i] = (struct bp_policy_rule_spec){.action = BP_POLICY_OBSERVE};
		snprintf(rules[i].topic, sizeof(rules[i].topic), i == 0 ? "a/+/b" : "+/a/c");
	}
	rs = image(2);
	nodes = (struct bp_policy_node *)(void *)((uint8_t *)rs + rs->policy_index.nodes);
	for (uint32_t i = 0; i < rs->policy_index.n_nodes; i++)
		nodes[i].plus = 1;
	assert_true(bp_ruleset_valid(rs, BANK, 1));
	bp_policy_decide(rs, &v, &d);
	assert_int_equal(d.rule, 2);
	free(rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_decisions_as_all_rules),
		cmocka_unit_test(rules_by_topic),
		cmocka_unit_test(subscriptions_with_wildcards),
		cmocka_unit_test(rules_by_client),
		cmocka_unit_test(rules_by_address),
		cmocka_unit_test(too_many_branches),
		cmocka_unit_test(damaged_index),
		cmocka_unit_test(loops_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
