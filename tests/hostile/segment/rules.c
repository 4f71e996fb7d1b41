/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/hostile/segment/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/rules/combination.h"

/* The rules of the gateway: of every kind, so that an image has each part that it can have. */

enum { PLAIN_RULES = 6 };

static void plain_rule(struct bp_rule_spec *r, unsigned i)
{
	snprintf(r->name, sizeof(r->name), "rule-%u", i);
	snprintf(r->filter, sizeof(r->filter), i % 2 ? "plant/%u/+" : "t/%u", i);
	snprintf(r->to, sizeof(r->to), "alarm/{topic}");
	r->value.kind = BP_VALUE_TEXT;
	r->raise = (struct bp_condition){.op = BP_COND_GT, .a = 50};
}

static void plain_rules(struct bp_rule_spec *rule)
{
	for (unsigned i = 0; i < PLAIN_RULES; i++)
		plain_rule(&rule[i], i);
	rule[1].repeat = BP_REPEAT_ON_CHANGE;
	rule[2].action = BP_ACTION_MIRROR;
	rule[3].has_clear = true;
	rule[3].clear = (struct bp_condition){.op = BP_COND_LT, .a = 40};
	snprintf(rule[3].to, sizeof(rule[3].to), "x/{client}/{rule}");
	rule[4].value.kind = BP_VALUE_BINARY;
	rule[4].value.binary = (struct bp_binary_source){.type = BP_BIN_UINT8};
}

/* A rule on its own topic, "kind/NAME". */
static struct bp_rule_spec *of_kind(struct bp_rule_spec *r, const char *name)
{
	plain_rule(r, 0);
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->filter, sizeof(r->filter), "kind/%s", name);
	r->repeat = BP_REPEAT_ON_CHANGE;
	return r;
}

/* Temperature above 50 and not pressure below 20, for each cell. */
static void combination(struct bp_rule_spec *r)
{
	static const uint8_t step[] = {
		BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_NOT, BP_STEP_PART | 1};
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));

	assert_non_null(c);
	c->n_parts = 2;
	c->program.len = sizeof(step);
	memcpy(c->program.step, step, sizeof(step));
	plain_rule(&c->part[0], 0);
	snprintf(c->part[0].filter, sizeof(c->part[0].filter), "cell/{c}/temperature");
	c->part[0].max_age_ns = 100000000;
	plain_rule(&c->part[1], 0);
	snprintf(c->part[1].filter, sizeof(c->part[1].filter), "cell/{c}/pressure");
	c->part[1].raise = (struct bp_condition){.op = BP_COND_LT, .a = 20};
	r->filter[0] = '\0';
	snprintf(r->to, sizeof(r->to), "alarm/{rule}/{c}/{topic}");
	r->payload = BP_PAYLOAD_ENVELOPE;
	r->combination = c;
}

static void path(struct bp_rule_spec *r, const char *text)
{
	const char *why;
	size_t at;

	r->value.kind = BP_VALUE_JSON;
	assert_int_equal(bp_json_path_compile(text, &r->value.json, &why, &at), 0);
}

static void sparkplug(struct bp_rule_spec *r)
{
	snprintf(r->filter, sizeof(r->filter), "spBv1.0/+/+/node/#");
	r->value.kind = BP_VALUE_SPARKPLUG;
	snprintf(r->value.names.metric, sizeof(r->value.names.metric), "motor/temperature");
}

static void rules_of_kinds(struct bp_rule_spec *rule)
{
	struct bp_rule_spec *r = rule;

	combination(of_kind(r++, "combination"));
	of_kind(r, "absent")->absent_ns = 20000000;
	r->raise = (struct bp_condition){.op = BP_COND_GE, .a = 0.02};
	r++->payload = BP_PAYLOAD_ENVELOPE;
	path(of_kind(r, "string"), "$.state");
	r->value.type = BP_VALUE_STRING;
	r->strings = (struct bp_value_strings){.n = 2, .len = {4, 6}, .text = {"open", "closed"}};
	r++->raise = (struct bp_condition){.op = BP_COND_EQ};
	of_kind(r++, "values")->window = (struct bp_window_spec){
		.given = true, .function = BP_WINDOW_PERCENTILE, .values = 4, .percentile = 50};
	of_kind(r++, "time")->window = (struct bp_window_spec){
		.given = true, .function = BP_WINDOW_SUM, .time_ns = BP_WINDOW_TIME_MIN};
	sparkplug(of_kind(r++, "metric"));
	path(of_kind(r++, "elements"), "$[*].celsius");
	of_kind(r, "deadband")->deadband = 2;
	r->repeat = BP_REPEAT_EVERY;
	r->quiet_ns = 1000000;
	assert_int_equal(r + 1 - rule, GW_RULES_MAX - PLAIN_RULES);
}

void gateway_rules(struct gateway *g, unsigned n, bool same)
{
	struct bp_shm *shm = &g->x.r.shm;
	struct bp_mirror_target clone = {.enabled = true,
		.has_ip4 = true,
		.port = GW_D,
		.ip4 = {10, 2, 0, 9},
		.tcp_port = 1883};
	struct bp_rule_spec *rule = calloc(GW_RULES_MAX, sizeof(*rule));
	const uint64_t active = atomic_load(&shm->control->rules_active);
	const uint64_t generation = same ? active >> 1 : ++g->rules_generation;
	const uint64_t next = generation << 1 | (~active & 1);
	char err[256] = "";

	assert_non_null(rule);
	plain_rules(rule);
	rules_of_kinds(rule + PLAIN_RULES);
	if (bp_ruleset_build((void *)bp_shm_rules(shm, next), shm->rules.bank_size, rule, n,
		    shm->max_rules, &clone, NULL, generation, 1, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	free(rule[PLAIN_RULES].combination);
	free(rule);
	atomic_store(&shm->control->rules_active, next);
	gateway_walk(g);
}
