/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/flow_unread.h"

#include <string.h>

#include "services/mqtt/flow.h"

#define TICK_NS (1u << 20)

/* 0 where the worker is ahead of `now`. */
static uint64_t ns_since(const uint32_t *ticks, uint32_t now)
{
	const int32_t ago = (int32_t)(now - __atomic_load_n(ticks, __ATOMIC_RELAXED));

	return ago <= 0 ? 0 : (uint64_t)ago * TICK_NS;
}

static void count(struct bp_unread *turn, const struct bp_flow *f, uint32_t now, uint64_t limit_ns)
{
	uint64_t unread_ns;

	if (!(__atomic_load_n(&f->proof, __ATOMIC_RELAXED) & BP_FLOW_UNREAD))
		return;
	unread_ns = ns_since(&f->unread_since, now);
	if (unread_ns < limit_ns)
		return;
	/* an unused connection is no fault; segments that do not fit are not stamped */
	if (ns_since(&f->seen, now) >= limit_ns &&
		!(__atomic_load_n(&f->marks, __ATOMIC_RELAXED) & BP_MARK_UNFIT))
		return;
	turn->connections++;
	if (unread_ns > turn->longest_ns)
		turn->longest_ns = unread_ns;
}

void bp_unread_scan(struct bp_unread_scan *s, const void *table, uint64_t len, uint64_t mono_ns,
	uint64_t limit_ns, uint32_t budget)
{
	const struct bp_flow_header *h = table;
	const struct bp_flow *flows;
	uint64_t n;

	if (len < sizeof(*h) || __atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != BP_FLOW_MAGIC)
		return;
	n = (uint64_t)h->groups * BP_FLOW_WAYS;
	if (h->flows_offset > len || n > (len - h->flows_offset) / sizeof(*flows))
		return;
	flows = (const void *)((const uint8_t *)table + h->flows_offset);
	for (; budget != 0 && s->at < n; budget--, s->at++)
		count(&s->turn, &flows[s->at], bp_ticks(mono_ns), limit_ns);
	if (s->at < n)
		return;
	s->last = s->turn;
	s->at = 0;
	memset(&s->turn, 0, sizeof(s->turn));
}
