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
	_Atomic uint64_t *key_at; /* in its bucket */
	struct bp_window *cell;
	uint32_t index;  /* of the cell; before that is known, of the bucket */
	uint32_t client; /* as in struct bp_window_use */
};

typedef uint64_t bp_window_two_keys __attribute__((vector_size(16), may_alias));

/* bp_window_way() where no other worker changes the bucket. There the compiler may make branches of
 * the comparisons, which are often mispredicted. */
static inline int bp_window_way_exclusive(const struct bp_window_bucket *b, uint64_t key)
{
	const bp_window_two_keys *two = (const bp_window_two_keys *)(const void *)b;
	const bp_window_two_keys wanted = {key, key};
	bp_window_two_keys found = {0, 0};

	_Static_assert(sizeof(*b) == 64 && offsetof(struct bp_window_bucket, key) == 8,
		"the lock, then seven keys");
#pragma GCC unroll 4
	for (uint64_t i = 0; i < 4; i++)
		found |= (bp_window_two_keys)(two[i] == wanted) &
			 (bp_window_two_keys){2 * i, 2 * i + 1};
	return (int)(found[0] | found[1]) - 1;
}

/* `mixed`: as bp_window_key_mixed() has it. */
static inline void bp_window_place_key(const struct bp_window_table *t, struct bp_window_place *p,
	uint64_t mixed, uint64_t topic_hash, uint32_t client)
{
	p->key = bp_window_key_mixed(mixed, topic_hash);
	p->client = client;
	p->index = (uint32_t)bp_window_bucket_at(t, p->key);
	p->key_at = t->bucket[p->index].key;
	__builtin_prefetch(p->key_at);
}

static inline struct bp_window_bucket *bp_window_bucket_of_keys(_Atomic uint64_t *key)
{
	return (struct bp_window_bucket *)(void *)((uint8_t *)key -
						   offsetof(struct bp_window_bucket, key));
}

static inline struct bp_window_bucket *bp_window_place_bucket(
	const struct bp_window_table *t, const struct bp_window_place *p)
{
	return &t->bucket[p->index / BP_WINDOW_WAYS];
}

/* False: the pair has no window. */
static inline bool bp_window_place_cell(const struct bp_window_table *t, struct bp_window_place *p)
{
	struct bp_window_bucket *b = bp_window_bucket_of_keys(p->key_at);
	const int way =
		t->exclusive ? bp_window_way_exclusive(b, p->key) : bp_window_way(b, p->key);
	uint8_t *cell;

	if (way < 0)
		return false;
	p->key_at += (unsigned)way;
	p->index = p->index * BP_WINDOW_WAYS + (unsigned)way;
	p->cell = bp_window_cell(t, p->index);
	cell = (uint8_t *)p->cell;
#pragma GCC unroll 4
	for (unsigned line = 0; line < 4; line++) /* the cell, and 16 of its values */
		__builtin_prefetch(cell + line * 64, 1);
	return true;
}

/* The constants of bp_window_place_move() for the values of one rule in a burst. */
struct bp_window_moving {
	double divisor; /* of the sum */
	double factor;  /* its reciprocal if that is exact, so that there is no division; else 0 */
	uint64_t now_ns;
	uint32_t values; /* 0: the window has another function */
	uint32_t worker;
};

static inline struct bp_window_moving bp_window_moving(
	const struct bp_window_spec *w, uint16_t worker, uint64_t now_ns)
{
	const uint32_t n = w->function == BP_WINDOW_MEAN ? w->values : 1;

	return (struct bp_window_moving){.divisor = n,
		.factor = n != 0 && (n & (n - 1)) == 0 ? bp_window_ratio(1, n) : 0,
		.values = bp_window_is_summed(w) && !w->tumbling ? w->values : 0,
		.worker = worker,
		.now_ns = now_ns};
}

/* Whether the window has a result, and all values are in its sum. */
static inline bool bp_window_is_moving(
	const struct bp_window_state *s, const struct bp_window_moving *m)
{
	static const struct {
		uint32_t outside;
		uint16_t full, has_result;
	} asked = {.full = 1, .has_result = 1};

	_Static_assert(offsetof(struct bp_window_state, has_result) + sizeof(s->has_result) ==
			       offsetof(struct bp_window_state, outside) + sizeof(asked),
		"one comparison");
	return s->n == m->values && s->at < m->values && s->last_ns <= m->now_ns &&
	       memcmp(&s->outside, &asked, sizeof(asked)) == 0;
}

/*
 * bp_window_place_add() in a full window whose sum is exact, as most are, with few instructions:
 * the value replaces the oldest one. False: nothing was changed, and bp_window_place_add() has to
 * do it. `undo`: the records for the changes of the burst; *noted: those that are used.
 */
static inline __attribute__((always_inline)) bool bp_window_place_move(
	const struct bp_window_table *t, const struct bp_window_place *p,
	const struct bp_window_moving *m, struct bp_window_undo *undo, uint64_t *noted,
	double value, double *result)
{
	struct bp_window_bucket *b = t->exclusive ? NULL : bp_window_place_bucket(t, p);
	struct bp_window *c = p->cell;
	struct bp_window_state *s = &c->state;
	struct bp_exact_sum sum;
	double *slot, old, outcome;
	uint32_t at, next;

	if (b != NULL && !bp_window_try_lock(b, m->worker))
		return false;
	at = s->at;
	next = at + 1 == m->values ? 0 : at + 1;
	slot = (double *)(void *)c->data + at;
	if (__builtin_expect(atomic_load_explicit(p->key_at, memory_order_relaxed) != p->key ||
				     !bp_window_is_moving(s, m) ||
				     bp_window_is_summed_again(next, s->changes + 1, m->values),
		    0)) {
		if (b != NULL)
			bp_window_unlock(b);
		return false;
	}
	/* it counts only after *noted is increased */
	old = *slot;
	bp_window_note_move(&undo[*noted], s, p->index, at, old);
	if (__builtin_expect(!bp_exact_replace(s->sum, old, value, &sum), 0)) {
		if (b != NULL)
			bp_window_unlock(b);
		return false;
	}
	++*noted;
	bp_window_order();
	bp_window_begin_change(c, m->worker);
	*slot = value;
	__atomic_store_n(&s->changes, s->changes + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->last_ns, m->now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&s->at, next, __ATOMIC_RELAXED);
	__atomic_store_n(&c->used_ns, m->now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->client, p->client, __ATOMIC_RELAXED);
	__atomic_store_n(&s->sum.low, sum.low, __ATOMIC_RELAXED);
	__atomic_store_n(&s->sum.high, sum.high, __ATOMIC_RELAXED);
	outcome = bp_exact_double(sum);
	outcome = __builtin_expect(m->factor != 0, 1) ? outcome * m->factor : outcome / m->divisor;
	__atomic_store(&s->result, &outcome, __ATOMIC_RELAXED);
	bp_window_end_change(c);
	if (b != NULL)
		bp_window_unlock(b);
	*result = outcome;
	return true;
}

/* BP_WINDOW_BUSY: nothing was changed; bp_window_add() has to do it. */
static inline enum bp_window_result bp_window_place_add(const struct bp_window_table *t,
	const struct bp_window_place *p, const struct bp_window_use *u, double value,
	double *result)
{
	const struct bp_window_spec *w = &u->rule->window;
	struct bp_window_bucket *b = t->exclusive ? NULL : bp_window_place_bucket(t, p);
	struct bp_window *c = p->cell;
	struct bp_window_state next;
	struct bp_window_change d;
	enum bp_window_result r;

	if (b != NULL && !bp_window_try_lock(b, u->worker))
		return BP_WINDOW_BUSY;
	next = c->state;
	if (atomic_load_explicit(p->key_at, memory_order_relaxed) != p->key ||
		(next.outside != 0 && w->values > BP_WINDOW_FEW) ||
		bp_window_elapsed(next.last_ns, u->now_ns) == UINT64_MAX) {
		if (b != NULL)
			bp_window_unlock(b);
		return BP_WINDOW_BUSY;
	}
	bp_window_ring_place(w, &next, &d);
	bp_window_note(u->undo, c, p->index, d.offset, d.len);
	bp_window_begin_change(c, u->worker);
	next.changes++;
	r = bp_window_ring_add(w, &next, c->data, value, u->now_ns, result);
	bp_window_store(&c->state, &next);
	__atomic_store_n(&c->used_ns, u->now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->client, u->client, __ATOMIC_RELAXED);
	bp_window_end_change(c);
	if (b != NULL)
		bp_window_unlock(b);
	return r;
}

#endif
