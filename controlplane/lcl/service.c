/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/service.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/lcl/settings.h"

struct lcl {
	const struct bp_shm *shm;
	bool changed; /* by the last publication: the flows; those that stay go on */
};

static void *create(struct bp_plane_context *x, char *err, size_t err_size)
{
	struct lcl *l = calloc(1, sizeof(*l));

	if (l != NULL)
		l->shm = x->shm;
	else
		snprintf(err, err_size, "no memory for lcl");
	return l;
}

/* Also where it is the same: see controlplane/aggregation/service.c. Flows that stay go on with
 * their figures and sequence numbers. */
static void publish(void *state, const struct bp_config *c)
{
	struct lcl *l = state;
	const struct bp_lcl_rules *rules = &bp_config_lcl(c)->rules;
	struct bp_lcl_plan *plan = l->shm->lcl.plan;

	if (plan == NULL)
		return;
	l->changed = !bp_seqlock_equals(&plan->lock, rules, sizeof(*rules));
	bp_seqlock_write(&plan->lock, rules, sizeof(*rules));
}

static void republish(void *state)
{
	const struct lcl *l = state;

	if (l->shm->lcl.plan != NULL)
		bp_seqlock_republish(&l->shm->lcl.plan->lock);
}

static void report(const void *state, json_t *answer)
{
	const struct lcl *l = state;

	json_object_set_new(answer, "flows_changed", json_boolean(l->changed));
}

static const char *changed(const void *state)
{
	const struct lcl *l = state;

	return l->changed ? "lcl.flows changed" : NULL;
}

const struct bp_controlplane_service bp_controlplane_lcl = {
	.name = "lcl",
	.id = BP_SERVICE_LCL,
	.create = create,
	.free = free,
	.publish = publish,
	.republish = republish,
	.report = report,
	.changed = changed,
};
