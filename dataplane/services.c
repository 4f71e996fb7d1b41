/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/service.h"

#include <stdio.h>

#define X(name, NAME) extern const struct bp_dataplane_service bp_dataplane_##name;
BP_SERVICES(X)
#undef X

const struct bp_dataplane_service *const bp_dataplane_services[BP_SERVICE_COUNT] = {
#define X(name, NAME) [BP_SERVICE_##NAME] = &bp_dataplane_##name,
	BP_SERVICES(X)
#undef X
};

#define EACH(s)                                                                                    \
	for (const struct bp_dataplane_service *const *at_ = bp_dataplane_services, *(s);          \
		at_ < bp_dataplane_services + BP_SERVICE_COUNT && ((s) = *at_, true); at_++)

uint64_t bp_services_mbufs(const struct bp_config *c)
{
	uint64_t sum = 0;

	EACH(s)
	sum += s->mbufs ? s->mbufs(c) : 0;
	return sum;
}

uint32_t bp_services_frame_size(const struct bp_config *c, uint32_t min_mtu)
{
	uint32_t largest = 0;

	EACH(s)
	{
		const uint32_t size = s->frame_size ? s->frame_size(c, min_mtu) : 0;

		largest = size > largest ? size : largest;
	}
	return largest;
}

int bp_services_publish(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	EACH(s)
	if (s->publish && s->publish(c, shm, err, err_size) != 0)
		return -1;
	return 0;
}

int bp_services_setup(
	const struct bp_config *c, struct bp_shm *shm, uint64_t mono_ns, char *err, size_t err_size)
{
	EACH(s)
	if (s->setup && s->setup(c, shm, mono_ns, err, err_size) != 0)
		return -1;
	return 0;
}

void bp_services_reset(struct bp_shm *shm)
{
	EACH(s)
	if (s->reset)
		s->reset(shm);
}

/* ---- in a worker ---- */

int bp_services_create(const struct bp_service_setup *setup, char *err, size_t err_size)
{
	struct bp_worker *w = setup->worker;

	EACH(s)
	{
		if (!s->enabled(setup))
			continue;
		snprintf(err, err_size, "no memory for %s in worker %u", s->name, w->index);
		w->service[s->id] = s->create(setup, err, err_size);
		if (!w->service[s->id])
			return -1;
		w->needs_time |= s->needs_time;
	}
	return 0;
}

/* Of those that the worker has. */
#define EACH_OF(w, s, state)                                                                       \
	EACH(s)                                                                                    \
	for (void *state = (w)->service[(s)->id]; state; state = NULL)

int bp_services_begin(struct bp_worker *w, char *err, size_t err_size)
{
	w->n_pending = 0; /* of a graph before this one */
	w->after_node = (struct bp_after_node){.run = NULL};
	EACH_OF(w, s, state)
	{
		if (s->begin && s->begin(state, w, err, err_size) != 0)
			return -1;
	}
	return 0;
}

void bp_services_start(struct bp_worker *w, const struct bp_clock *clock)
{
	EACH_OF(w, s, state)
	{
		if (s->start)
			s->start(state, clock);
	}
}

void bp_services_tick(struct bp_worker *w)
{
	EACH_OF(w, s, state)
	{
		if (s->tick)
			s->tick(state, w->mono_ns);
	}
}

void bp_services_drain(struct bp_worker *w)
{
	EACH_OF(w, s, state)
	{
		if (s->drain)
			s->drain(state);
	}
}

bool bp_services_hold(const struct bp_worker *w)
{
	EACH_OF(w, s, state)
	{
		if (s->holds && s->holds(state))
			return true;
	}
	return false;
}

bool bp_services_need_polling(const struct bp_worker *w)
{
	EACH_OF(w, s, state)
	{
		if (s->needs_polling && s->needs_polling(state))
			return true;
	}
	return false;
}

uint64_t bp_services_due(const struct bp_worker *w)
{
	uint64_t next = UINT64_MAX;

	EACH_OF(w, s, state)
	{
		const uint64_t due = s->due ? s->due(state) : UINT64_MAX;

		next = due < next ? due : next;
	}
	return next;
}

uint64_t bp_services_timer(const struct bp_worker *w)
{
	uint64_t next = UINT64_MAX;

	EACH_OF(w, s, state)
	{
		const uint64_t due = s->timer ? s->timer(state) : UINT64_MAX;

		next = due < next ? due : next;
	}
	return next;
}

void bp_services_end(struct bp_worker *w)
{
	EACH_OF(w, s, state)
	{
		if (s->end)
			s->end(state);
	}
}

void bp_services_free(struct bp_worker *w)
{
	EACH_OF(w, s, state)
	s->free(state);
}
