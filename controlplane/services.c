/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/service.h"

#define X(name, NAME) extern const struct bp_controlplane_service bp_controlplane_##name;
BP_SERVICES(X)
#undef X

const struct bp_controlplane_service *const bp_controlplane_services[BP_SERVICE_COUNT] = {
#define X(name, NAME) [BP_SERVICE_##NAME] = &bp_controlplane_##name,
	BP_SERVICES(X)
#undef X
};

/* For each service of this control plane. */
#define FOR_EACH(x, s, d)                                                                          \
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)                                            \
		for (const struct bp_controlplane_service *d =                                     \
				(x)->state[s] != NULL ? bp_controlplane_services[s] : NULL;        \
			d != NULL; d = NULL)

int bp_cp_services_check(
	const struct bp_plane_context *x, const struct bp_config *c, char *err, size_t err_size)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const struct bp_controlplane_service *d = bp_controlplane_services[s];

		if (d->check != NULL && d->check(x, c, err, err_size) != 0)
			return -1;
	}
	return 0;
}

int bp_cp_services_create(struct bp_plane_context *x, char *err, size_t err_size)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const struct bp_controlplane_service *d = bp_controlplane_services[s];

		x->state[s] = d->create != NULL ? d->create(x, err, err_size) : NULL;
		if (d->create != NULL && x->state[s] == NULL)
			return -1;
	}
	return 0;
}

int bp_cp_services_start(struct bp_plane_context *x, char *err, size_t err_size)
{
	FOR_EACH (x, s, d)
		if (d->start != NULL && d->start(x->state[s], err, err_size) != 0)
			return -1;
	return 0;
}

int bp_cp_services_tick(struct bp_plane_context *x, char *err, size_t err_size)
{
	FOR_EACH (x, s, d)
		if (d->tick != NULL && d->tick(x->state[s], err, err_size) != 0)
			return -1;
	return 0;
}

void bp_cp_services_configure(struct bp_plane_context *x)
{
	FOR_EACH (x, s, d)
		if (d->configure != NULL)
			d->configure(x->state[s]);
}

static void drained(void *arg)
{
	struct bp_plane_context *x = arg;

	if (--x->draining.left == 0)
		x->draining.done(x->draining.arg);
}

void bp_cp_services_drain(
	struct bp_plane_context *x, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	x->draining.done = done;
	x->draining.arg = arg;
	x->draining.left = 1; /* this function */
	FOR_EACH (x, s, d)
		if (d->drain != NULL) {
			x->draining.left++;
			d->drain(x->state[s], wait_ns, drained, x);
		}
	drained(x);
}

void bp_cp_services_free(struct bp_plane_context *x)
{
	for (unsigned s = BP_SERVICE_COUNT; s-- > 0;) {
		if (x->state[s] != NULL && bp_controlplane_services[s]->free != NULL)
			bp_controlplane_services[s]->free(x->state[s]);
		x->state[s] = NULL;
	}
}

void bp_cp_services_republish(struct bp_plane_context *x)
{
	FOR_EACH (x, s, d)
		if (d->republish != NULL)
			d->republish(x->state[s]);
}

void bp_cp_services_report(const struct bp_plane_context *x, json_t *answer)
{
	FOR_EACH (x, s, d)
		if (d->report != NULL)
			d->report(x->state[s], answer);
}

void bp_cp_services_status(const struct bp_plane_context *x, json_t *answer)
{
	FOR_EACH (x, s, d)
		if (d->status != NULL)
			d->status(x->state[s], answer);
}

int bp_cp_services_add_commands(struct bp_plane_context *x)
{
	FOR_EACH (x, s, d)
		if (bp_control_add(x->control, d->commands, d->n_commands, x->state[s]) != 0)
			return -1;
	return 0;
}
