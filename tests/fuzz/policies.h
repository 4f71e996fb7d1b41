/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_FUZZ_POLICIES_H
#define BP_TESTS_FUZZ_POLICIES_H

#include "config/mqtt/settings.h"

/* Policies with each kind of rule: one that observes, and three that refuse. */

/* It changes no alarm: the rigs without one agree. */
static struct bp_rule_spec policy_value = {
	.value = {.kind = BP_VALUE_TEXT}, .raise = {.op = BP_COND_GT, .a = 5}};
static struct bp_policy_rule_spec observed[] = {
	{.name = "slow",
		.action = BP_POLICY_OBSERVE,
		.has_keep_alive = true,
		.has_keep_above = true,
		.keep_above = 60},
	{.name = "often", .action = BP_POLICY_OBSERVE, .has_rate = true, .rate = {3, 1}},
	{.name = "high", .action = BP_POLICY_OBSERVE, .topic = "a/#", .payload = &policy_value},
	{.name = "own", .action = BP_POLICY_ALLOW, .topic = "{client}/#", .client = "a*"},
	{.name = "user", .action = BP_POLICY_OBSERVE, .topic = "+/{user}"},
	{.name = "anonymous",
		.action = BP_POLICY_OBSERVE,
		.packet = BP_POLICY_CONNECT,
		.identity = BP_POLICY_ANONYMOUS},
	{.name = "reading", .action = BP_POLICY_ALLOW, .packet = BP_POLICY_SUBSCRIBE, .topic = "#"},
	{.name = "large",
		.action = BP_POLICY_OBSERVE,
		.topic = "a/#",
		.has_size = true,
		.larger_than = 4},
	{.name = "rest", .action = BP_POLICY_ALLOW, .packet = BP_POLICY_PUBLISH, .topic = "+/b"},
};

/* The first rule is the one that forwarded_publications() knows. `a`: close or blank. */
#define REFUSES(a)                                                                                 \
	{                                                                                          \
		{.name = "b", .action = (a), .packet = BP_POLICY_PUBLISH, .topic = "+/b"},         \
			{.name = "own",                                                            \
				.action = BP_POLICY_ALLOW,                                         \
				.topic = "{client}/#",                                             \
				.client = "a*"},                                                   \
			{.name = "slow",                                                           \
				.action = (a),                                                     \
				.has_keep_alive = true,                                            \
				.has_keep_above = true,                                            \
				.keep_above = 600},                                                \
			{.name = "night", .action = (a), .has_hours = true, .from = 60, .to = 62}, \
			{.name = "bulk",                                                           \
				.action = (a),                                                     \
				.has_packet_size = true,                                           \
				.packet_larger_than = 600},                                        \
			{.name = "anonymous",                                                      \
				.action = (a),                                                     \
				.packet = BP_POLICY_SUBSCRIBE,                                     \
				.identity = BP_POLICY_ANONYMOUS,                                   \
				.topic = "plant/#"},                                               \
			{.name = "large",                                                          \
				.action = (a),                                                     \
				.topic = "a/#",                                                    \
				.has_size = true,                                                  \
				.larger_than = 4},                                                 \
			{.name = "retained",                                                       \
				.action = (a),                                                     \
				.packet = BP_POLICY_PUBLISH,                                       \
				.retain = 2,                                                       \
				.qos = 2},                                                         \
			{.name = "high", .action = (a), .topic = "c/#", .payload = &policy_value}, \
			{.name = "often",                                                          \
				.action = (a),                                                     \
				.packet = BP_POLICY_PUBLISH,                                       \
				.topic = "d/#",                                                    \
				.has_rate = true,                                                  \
				.rate = {3, 1}},                                                   \
	}
static struct bp_policy_rule_spec closed[] = REFUSES(BP_POLICY_CLOSE),
				  blanked[] = REFUSES(BP_POLICY_BLANK);
#define REFUSES_RULES (sizeof(closed) / sizeof(closed[0]))

static struct bp_policy_spec policies[] = {
	{.given = true,
		.preset = BP_POLICY_OBSERVE,
		.n_rules = sizeof(observed) / sizeof(observed[0]),
		.rules = observed},
	{.given = true,
		.preset = BP_POLICY_ALLOW,
		.fail = BP_POLICY_FAIL_CLOSED,
		.n_rules = REFUSES_RULES,
		.rules = closed},
	{.given = true,
		.preset = BP_POLICY_ALLOW,
		.fail = BP_POLICY_FAIL_CLOSED,
		.fallback = BP_POLICY_FALLBACK_CLOSE,
		.quarantine = "$refused",
		.n_rules = REFUSES_RULES,
		.rules = blanked},
	{.given = true,
		.preset = BP_POLICY_ALLOW,
		.fail = BP_POLICY_FAIL_CLOSED,
		.fallback = BP_POLICY_FALLBACK_PASS,
		.quarantine = "$r",
		.n_rules = REFUSES_RULES,
		.rules = blanked},
};
#define REFUSING 3 /* of them refuse */

#endif
