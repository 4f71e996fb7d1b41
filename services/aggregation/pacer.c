/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/pacer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int bp_pacer_init(struct bp_pacer *p, uint32_t size, uint64_t gap_ns, struct bp_disagg_stats *stats)
{
	uint32_t slots = 1;

	memset(p, 0, sizeof(*p));
	if (size == 0 || size > 1u << 31)
		return -EINVAL;
	while (slots < size)
		slots *= 2;
	p->slot = calloc(slots, sizeof(*p->slot));
	if (p->slot == NULL)
		return -ENOMEM;
	p->size = size;
	p->mask = slots - 1;
	p->gap_ns = gap_ns;
	p->stats = stats;
	return 0;
}

void bp_pacer_free(struct bp_pacer *p)
{
	free(p->slot);
	memset(p, 0, sizeof(*p));
}

static void update_waiting(const struct bp_pacer *p)
{
	atomic_store_explicit(&p->stats->waiting, p->n, memory_order_relaxed);
}

/* Sends the oldest message; at least one exists. */
static void *release(struct bp_pacer *p, uint64_t now_ns)
{
	const struct bp_pacer_slot *s = &p->slot[p->head & p->mask];
	const uint64_t waited = now_ns - s->since_ns;
	void *frame = s->frame;

	p->head++;
	p->n--;
	p->free_ns = now_ns + p->gap_ns;
	bp_agg_stat_add(&p->stats->paced, 1);
	bp_agg_stat_add(&p->stats->pace_ns, waited);
	bp_agg_stat_add(&p->stats->pace[bp_agg_delay_bucket(waited)], 1);
	return frame;
}

void *bp_pacer_put(struct bp_pacer *p, void *frame, uint64_t now_ns)
{
	void *leaves = NULL;
	struct bp_pacer_slot *s;

	if (p->n == 0 && now_ns >= p->free_ns) {
		p->free_ns = now_ns + p->gap_ns;
		return frame;
	}
	if (p->n == p->size) {
		bp_agg_stat_add(&p->stats->early, 1);
		leaves = release(p, now_ns);
	}
	s = &p->slot[(p->head + p->n) & p->mask];
	s->frame = frame;
	s->since_ns = now_ns;
	p->n++;
	update_waiting(p);
	return leaves;
}

void *bp_pacer_due(struct bp_pacer *p, uint64_t now_ns)
{
	void *frame;

	if (p->n == 0 || now_ns < p->free_ns)
		return NULL;
	frame = release(p, now_ns);
	update_waiting(p);
	return frame;
}

void *bp_pacer_take(struct bp_pacer *p, uint64_t now_ns)
{
	void *frame;

	if (p->n == 0)
		return NULL;
	frame = release(p, now_ns);
	update_waiting(p);
	return frame;
}
