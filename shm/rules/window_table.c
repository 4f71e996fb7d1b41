/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/rules/window_cell.h"
#include "shm/rules/window_parts.h"

/* The table of windows: buckets, their locks, and what a killed process leaves. */

#define TEXT (uint64_t)sizeof(struct bp_watch_topic)
#define LINE 64u
uint64_t bp_window_stride(uint32_t max_values)
{
	const uint64_t panes = BP_WINDOW_PANES * sizeof(struct bp_window_pane);
	const uint64_t values = max_values * (uint64_t)sizeof(double);
	const uint64_t data = values > panes ? values : panes;

	return (sizeof(struct bp_window) + data + TEXT + LINE - 1) / LINE * LINE;
}

uint64_t bp_window_buckets(uint32_t n)
{
	return (2 * (uint64_t)n + BP_WINDOW_WAYS - 1) / BP_WINDOW_WAYS + (n == 0);
}

uint64_t bp_window_data_size(uint64_t stride)
{
	return stride - sizeof(struct bp_window) - TEXT;
}

/* An atomic exchange waits until all earlier stores are made: not where there is one worker. */
static bool lock(const struct bp_window_table *t, struct bp_window_bucket *b, uint16_t worker)
{
	if (t->exclusive)
		return true;
	for (unsigned i = 0; i < BP_WINDOW_TRIES; i++)
		if (bp_window_try_lock(b, worker))
			return true;
	return false;
}

static void unlock(const struct bp_window_table *t, struct bp_window_bucket *b)
{
	if (!t->exclusive)
		bp_window_unlock(b);
}

/* ---- an entry for a pair ---- */

/* Without its values. No undo of an earlier change fits afterwards: `changes` skips more than there
 * are in a journal, last, so that a process that is killed here empties it again. */
#define EMPTIED (1ull << 32)
static void empty(struct bp_window *c)
{
	c->state = (struct bp_window_state){
		.changes = c->state.changes, .pane = c->state.pane + BP_WINDOW_PANES};
	bp_window_order();
	c->state.changes += EMPTIED;
}

/*
 * Number of windows of the client in the buckets from this one on. Keys are spread evenly, so this
 * sample estimates the client's share of the table without a counter.
 */
#define SAMPLE 9u /* buckets */
static bool has_majority(const struct bp_window_table *t, uint64_t bucket, uint32_t client)
{
	const unsigned buckets = t->buckets < SAMPLE ? (unsigned)t->buckets : SAMPLE;
	unsigned n = 0;

	for (unsigned i = 0; i < buckets; i++, bucket = bucket + 1 == t->buckets ? 0 : bucket + 1)
		for (unsigned way = 0; way < BP_WINDOW_WAYS; way++)
			n += atomic_load_explicit(
				     &t->bucket[bucket].key[way], memory_order_relaxed) != 0 &&
			     __atomic_load_n(
				     &bp_window_cell(t, bucket * BP_WINDOW_WAYS + way)->client,
				     __ATOMIC_RELAXED) == client;
	return n > buckets * BP_WINDOW_WAYS / 2;
}

/* The way to use for a new window, or -1. */
static int victim(const struct bp_window_table *t, const struct bp_window_use *u, uint64_t bucket)
{
	uint64_t oldest = 0;
	int best = -1;

	for (int i = 0; i < BP_WINDOW_WAYS; i++) {
		const struct bp_window *c =
			bp_window_cell(t, bucket * BP_WINDOW_WAYS + (unsigned)i);
		const uint64_t age = bp_window_elapsed(c->used_ns, u->now_ns);

		if (atomic_load_explicit(&t->bucket[bucket].key[i], memory_order_relaxed) == 0 ||
			bp_ruleset_window(u->rules, c->uid) == BP_RULE_NONE)
			return i;
		if (best >= 0 && age <= oldest)
			continue;
		if (age < BP_WINDOW_IDLE_NS && c->client != u->client &&
			!has_majority(t, bucket, c->client))
			continue;
		best = i;
		oldest = age;
	}
	return best;
}

static struct bp_watch_topic *text_at(const struct bp_window_table *t, struct bp_window *c)
{
	return (struct bp_watch_topic *)(void *)((uint8_t *)c + t->stride - TEXT);
}

/* The topic and its client, for results without a value. The hash is 0 while they are written. */
static void write_text(
	const struct bp_window_table *t, struct bp_window *c, const struct bp_window_use *u)
{
	const struct bp_window_origin *o = u->origin;
	struct bp_watch_topic *text = text_at(t, c);

	if (o == NULL || (c->topic_hash == u->topic_hash && text->client == u->client &&
				 text->client_port == o->client_port))
		return;
	c->topic_hash = 0;
	bp_window_order();
	memset(text, 0, sizeof(*text));
	if (o->topic_len > BP_WATCH_TOPIC_MAX)
		return;
	text->client = u->client;
	text->topic_len = o->topic_len;
	text->client_port = o->client_port;
	text->ip6 = o->ip6;
	memcpy(text->client_ip, o->client_ip, sizeof(text->client_ip));
	memcpy(text->topic, o->topic, o->topic_len);
	if (o->client_id_len <= BP_WATCH_CLIENT_MAX) {
		text->client_id_len = (uint8_t)o->client_id_len;
		memcpy(text->client_id, o->client_id, o->client_id_len);
	}
	bp_window_order();
	c->topic_hash = u->topic_hash;
}

/*
 * The window before its first value, in a cell that another pair had. The data remain: a client can
 * have chosen them, but not the number of a pane in them that only the secret hash of the topic
 * gives.
 */
static struct bp_window_state taken_over(uint64_t changes, uint64_t key)
{
	return (struct bp_window_state){.changes = changes, .pane = bp_mix64(key ^ changes)};
}

/* Frees the cell, for a window whose first change has no undo of these data. */
static void drop(_Atomic uint64_t *key_at, struct bp_window *c)
{
	atomic_store_explicit(key_at, 0, memory_order_relaxed);
	bp_window_order();
	empty(c);
}

/* Changes cell i, whose key is *key_at. */
static enum bp_window_result change(const struct bp_window_table *t, struct bp_window_use *u,
	_Atomic uint64_t *key_at, uint64_t i, uint64_t key, double value, double *result)
{
	const uint64_t size = bp_window_data_size(t->stride);
	const struct bp_window_spec *w = &u->rule->window;
	struct bp_window *c = bp_window_cell(t, i);
	struct bp_window_state next;
	enum bp_window_result r;
	struct bp_window_change d;
	uint64_t old = atomic_load_explicit(key_at, memory_order_relaxed);

	if (old != key && old != 0 && bp_window_in_classes(w)) {
		drop(key_at, c);
		old = 0;
	}
	next = c->state;
	if (old != key)
		next = taken_over(next.changes, key);
	else if (bp_window_elapsed(next.last_ns, u->now_ns) == UINT64_MAX)
		next = (struct bp_window_state){
			.changes = next.changes, .pane = next.pane + BP_WINDOW_PANES};
	if (w->values != 0)
		bp_window_values_place(w, &next, &d);
	else if (bp_window_in_classes(w))
		u->coarsened =
			bp_window_classes_place(w, c, size, &next, value, u->now_ns, u->worker, &d);
	else
		bp_window_panes_place(w, &next, u->now_ns, &d);
	if (u->undo != NULL)
		bp_window_note_all(u->undo, c, i, old, d.offset, d.len);
	bp_window_begin_change(c, u->worker);
	if (u->undo == NULL)
		c->unlogged = u->unlogged;
	if (old != key) {
		c->uid = u->rule->uid;
		atomic_store_explicit(key_at, key, memory_order_relaxed);
	}
	next.changes++;
	if (w->values != 0) {
		r = bp_window_values_add(w, &next, c->data, value, u->now_ns, result);
		u->inexact = next.outside != 0;
	} else {
		r = bp_window_panes_add(w, &next, c->data, size, &d, value, u->now_ns, result);
	}
	bp_window_store(&c->state, &next);
	if (bp_window_expires(w)) {
		write_text(t, c, u);
		u->not_shown = c->topic_hash == 0;
		u->due_ns = u->not_shown ? 0 : next.pane_ns;
	}
	atomic_store_explicit(&c->due_ns, u->due_ns, memory_order_relaxed);
	__atomic_store_n(&c->used_ns, u->now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->client, u->client, __ATOMIC_RELAXED);
	bp_window_end_change(c);
	return r;
}

enum bp_window_result bp_window_add(
	const struct bp_window_table *t, struct bp_window_use *u, double value, double *result)
{
	const uint64_t key = bp_window_key(u->rule->uid, u->topic_hash);
	const uint64_t at = bp_window_bucket_at(t, key), first = at * BP_WINDOW_WAYS;
	struct bp_window_bucket *b = &t->bucket[at];
	enum bp_window_result r = BP_WINDOW_NOT_STORED;
	int way;

	u->evicted = u->not_shown = u->coarsened = u->inexact = false;
	u->due_ns = 0;
	if (!bp_window_fits(t, &u->rule->window))
		return BP_WINDOW_NOT_STORED;
	if (bp_window_in_classes(&u->rule->window) && bp_window_classes(t->stride) == 0)
		return BP_WINDOW_NOT_STORED;
	if (!lock(t, b, u->worker))
		return BP_WINDOW_BUSY;
	way = bp_window_way(b, key);
	if (way < 0) {
		way = victim(t, u, at);
		u->evicted = way >= 0 && bp_window_key_at(b, (unsigned)way) != 0 &&
			     bp_ruleset_window(u->rules,
				     bp_window_cell(t, first + (unsigned)way)->uid) != BP_RULE_NONE;
	}
	if (way >= 0)
		r = change(t, u, &b->key[way], first + (unsigned)way, key, value, result);
	unlock(t, b);
	return r;
}

/* ---- time passes without a value ---- */

uint64_t bp_window_due(const struct bp_window_table *t, uint64_t cell)
{
	if (atomic_load_explicit(&t->bucket[cell / BP_WINDOW_WAYS].key[cell % BP_WINDOW_WAYS],
		    memory_order_relaxed) == 0)
		return 0;
	return atomic_load_explicit(&bp_window_cell(t, cell)->due_ns, memory_order_relaxed);
}

/* It survives restarts of the process, so it may be damaged. */
static bool is_whole(const struct bp_watch_topic *text)
{
	return text->topic_len != 0 && text->topic_len <= BP_WATCH_TOPIC_MAX &&
	       text->client_id_len <= BP_WATCH_CLIENT_MAX;
}

static bool expire(const struct bp_window_table *t, struct bp_window_use *u, uint64_t key,
	uint64_t i, struct bp_window_expired *out)
{
	struct bp_window *c = bp_window_cell(t, i);
	const uint32_t index = bp_ruleset_window(u->rules, c->uid);
	const struct bp_window_spec *w;
	struct bp_window_state next = c->state;
	enum bp_window_result r;

	if (index == BP_RULE_NONE || c->topic_hash == 0 ||
		key != bp_window_key(c->uid, c->topic_hash)) {
		atomic_store_explicit(&c->due_ns, 0, memory_order_relaxed);
		return false;
	}
	w = &bp_ruleset_rule(u->rules, index)->window;
	if (!bp_window_expires(w)) { /* it may have no time */
		atomic_store_explicit(&c->due_ns, 0, memory_order_relaxed);
		return false;
	}
	out->rule = index;
	out->text = *text_at(t, c);
	if (!is_whole(&out->text)) {
		c->topic_hash = 0; /* the next value writes it */
		atomic_store_explicit(&c->due_ns, 0, memory_order_relaxed);
		return false;
	}
	if (u->undo != NULL)
		bp_window_note_all(u->undo, c, i, key, 0, 0);
	bp_window_begin_change(c, u->worker);
	next.changes++;
	r = bp_window_panes_expire(
		w, &next, c->data, bp_window_data_size(t->stride), u->now_ns, &out->result);
	bp_window_store(&c->state, &next);
	bp_window_end_change(c);
	atomic_store_explicit(
		&c->due_ns, bp_window_panes_due(w, &next, c->data), memory_order_relaxed);
	return r == BP_WINDOW_VALUE;
}

bool bp_window_expire(const struct bp_window_table *t, struct bp_window_use *u, uint64_t cell,
	struct bp_window_expired *out)
{
	struct bp_window_bucket *b = &t->bucket[cell / BP_WINDOW_WAYS];
	uint64_t due;
	bool has = false;

	if (!lock(t, b, u->worker))
		return false;
	due = bp_window_due(t, cell);
	if (due != 0 && due <= u->now_ns)
		has = expire(t, u, bp_window_key_at(b, cell % BP_WINDOW_WAYS), cell, out);
	unlock(t, b);
	return has;
}

/* ---- after a restart ---- */

static void restore(const struct bp_window_table *t, const struct bp_window_undo *u)
{
	struct bp_window *c = bp_window_cell(t, u->cell);
	const bool move = u->form == BP_WINDOW_UNDO_MOVE;

	memcpy((uint8_t *)c->data + u->offset, move ? (const void *)&u->move.value : u->unit,
		u->len);
	if (move) {
		c->state.changes = u->move.changes;
		c->state.last_ns = u->move.last_ns;
		c->state.sum = u->move.sum;
		c->state.result = u->move.result;
		c->state.at = u->offset / (uint32_t)sizeof(u->move.value);
	} else {
		c->state = u->state;
	}
	if (u->form == BP_WINDOW_UNDO_ALL) {
		c->uid = u->old_uid;
		atomic_store_explicit(&c->due_ns, u->old_due_ns, memory_order_relaxed);
		atomic_store_explicit(
			&t->bucket[u->cell / BP_WINDOW_WAYS].key[u->cell % BP_WINDOW_WAYS],
			u->old_key, memory_order_relaxed);
	}
	bp_window_end_change(c);
}

bool bp_window_undo(
	const struct bp_window_table *t, const struct bp_window_undo *u, uint16_t worker)
{
	const uint64_t data = t->stride - sizeof(struct bp_window), changes = u->state.changes + 1;
	const uint64_t unit =
		u->form == BP_WINDOW_UNDO_MOVE ? sizeof(u->move.value) : BP_WINDOW_UNIT;
	struct bp_window *c;

	if (u->cell >= t->buckets * BP_WINDOW_WAYS || u->len > unit || u->len > data ||
		u->offset > data - u->len)
		return true;
	c = bp_window_cell(t, u->cell);
	if (c->changing == worker + 1u || (c->changing == 0 && c->state.changes == changes)) {
		bp_window_begin_change(c, worker);
		restore(t, u);
		return true;
	}
	if (c->changing == 0 && c->state.changes == u->state.changes)
		return true; /* it was not made, or is undone */
	if (c->changing == 0 && (int64_t)(c->state.changes - changes) > (int64_t)EMPTIED / 2)
		return true; /* it was emptied since */
	empty(c);
	bp_window_end_change(c);
	return false;
}

uint64_t bp_window_empty_unlogged(const struct bp_window_table *t, uint64_t unlogged)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < t->buckets * BP_WINDOW_WAYS; i++) {
		struct bp_window *c = bp_window_cell(t, i);

		if (c->unlogged != unlogged)
			continue;
		empty(c);
		c->unlogged = 0;
		n++;
	}
	return n;
}

/* Whether the number, worker + 1, is of a process that was killed. */
static bool is_left(uint64_t owner, uint16_t worker, uint16_t workers)
{
	return owner == worker + 1u || owner > workers;
}

/* A worker without others has no lock while it changes a cell. */
uint64_t bp_window_recover(const struct bp_window_table *t, uint16_t worker, uint16_t workers)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < t->buckets; i++) {
		struct bp_window_bucket *b = &t->bucket[i];
		const uint64_t seen = atomic_load_explicit(&b->lock, memory_order_relaxed);

		for (unsigned way = 0; way < BP_WINDOW_WAYS; way++) {
			struct bp_window *c = bp_window_cell(t, i * BP_WINDOW_WAYS + way);

			if (bp_window_key_at(b, way) == 0 ||
				!is_left(__atomic_load_n(&c->changing, __ATOMIC_RELAXED) &
						 BP_WINDOW_OWNER,
					worker, workers))
				continue;
			empty(c);
			bp_window_end_change(c);
			n++;
		}
		if (is_left(seen & BP_WINDOW_OWNER, worker, workers))
			atomic_store_explicit(
				&b->lock, (seen | BP_WINDOW_OWNER) + 1, memory_order_release);
	}
	return n;
}

/* ---- other processes ---- */

#define READS 64u /* of a window that changes */

static void copy_words(void *to, const void *from, size_t n)
{
	uint64_t *w = to;

	for (size_t i = 0; i < n / sizeof(*w); i++)
		w[i] = __atomic_load_n((const uint64_t *)from + i, __ATOMIC_RELAXED);
}

static uint32_t values_in(const struct bp_window_spec *w, const struct bp_window_state *s,
	const struct bp_window *c, uint64_t size)
{
	if (w->values != 0)
		return s->n;
	return bp_window_in_classes(w) ? bp_window_classes_count(w, s->pane, c->data, size)
				       : bp_window_panes_count(w, s, c->data);
}

bool bp_window_find(const struct bp_window_table *t, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_window_view *v)
{
	const uint64_t key = bp_window_key(rule->uid, topic_hash);
	const uint64_t at = bp_window_bucket_at(t, key);
	struct bp_window_bucket *b = &t->bucket[at];

	for (unsigned i = 0; rule->windowed && i < READS; i++) {
		const int way = bp_window_way(b, key);
		const struct bp_window *c;
		uint64_t changes;

		if (way < 0)
			return false;
		c = bp_window_cell(t, at * BP_WINDOW_WAYS + (unsigned)way);
		changes = __atomic_load_n(&c->state.changes, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&c->changing, __ATOMIC_ACQUIRE) != 0)
			continue;
		copy_words(&v->state, &c->state, sizeof(v->state));
		v->n = values_in(&rule->window, &v->state, c, bp_window_data_size(t->stride));
		v->used_ns = __atomic_load_n(&c->used_ns, __ATOMIC_RELAXED);
		atomic_thread_fence(memory_order_acquire);
		if (__atomic_load_n(&c->state.changes, __ATOMIC_RELAXED) == changes &&
			__atomic_load_n(&c->changing, __ATOMIC_RELAXED) == 0 &&
			bp_window_key_at(b, (unsigned)way) == key)
			return true;
	}
	return false;
}
