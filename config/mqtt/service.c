/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/service.h"

#include <stdlib.h>

#include "config/mqtt/schema.h"
#include "config/segment.h"
#include "shm/mqtt/mqtt_tables.h"
#include "shm/rules/policy.h"

#define MAX_RULES_MIN 1u

static uint64_t min_value(uint64_t v, uint64_t minimum)
{
	return v > minimum ? v : minimum;
}

static void capacities(const struct bp_config *c, uint64_t *capacity)
{
	const struct bp_config_mqtt *m = bp_config_mqtt(c);
	const uint64_t workers = min_value(c->n_workers, 1);
	const uint32_t max_rules =
		m->enabled ? (uint32_t)min_value(m->max_rules, MAX_RULES_MIN) : MAX_RULES_MIN;
	const uint64_t ring =
		BP_RING_OVERHEAD + bp_ring_capacity(min_value(m->enabled ? m->alarm_queue_size : 0,
					   BP_ALARM_RING_MIN));
	const uint64_t reassembly = min_value(m->enabled ? m->reassembly_total / workers : 0, 128);
	const uint32_t max_policy_rules = m->enabled ? m->max_policy_rules : 0;

	capacity[BP_MT_RULES] =
		2 * (bp_ruleset_bank_size(max_rules) + bp_policy_bank_size(max_policy_rules));
	capacity[BP_MT_POLICY_STATS] = workers * bp_policy_stat_slots(max_policy_rules);
	capacity[BP_MT_POLICY_RATES] = bp_policy_rates_len(m->enabled ? m->max_policy_rates : 0);
	capacity[BP_MT_POLICY_CONNECTIONS] =
		/* those that are not established count as well; a quarter is their preset */
		bp_policy_connections_len(
			!m->enabled ? 0
				    : m->max_connections +
					      (uint64_t)(m->max_unestablished != 0
								 ? m->max_unestablished
								 : m->max_connections / 4 + 1));
	capacity[BP_MT_RULE_STATS] = workers * max_rules;
	capacity[BP_MT_RULE_STATE] = bp_rule_state_len(m->enabled ? m->max_alarm_states : 0);
	capacity[BP_MT_SPARKPLUG] = bp_rule_state_len(m->enabled ? m->max_sparkplug_metrics : 0);
	capacity[BP_MT_WATCH] = capacity[BP_MT_WATCH_TOPIC] =
		bp_watch_len(m->enabled ? m->max_watched_topics : 0);
	capacity[BP_MT_PART_STATE] = bp_part_state_len(m->enabled ? m->max_combination_values : 0);
	capacity[BP_MT_WINDOW_BUCKETS] = bp_window_buckets(m->enabled ? m->max_windows : 0);
	capacity[BP_MT_WINDOWS] = bp_capacity_times(capacity[BP_MT_WINDOW_BUCKETS] * BP_WINDOW_WAYS,
		bp_window_stride(m->enabled ? m->max_window_values : 0));
	capacity[BP_MT_ALARM_RING] = bp_capacity_times(workers, ring);
	capacity[BP_MT_ALARM_TAIL] = workers;
	capacity[BP_MT_ALARM_LOG] = BP_ALARM_LOG_LEN;
	capacity[BP_MT_ALARM_LATENCY] = BP_DESTINATIONS;
	capacity[BP_MT_FLOWS] =
		bp_capacity_times(workers, bp_capacity_lines(min_value(bp_flow_table_size(c), 64)));
	capacity[BP_MT_REASSEMBLY] =
		bp_capacity_times(workers, bp_capacity_lines(reassembly + BP_JOURNAL_BYTES));
	capacity[BP_MT_ADOPT_REQUESTS] =
		workers * (sizeof(struct bp_adopt_part) + (m->enabled && c->fleet.state.enabled
									  ? BP_ADOPT_REQUESTS_BYTES
									  : BP_ADOPT_OFF_BYTES));
	capacity[BP_MT_ADOPT_OFFERS] =
		workers * (sizeof(struct bp_adopt_part) + (m->enabled && c->fleet.state.enabled
									  ? BP_ADOPT_OFFERS_BYTES
									  : BP_ADOPT_OFF_BYTES));
}

static void release(void *settings)
{
	struct bp_config_mqtt *m = settings;

	for (uint32_t i = 0; i < m->n_rules; i++)
		free(m->rules[i].combination);
	free(m->rules);
	for (uint32_t i = 0; i < m->policy.n_rules; i++)
		free(m->policy.rules[i].payload);
	free(m->policy.rules);
}

const struct bp_config_service bp_config_service_mqtt = {
	.settings = &bp_schema_mqtt,
	.size = sizeof(struct bp_config_mqtt),
	.release = release,
	.capacities = capacities,
};
