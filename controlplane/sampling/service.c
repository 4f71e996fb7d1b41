/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/service.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/sampling/settings.h"
#include "shm/sampling/sampling.h"

struct sampling {
	const struct bp_shm *shm;
	bool changed; /* by the last publication */
};

static void *create(struct bp_plane_context *x, char *err, size_t err_size)
{
	struct sampling *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->shm = x->shm;
	else
		snprintf(err, err_size, "no memory for sampling");
	return s;
}

/* Also where it is the same: see controlplane/aggregation/service.c. */
static void publish(void *state, const struct bp_config *c)
{
	const struct bp_sampling_rules *rules = &bp_config_sampling(c)->rules;
	struct sampling *s = state;
	struct bp_sampling_tables *t = bp_sampling_tables(s->shm);

	if (t == NULL)
		return;
	s->changed = !bp_seqlock_equals(&t->plan->lock, rules, sizeof(*rules));
	bp_seqlock_write(&t->plan->lock, rules, sizeof(*rules));
}

static void republish(void *state)
{
	const struct sampling *s = state;
	struct bp_sampling_tables *t = bp_sampling_tables(s->shm);

	if (t != NULL)
		bp_seqlock_republish(&t->plan->lock);
}

static const char *changed(const void *state)
{
	const struct sampling *s = state;

	return s->changed ? "sampling changed" : NULL;
}

const struct bp_controlplane_service bp_controlplane_sampling = {
	.name = "sampling",
	.id = BP_SERVICE_SAMPLING,
	.create = create,
	.free = free,
	.publish = publish,
	.republish = republish,
	.changed = changed,
};
