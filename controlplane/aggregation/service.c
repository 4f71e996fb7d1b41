/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/aggregation/settings.h"
#include "controlplane/service.h"

#include <stdio.h>
#include <stdlib.h>

struct aggregation {
	const struct bp_shm *shm;
	bool changed; /* by the last publication: aggregates leave, streams begin anew */
};

static void *create(struct bp_plane_context *x, char *err, size_t err_size)
{
	struct aggregation *a = calloc(1, sizeof(*a));

	if (a != NULL)
		a->shm = x->shm;
	else
		snprintf(err, err_size, "no memory for aggregation");
	return a;
}

/*
 * What is the same is written, too: a worker that was restarted began with the file as it was then,
 * which may say something else. The others compare, and go on with their streams.
 */
static void publish(void *state, const struct bp_config *c)
{
	struct aggregation *a = state;
	const struct bp_agg_rules *rules = &bp_config_aggregation(c)->rules;
	struct bp_agg_plan *plan = a->shm->agg.plan;

	if (plan == NULL)
		return;
	a->changed = !bp_seqlock_equals(&plan->lock, rules, sizeof(*rules));
	bp_seqlock_write(&plan->lock, rules, sizeof(*rules));
}

static void republish(void *state)
{
	const struct aggregation *a = state;

	if (a->shm->agg.plan != NULL)
		bp_seqlock_republish(&a->shm->agg.plan->lock);
}

static void report(const void *state, json_t *answer)
{
	const struct aggregation *a = state;

	json_object_set_new(answer, "aggregation_changed", json_boolean(a->changed));
}

static const char *changed(const void *state)
{
	const struct aggregation *a = state;

	return a->changed ? "aggregation begins anew" : NULL;
}

const struct bp_controlplane_service bp_controlplane_aggregation = {
	.name = "aggregation",
	.id = BP_SERVICE_AGGREGATION,
	.create = create,
	.free = free,
	.publish = publish,
	.republish = republish,
	.report = report,
	.changed = changed,
};
