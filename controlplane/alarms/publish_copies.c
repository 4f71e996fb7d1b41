/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of alarms at other gateways: what their keeper asks of the publisher. */
#include <stdatomic.h>
#include <string.h>

#include "controlplane/alarms/publisher_internal.h"
#include "controlplane/process/clock.h"

void bp_publisher_set_keeper(struct bp_publisher *p, const struct bp_alarm_keeper *keeper)
{
	for (; p != NULL; p = p->next) {
		p->keeper = keeper;
		if (keeper != NULL)
			bp_publish_show_rows(p);
	}
}

bool bp_publisher_adopt(struct bp_publisher *p, unsigned n, struct bp_adopted *alarms)
{
	const uint64_t now = bp_mono_ns();
	bool done = true;

	for (unsigned i = 0; i < n; i++) {
		if (!alarms[i].numbered)
			alarms[i].alarm->id = atomic_fetch_add_explicit(
				&p->shm->shared->next_alarm_id, 1, memory_order_relaxed);
		alarms[i].numbered = true;
	}
	for (; p != NULL; p = p->next)
		if (p->limits.enabled)
			done &= bp_publish_adopt(p, n, alarms, now);
	return done;
}

bool bp_publisher_can_adopt(const struct bp_publisher *p)
{
	bool any = false;

	for (; p != NULL; p = p->next) {
		if (p->limits.enabled && (p->spool_broken || p->unreadable_ns != 0))
			return false;
		any |= p->limits.enabled;
	}
	return any;
}

static uint64_t oldest_of(const struct bp_publisher *p)
{
	uint64_t oldest = bp_spool_oldest(p->spool), id;

	if (p->spool_broken || p->unreadable_ns != 0 ||
		(p->limits.enabled && !bp_spool_is_open(p->spool)))
		return 0;
	for (unsigned i = 0; i < p->lanes; i++)
		if ((id = bp_lane_oldest_after(&p->lane[i], UINT64_MAX)) < oldest)
			oldest = id;
	return oldest;
}

void bp_publisher_bounds(
	const struct bp_publisher *p, struct bp_publisher_bounds out[BP_DESTINATIONS])
{
	for (unsigned i = 0; i < BP_DESTINATIONS; i++)
		out[i] = (struct bp_publisher_bounds){UINT64_MAX, UINT64_MAX};
	for (; p != NULL; p = p->next)
		out[p->to->id] = (struct bp_publisher_bounds){.oldest = oldest_of(p),
			.dropped = p->limits.enabled ? bp_spool_dropped(p->spool) : UINT64_MAX};
}

struct row_copy {
	uint64_t id;
	struct bp_alarm *out;
	size_t size, len;
};

static bool copy_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct row_copy *c = arg;

	if (id == c->id && a != NULL) {
		c->len = bp_alarm_size(a);
		if (c->len <= c->size)
			memcpy(c->out, a, c->len);
	}
	return false;
}

size_t bp_publisher_row(struct bp_publisher *p, uint64_t id, struct bp_alarm *out, size_t size)
{
	struct row_copy c = {.id = id, .out = out, .size = size};
	bool end;

	for (; p != NULL && c.len == 0; p = p->next)
		if (!p->spool_broken && bp_spool_oldest(p->spool) <= id &&
			!bp_spool_read(p->spool, id, copy_row, &c, &end))
			bp_publish_unreadable(p, bp_mono_ns());
	return c.len;
}
