/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_WINDOW_CELL_H
#define BP_SHM_RULES_WINDOW_CELL_H

#include <string.h>

#include "shm/hash.h"
#include "shm/rules/window.h"

/* Buckets and cells of windows, for what changes them. */

#define BP_WINDOW_OWNER 0xffffull
/* Workers read the clock once per walk, so one may be slightly behind another. A larger difference
 * means another boot of the machine. */
#define BP_WINDOW_SLACK_NS 1000000000ull

/* The compiler moves no store across: a killed process has made all stores before it. */
static inline void bp_window_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* ---- where the window of a pair is ---- */

static inline struct bp_window *bp_window_cell(const struct bp_window_table *t, uint64_t i)
{
	return (struct bp_window *)(void *)(t->cells + i * t->stride);
}

/* The hash of the topic is keyed: a client cannot choose topics whose pairs collide. `mixed`:
 * bp_mix64() of the rule's uid. */
static inline uint64_t bp_window_key_mixed(uint64_t mixed, uint64_t topic_hash)
{
	const uint64_t key = bp_fold(topic_hash ^ mixed, 0x9e3779b97f4a7c15ull);

	return key ? key : 1;
}

static inline uint64_t bp_window_key(uint64_t uid, uint64_t topic_hash)
{
	return bp_window_key_mixed(bp_mix64(uid), topic_hash);
}

static inline uint64_t bp_window_bucket_at(const struct bp_window_table *t, uint64_t key)
{
	return (uint64_t)((unsigned __int128)key * t->buckets >> 64);
}

static inline uint64_t bp_window_key_at(const struct bp_window_bucket *b, unsigned way)
{
	return atomic_load_explicit(&b->key[way], memory_order_relaxed);
}

/* The way of a key in its bucket, or -1: without a branch for each. */
static inline int bp_window_way(const struct bp_window_bucket *b, uint64_t key)
{
	int way = -1;

#pragma GCC unroll 7
	for (int i = 0; i < BP_WINDOW_WAYS; i++)
		way = bp_window_key_at(b, (unsigned)i) == key ? i : way;
	return way;
}

/* Time from `then` to `now`; UINT64_MAX if `then` cannot be of this clock. */
static inline uint64_t bp_window_elapsed(uint64_t then, uint64_t now)
{
	if (then <= now)
		return now - then;
	return then - now <= BP_WINDOW_SLACK_NS ? 0 : UINT64_MAX;
}

/* ---- the lock of a bucket ---- */

/* Not for a table with one worker. */
static inline bool bp_window_try_lock(struct bp_window_bucket *b, uint16_t worker)
{
	uint64_t seen = atomic_load_explicit(&b->lock, memory_order_relaxed);

	return (seen & BP_WINDOW_OWNER) == 0 &&
	       atomic_compare_exchange_weak_explicit(&b->lock, &seen, seen | (uint64_t)(worker + 1),
		       memory_order_acquire, memory_order_relaxed);
}

static inline void bp_window_unlock(struct bp_window_bucket *b)
{
	atomic_store_explicit(&b->lock,
		(atomic_load_explicit(&b->lock, memory_order_relaxed) | BP_WINDOW_OWNER) + 1,
		memory_order_release);
}

/* ---- a change of a cell ---- */

/* The record that is filled counts from here on. */
static inline void bp_window_note_is_of(struct bp_window_undo *undo, uint64_t i)
{
	bp_window_order();
	undo->cell = i;
	bp_window_order();
}

/* Describes the change of n bytes at `offset` of the data of cell i. Behind the data is the text of
 * the topic: more may be copied, so that the number is a constant. */
static inline void bp_window_note(struct bp_window_undo *undo, const struct bp_window *c,
	uint64_t i, uint32_t offset, uint32_t n)
{
	undo->offset = offset;
	undo->len = (uint16_t)n;
	undo->form = BP_WINDOW_UNDO_STATE;
	undo->state = c->state;
	if (n <= 16)
		memcpy(undo->unit, (const uint8_t *)c->data + offset, 16);
	else
		memcpy(undo->unit, (const uint8_t *)c->data + offset, BP_WINDOW_UNIT);
	bp_window_note_is_of(undo, i);
}

/* The same before the cell, whose key is `key`, may get another one. */
static inline void bp_window_note_all(struct bp_window_undo *undo, const struct bp_window *c,
	uint64_t i, uint64_t key, uint32_t offset, uint32_t n)
{
	bp_window_note(undo, c, UINT64_MAX, offset, n);
	undo->form = BP_WINDOW_UNDO_ALL;
	undo->old_key = key;
	undo->old_uid = c->uid;
	undo->old_due_ns = atomic_load_explicit(&c->due_ns, memory_order_relaxed);
	bp_window_note_is_of(undo, i);
}

/* Describes that slot `at` of the values, which has `value`, is replaced. */
static inline void bp_window_note_move(struct bp_window_undo *undo, const struct bp_window_state *s,
	uint64_t i, uint32_t at, double value)
{
	undo->offset = at * (uint32_t)sizeof(value);
	undo->len = sizeof(value);
	undo->form = BP_WINDOW_UNDO_MOVE;
	undo->move.changes = s->changes;
	undo->move.last_ns = s->last_ns;
	undo->move.sum.low = s->sum.low;
	undo->move.sum.high = s->sum.high;
	undo->move.result = s->result;
	undo->move.value = value;
	bp_window_note_is_of(undo, i);
}

#define BP_WINDOW_STORE(field) __atomic_store_n(&to->field, from->field, __ATOMIC_RELAXED)
/* For readers of other processes, which discard what changes meanwhile. Field by field: a word that
 * was just written in parts cannot be loaded without a delay. */
static inline void bp_window_store(struct bp_window_state *to, const struct bp_window_state *from)
{
	double result = from->result;

	BP_WINDOW_STORE(changes);
	BP_WINDOW_STORE(last_ns);
	BP_WINDOW_STORE(pane);
	BP_WINDOW_STORE(pane_ns);
	BP_WINDOW_STORE(begin_ns);
	__atomic_store(&to->result, &result, __ATOMIC_RELAXED);
	BP_WINDOW_STORE(n);
	BP_WINDOW_STORE(at);
	BP_WINDOW_STORE(outside);
	BP_WINDOW_STORE(full);
	BP_WINDOW_STORE(has_result);
}
#undef BP_WINDOW_STORE

static inline void bp_window_begin_change(struct bp_window *c, uint16_t worker)
{
	__atomic_store_n(&c->changing, worker + 1u, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_release);
}

static inline void bp_window_end_change(struct bp_window *c)
{
	__atomic_store_n(&c->changing, 0, __ATOMIC_RELEASE);
}

#endif
