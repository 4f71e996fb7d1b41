/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_WINDOW_PLACE_H
#define BP_SHM_RULES_WINDOW_PLACE_H

#include "shm/rules/window_cell.h"
#include "shm/rules/window_ring.h"

/*
 * bp_window_add() in steps, for pairs that have a window already and bp_window_is_fast(): the
 * memory that each step needs is prefetched while those of other values are made.
 */
struct bp_window_place {
	uint64_t key;
	struct bp_window *cell;
	uint32_t bucket, way;
};

static inline void bp_window_place_key(const struct bp_window_table *t, struct bp_window_place *p,
	const struct bp_rule *rule, uint64_t topic_hash)
{
	p->key = bp_window_key(rule->uid, topic_hash);
	p->bucket = (uint32_t)bp_window_bucket_at(t, p->key);
	__builtin_prefetch(&t->bucket[p->bucket]);
}

static inline uint64_t bp_window_place_index(const struct bp_window_place *p)
{
	return (uint64_t)p->bucket * BP_WINDOW_WAYS + p->way;
}

/* False: the pair has no window. */
static inline bool bp_window_place_cell(
	const struct bp_window_table *t, struct bp_window_place *p, const struct bp_rule *rule)
{
	const int way = bp_window_way(&t->bucket[p->bucket], p->key);

	if (way < 0)
		return false;
	p->way = (uint32_t)way;
	p->cell = bp_window_cell(t, bp_window_place_index(p));
	__builtin_prefetch(p->cell, 1);
	__builtin_prefetch((uint8_t *)p->cell + 64, 1);
	__builtin_prefetch((uint8_t *)p->cell + 128, 1);
	__builtin_prefetch((uint8_t *)p->cell + 128 + (rule->window.values > 8 ? 64 : 0), 1);
	return true;
}

/* BP_WINDOW_BUSY: nothing was changed; bp_window_add() has to do it. */
static inline enum bp_window_result bp_window_place_add(const struct bp_window_table *t,
	const struct bp_window_place *p, const struct bp_window_use *u, double value,
	double *result)
{
	const struct bp_window_spec *w = &u->rule->window;
	struct bp_window_bucket *b = &t->bucket[p->bucket];
	struct bp_window *c = p->cell;
	struct bp_window_state next;
	struct bp_window_change d;
	enum bp_window_result r;

	if (!bp_window_try_lock(t, b, u->worker))
		return BP_WINDOW_BUSY;
	next = c->state;
	if (bp_window_key_at(b, p->way) != p->key ||
		(next.outside != 0 && w->values > BP_WINDOW_FEW) ||
		bp_window_elapsed(next.last_ns, u->now_ns) == UINT64_MAX) {
		bp_window_unlock(t, b);
		return BP_WINDOW_BUSY;
	}
	bp_window_ring_place(w, &next, &d);
	bp_window_note(u->undo, c, bp_window_place_index(p), p->key, d.offset, d.len);
	bp_window_begin_change(c, u->worker);
	next.changes++;
	r = bp_window_ring_add(w, &next, c->data, value, u->now_ns, result);
	bp_window_store(&c->state, &next);
	__atomic_store_n(&c->used_ns, u->now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->client, u->client, __ATOMIC_RELAXED);
	bp_window_end_change(c);
	bp_window_unlock(t, b);
	return r;
}

#endif
