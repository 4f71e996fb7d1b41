/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "config/sampling/settings.h"
#include "controlplane/process/rule_publisher.h"
#include "shm/sampling/sampling.h"

static void publish(void *state, const struct bp_config *c)
{
	const struct bp_sampling_rules *rules = &bp_config_sampling(c)->rules;
	struct bp_rule_publisher *p = state;
	struct bp_sampling_tables *t = bp_sampling_tables(p->shm);

	if (t != NULL)
		bp_rule_publisher_publish(p, &t->plan->lock, rules, sizeof(*rules));
}

static const char *changed(const void *state)
{
	return ((const struct bp_rule_publisher *)state)->changed ? "sampling changed" : NULL;
}

const struct bp_controlplane_service bp_controlplane_sampling = {
	.name = "sampling",
	.id = BP_SERVICE_SAMPLING,
	.create = bp_rule_publisher_create,
	.free = free,
	.publish = publish,
	.republish = bp_rule_publisher_republish,
	.changed = changed,
};
