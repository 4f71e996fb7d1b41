/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_RULES_POLICY_RIG_H
#define BP_TESTS_UNIT_SHM_RULES_POLICY_RIG_H

#include "tests/unit/shm/rules/ruleset_rig.h"

#include "shm/rules/policy.h"
#include "shm/rules/policy_rate.h"

/* Images of a policy, and packets. */

#define MAX_RULES 16u
#define BANK (bp_ruleset_bank_size(1) + bp_policy_bank_size(MAX_RULES))

static inline struct bp_ruleset *image(struct bp_policy_rule_spec *rules, uint32_t n,
	uint8_t preset, const struct bp_ruleset *old, uint64_t generation)
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

static inline struct bp_policy_rule_spec rule(const char *name, uint8_t action)
{
	struct bp_policy_rule_spec r = {.action = action};

	snprintf(r.name, sizeof(r.name), "%s", name);
	return r;
}

static inline struct bp_policy_rule_spec of_topic(
	const char *name, uint8_t action, const char *topic)
{
	struct bp_policy_rule_spec r = rule(name, action);

	snprintf(r.topic, sizeof(r.topic), "%s", topic);
	return r;
}

static inline struct bp_policy_packet_view packet(uint8_t type, const char *topic)
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

static inline struct bp_policy_decision decide(
	const struct bp_ruleset *rs, const struct bp_policy_packet_view *p)
{
	struct bp_policy_decision d;

	bp_policy_decide(rs, p, &d);
	return d;
}

static const uint64_t key[2] = {0x1234567, 0x89abcdef};

static inline struct bp_policy_rule_spec rated(uint8_t per)
{
	struct bp_policy_rule_spec r = rule("rate", BP_POLICY_OBSERVE);

	r.has_rate = true;
	r.rate_per = per;
	r.rate = (struct bp_policy_rate){10, 1};
	r.rate_burst = 4;
	return r;
}

static inline struct bp_policy_rule_spec with_value(
	const char *name, uint8_t action, struct bp_rule_spec *payload)
{
	struct bp_policy_rule_spec r = rule(name, action);

	r.payload = payload;
	return r;
}

static inline void read_payload(struct bp_policy_packet_view *p, const void *payload, uint32_t len)
{
	p->payload = payload;
	p->size = len;
}

#endif
