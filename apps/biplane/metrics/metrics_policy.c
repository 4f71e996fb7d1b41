/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions of the MQTT policy, by rule. */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/metrics/metric.h"
#include "biplane/counters/mqtt.h"
#include "shm/rules/policy.h"

#define TRIES 3             /* as for the rules of alarms */
#define DEFAULT "(default)" /* no name of a rule */

static const char *const action_name[BP_POLICY_ACTIONS] = {[BP_POLICY_ALLOW] = "allow",
	[BP_POLICY_OBSERVE] = "observe",
	[BP_POLICY_CLOSE] = "close",
	[BP_POLICY_BLANK] = "blank"};

/* The rules in a bank, read where they are, as those of alarms: no offset leads out of it. */
static uint32_t rules_in_bank(
	const struct bp_shm *shm, const struct bp_ruleset *rs, uint64_t *first)
{
	const uint64_t size = shm->rules.bank_size;
	const uint32_t n = __atomic_load_n(&rs->n_policy, __ATOMIC_RELAXED);

	*first = __atomic_load_n(&rs->policy, __ATOMIC_RELAXED);
	if (n > shm->max_policy_rules || *first % _Alignof(struct bp_policy_rule) != 0 ||
		*first > size || n > (size - *first) / sizeof(struct bp_policy_rule))
		return 0;
	return n;
}

static void read_one(const struct bp_shm *shm, const char *name, uint8_t action, uint32_t slot,
	struct bp_metric_policy *out)
{
	bp_metric_text(out->name, sizeof(out->name), name, BP_RULE_NAME_MAX);
	out->action = action < BP_POLICY_ACTIONS ? action_name[action] : NULL;
	for (uint32_t w = 0; w < shm->workers && slot < shm->policy_slots; w++) {
		const struct bp_policy_stats *s =
			&shm->policy_stats[(uint64_t)w * shm->policy_slots + slot];

		out->decisions = bp_metric_add(out->decisions, bp_metric_load(&s->matched, 0));
		out->undecided = bp_metric_add(out->undecided, bp_metric_load(&s->undecided, 0));
	}
}

/* The default has the last place. */
static void read_bank(struct bp_metrics *m, const struct bp_ruleset *rs, uint64_t first)
{
	const struct bp_policy_rule *rule =
		(const struct bp_policy_rule *)(const void *)((const uint8_t *)rs + first);
	char name[BP_RULE_NAME_MAX + 1];

	for (uint32_t i = 0; i + 1 < m->n_policy; i++) {
		memcpy(name, rule[i].name, sizeof(name));
		read_one(m->shm, name, __atomic_load_n(&rule[i].action, __ATOMIC_RELAXED),
			__atomic_load_n(&rule[i].slot, __ATOMIC_RELAXED), &m->policy[i]);
	}
	read_one(m->shm, DEFAULT, __atomic_load_n(&rs->policy_preset, __ATOMIC_RELAXED), 0,
		&m->policy[m->n_policy - 1]);
}

bool bp_metrics_read_policy(struct bp_metrics *m)
{
	for (unsigned tried = 0; tried < TRIES; tried++) {
		const uint64_t active = bp_generation_active(&m->shm->rules);
		const struct bp_ruleset *rs = bp_shm_rules(m->shm, active);
		uint64_t first;

		free(m->policy);
		m->policy = NULL;
		m->n_policy = 0;
		if (__atomic_load_n(&rs->generation, __ATOMIC_RELAXED) != 0 &&
			__atomic_load_n(&rs->policy_given, __ATOMIC_RELAXED)) {
			m->n_policy = rules_in_bank(m->shm, rs, &first) + 1;
			m->policy = calloc(m->n_policy, sizeof(*m->policy));
			if (m->policy == NULL)
				return false;
			read_bank(m, rs, first);
		}
		atomic_thread_fence(memory_order_acquire);
		if (bp_generation_active(&m->shm->rules) == active)
			break;
	}
	return true;
}

static void read_decisions(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (uint32_t i = 0; i < m->n_policy; i++)
		if (m->policy[i].action != NULL)
			bp_metric_count(m,
				BP_LABELS({"rule", m->policy[i].name},
					{"action", m->policy[i].action}),
				m->policy[i].decisions);
}

static void read_undecided(struct bp_metrics *m, const struct bp_metric *row)
{
	(void)row;
	for (uint32_t i = 0; i < m->n_policy; i++)
		bp_metric_count(m, BP_LABELS({"rule", m->policy[i].name}), m->policy[i].undecided);
}

const struct bp_metric bp_metrics_policy[] = {
	{.name = "policy_rule_decisions",
		.type = BP_METRIC_COUNTER,
		.labels = "rule,action",
		.help = "Decisions of a rule of the policy, or of its default, rule " DEFAULT
			"; allowed publications of a connection on a topic are one",
		.read = read_decisions},
	{.name = "policy_rule_undecided",
		.type = BP_METRIC_COUNTER,
		.labels = "rule",
		.help = "Packets without a decision, because what the rule asks for is not known "
			"of the client",
		.read = read_undecided},
	{.name = NULL},
};
