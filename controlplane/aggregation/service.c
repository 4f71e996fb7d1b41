/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/aggregation/settings.h"
#include "controlplane/process/rule_publisher.h"

static void publish(void *state, const struct bp_config *c)
{
	const struct bp_agg_rules *rules = &bp_config_aggregation(c)->rules;
	struct bp_rule_publisher *p = state;

	if (p->shm->agg.plan != NULL)
		bp_rule_publisher_publish(p, &p->shm->agg.plan->lock, rules, sizeof(*rules));
}

static void report(const void *state, json_t *answer)
{
	const struct bp_rule_publisher *p = state;

	json_object_set_new(answer, "aggregation_changed", json_boolean(p->changed));
}

static const char *changed(const void *state)
{
	return ((const struct bp_rule_publisher *)state)->changed
		       ? "aggregation restarted, its streams are reset"
		       : NULL;
}

const struct bp_controlplane_service bp_controlplane_aggregation = {
	.name = "aggregation",
	.id = BP_SERVICE_AGGREGATION,
	.create = bp_rule_publisher_create,
	.free = free,
	.publish = publish,
	.republish = bp_rule_publisher_republish,
	.report = report,
	.changed = changed,
};
