/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/window.h"
#include "shm/rules/window_parts.h"

/* The table of windows: buckets, their locks, and what a killed process leaves. */

#define OWNER 0xffffull
#define LOCK_CHANGE (OWNER + 1)
#define TEXT (uint64_t)sizeof(struct bp_watch_topic)
#define LINE 64u
/* Workers read the clock once per walk, so one may be slightly behind another. A larger difference
 * means another boot of the machine. */
#define CLOCK_SLACK_NS 1000000000ull

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

uint32_t bp_window_capacity(uint64_t stride, enum bp_window_function f)
{
	const uint64_t data = stride - sizeof(struct bp_window) - TEXT;
	const uint64_t n =
		data / (f == BP_WINDOW_RATE ? sizeof(struct bp_window_timed) : sizeof(double));

	return n < BP_WINDOW_VALUES_MAX ? (uint32_t)n : BP_WINDOW_VALUES_MAX;
}

/* The compiler moves no store across: a killed process has made all stores before it. */
static void order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static struct bp_window *cell_at(const struct bp_window_table *t, uint64_t i)
{
	return (struct bp_window *)(void *)(t->cells + i * t->stride);
}

static uint64_t pair_key(uint64_t uid, uint64_t topic_hash)
{
	const uint64_t key = bp_mix64(uid + bp_mix64(topic_hash));

	return key ? key : 1;
}

static uint64_t bucket_of(const struct bp_window_table *t, uint64_t key)
{
	return (uint64_t)((unsigned __int128)key * t->buckets >> 64);
}

/* For readers of other processes, which discard what changes meanwhile. */
static void store_words(void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n / sizeof(uint64_t); i++)
		__atomic_store_n((uint64_t *)to + i, ((const uint64_t *)from)[i], __ATOMIC_RELAXED);
}

/* ---- the lock of a bucket ---- */

static bool lock(struct bp_window_bucket *b, uint16_t worker)
{
	for (unsigned i = 0; i < BP_WINDOW_TRIES; i++) {
		uint64_t seen = atomic_load_explicit(&b->lock, memory_order_relaxed);

		if ((seen & OWNER) == 0 && atomic_compare_exchange_weak_explicit(&b->lock, &seen,
						   seen | (uint64_t)(worker + 1),
						   memory_order_acquire, memory_order_relaxed))
			return true;
	}
	return false;
}

static void unlock(struct bp_window_bucket *b)
{
	const uint64_t seen = atomic_load_explicit(&b->lock, memory_order_relaxed);

	atomic_store_explicit(&b->lock, (seen & ~OWNER) + LOCK_CHANGE, memory_order_release);
}

/* ---- an entry for a pair ---- */

/* Time from `then` to `now`; UINT64_MAX if `then` cannot be of this clock. */
static uint64_t elapsed(uint64_t then, uint64_t now)
{
	if (then <= now)
		return now - then;
	return then - now <= CLOCK_SLACK_NS ? 0 : UINT64_MAX;
}

/* Without its values. No undo of an earlier change fits afterwards: `changes` skips more than there
 * are in a journal, last, so that a process that is killed here empties it again. */
#define EMPTIED (1ull << 32)
static void empty(struct bp_window *c)
{
	c->state = (struct bp_window_state){
		.changes = c->state.changes, .pane = c->state.pane + BP_WINDOW_PANES};
	order();
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
			     __atomic_load_n(&cell_at(t, bucket * BP_WINDOW_WAYS + way)->client,
				     __ATOMIC_RELAXED) == client;
	return n > buckets * BP_WINDOW_WAYS / 2;
}

/* The way to use for a new window, or -1. */
static int victim(const struct bp_window_table *t, const struct bp_window_use *u, uint64_t bucket)
{
	uint64_t oldest = 0;
	int best = -1;

	for (int i = 0; i < BP_WINDOW_WAYS; i++) {
		const struct bp_window *c = cell_at(t, bucket * BP_WINDOW_WAYS + (unsigned)i);
		const uint64_t age = elapsed(c->used_ns, u->now_ns);

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

static void note_undo(const struct bp_window_table *t, const struct bp_window_use *u,
	const struct bp_window *c, uint64_t key, uint32_t offset, uint32_t len)
{
	struct bp_window_undo *undo = u->undo;

	if (undo == NULL)
		return;
	undo->changes = c->state.changes + 1;
	undo->old_key = key;
	undo->old_uid = c->uid;
	undo->offset = offset;
	undo->len = len;
	undo->state = c->state;
	memcpy(undo->unit, (const uint8_t *)c->data + offset, len);
	order();
	undo->cell = (uint64_t)((const uint8_t *)c - t->cells) / t->stride;
	order();
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
	order();
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
	order();
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

/* Changes the cell of this way, whose key is `old`. */
static enum bp_window_result change(const struct bp_window_table *t, struct bp_window_use *u,
	_Atomic uint64_t *key_at, struct bp_window *c, uint64_t key, double value, double *result)
{
	const uint64_t old = atomic_load_explicit(key_at, memory_order_relaxed);
	const struct bp_window_spec *w = &u->rule->window;
	struct bp_window_state next = c->state;
	enum bp_window_result r;
	struct bp_window_change d;

	if (old != key)
		next = taken_over(next.changes, key);
	else if (elapsed(next.last_ns, u->now_ns) == UINT64_MAX)
		next = (struct bp_window_state){
			.changes = next.changes, .pane = next.pane + BP_WINDOW_PANES};
	if (w->values != 0)
		bp_window_values_place(w, &next, &d);
	else
		bp_window_panes_place(w, &next, u->now_ns, &d);
	note_undo(t, u, c, old, d.offset, d.len);
	c->changing = u->worker + 1u;
	order();
	if (u->undo == NULL)
		c->unlogged = u->unlogged;
	if (old != key) {
		c->uid = u->rule->uid;
		atomic_store_explicit(key_at, key, memory_order_relaxed);
	}
	next.changes++;
	if (w->values != 0)
		r = bp_window_values_add(w, &next, c->data, value, u->now_ns, result);
	else
		r = bp_window_panes_add(w, &next, c->data, value, u->now_ns, result);
	store_words(&c->state, &next, sizeof(next));
	if (bp_window_expires(w)) {
		write_text(t, c, u);
		u->not_shown = c->topic_hash == 0;
		u->due_ns = u->not_shown ? 0 : next.pane_ns;
	}
	atomic_store_explicit(&c->due_ns, u->due_ns, memory_order_relaxed);
	__atomic_store_n(&c->used_ns, u->now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->client, u->client, __ATOMIC_RELAXED);
	order();
	c->changing = 0;
	return r;
}

static int way_of(const struct bp_window_bucket *b, uint64_t key)
{
	for (int i = 0; i < BP_WINDOW_WAYS; i++)
		if (atomic_load_explicit(&b->key[i], memory_order_relaxed) == key)
			return i;
	return -1;
}

enum bp_window_result bp_window_add(
	const struct bp_window_table *t, struct bp_window_use *u, double value, double *result)
{
	const uint64_t key = pair_key(u->rule->uid, u->topic_hash), at = bucket_of(t, key);
	struct bp_window_bucket *b = &t->bucket[at];
	enum bp_window_result r = BP_WINDOW_NOT_STORED;
	int way;

	u->evicted = u->not_shown = false;
	u->due_ns = 0;
	if (u->rule->window.values >
		bp_window_capacity(t->stride, (enum bp_window_function)u->rule->window.function))
		return BP_WINDOW_NOT_STORED;
	if (!lock(b, u->worker))
		return BP_WINDOW_BUSY;
	way = way_of(b, key);
	if (way < 0) {
		way = victim(t, u, at);
		u->evicted = way >= 0 &&
			     atomic_load_explicit(&b->key[way], memory_order_relaxed) != 0 &&
			     bp_ruleset_window(u->rules,
				     cell_at(t, at * BP_WINDOW_WAYS + (unsigned)way)->uid) !=
				     BP_RULE_NONE;
	}
	if (way >= 0)
		r = change(t, u, &b->key[way], cell_at(t, at * BP_WINDOW_WAYS + (unsigned)way), key,
			value, result);
	unlock(b);
	return r;
}

/* ---- time passes without a value ---- */

uint64_t bp_window_due(const struct bp_window_table *t, uint64_t cell)
{
	if (atomic_load_explicit(&t->bucket[cell / BP_WINDOW_WAYS].key[cell % BP_WINDOW_WAYS],
		    memory_order_relaxed) == 0)
		return 0;
	return atomic_load_explicit(&cell_at(t, cell)->due_ns, memory_order_relaxed);
}

/* It survives restarts of the process, so it may be damaged. */
static bool is_whole(const struct bp_watch_topic *text)
{
	return text->topic_len != 0 && text->topic_len <= BP_WATCH_TOPIC_MAX &&
	       text->client_id_len <= BP_WATCH_CLIENT_MAX;
}

static bool expire(const struct bp_window_table *t, struct bp_window_use *u, uint64_t key,
	struct bp_window *c, struct bp_window_expired *out)
{
	const uint32_t index = bp_ruleset_window(u->rules, c->uid);
	const struct bp_window_spec *w;
	struct bp_window_state next = c->state;
	enum bp_window_result r;

	if (index == BP_RULE_NONE || c->topic_hash == 0 || key != pair_key(c->uid, c->topic_hash)) {
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
	note_undo(t, u, c, key, 0, 0);
	c->changing = u->worker + 1u;
	order();
	next.changes++;
	r = bp_window_panes_expire(w, &next, c->data, u->now_ns, &out->result);
	store_words(&c->state, &next, sizeof(next));
	order();
	c->changing = 0;
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

	if (!lock(b, u->worker))
		return false;
	due = bp_window_due(t, cell);
	if (due != 0 && due <= u->now_ns)
		has = expire(t, u,
			atomic_load_explicit(&b->key[cell % BP_WINDOW_WAYS], memory_order_relaxed),
			cell_at(t, cell), out);
	unlock(b);
	return has;
}

/* ---- after a restart ---- */

static void restore(const struct bp_window_table *t, const struct bp_window_undo *u)
{
	struct bp_window *c = cell_at(t, u->cell);

	memcpy((uint8_t *)c->data + u->offset, u->unit, u->len);
	c->state = u->state;
	c->uid = u->old_uid;
	atomic_store_explicit(&c->due_ns, c->state.pane_ns, memory_order_relaxed);
	atomic_store_explicit(&t->bucket[u->cell / BP_WINDOW_WAYS].key[u->cell % BP_WINDOW_WAYS],
		u->old_key, memory_order_relaxed);
	order();
	c->changing = 0;
}

bool bp_window_undo(
	const struct bp_window_table *t, const struct bp_window_undo *u, uint16_t worker)
{
	const uint64_t data = t->stride - sizeof(struct bp_window);
	struct bp_window *c;

	if (u->cell >= t->buckets * BP_WINDOW_WAYS || u->len > BP_WINDOW_UNIT || u->len > data ||
		u->offset > data - u->len)
		return true;
	c = cell_at(t, u->cell);
	if (c->changing == worker + 1u || (c->changing == 0 && c->state.changes == u->changes)) {
		c->changing = worker + 1u;
		order();
		restore(t, u);
		return true;
	}
	if (c->changing == 0 && c->state.changes + 1 == u->changes)
		return true; /* it was not made, or is undone */
	if (c->changing == 0 && (int64_t)(c->state.changes - u->changes) > (int64_t)EMPTIED / 2)
		return true; /* it was emptied since */
	empty(c);
	c->changing = 0;
	return false;
}

uint64_t bp_window_empty_unlogged(const struct bp_window_table *t, uint64_t unlogged)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < t->buckets * BP_WINDOW_WAYS; i++) {
		struct bp_window *c = cell_at(t, i);

		if (c->unlogged != unlogged)
			continue;
		empty(c);
		c->unlogged = 0;
		n++;
	}
	return n;
}

uint64_t bp_window_recover(const struct bp_window_table *t, uint16_t worker, uint16_t workers)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < t->buckets; i++) {
		struct bp_window_bucket *b = &t->bucket[i];
		const uint64_t owner = atomic_load_explicit(&b->lock, memory_order_relaxed) & OWNER;

		if (owner != worker + 1u && owner <= workers)
			continue;
		for (unsigned way = 0; way < BP_WINDOW_WAYS; way++) {
			struct bp_window *c = cell_at(t, i * BP_WINDOW_WAYS + way);

			if (c->changing == 0)
				continue;
			empty(c);
			c->changing = 0;
			n++;
		}
		unlock(b);
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

bool bp_window_find(const struct bp_window_table *t, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_window_view *v)
{
	const uint64_t key = pair_key(rule->uid, topic_hash), at = bucket_of(t, key);
	struct bp_window_bucket *b = &t->bucket[at];

	for (unsigned i = 0; rule->windowed && i < READS; i++) {
		const uint64_t seen = atomic_load_explicit(&b->lock, memory_order_acquire);
		const int way = way_of(b, key);
		const struct bp_window *c;

		if ((seen & OWNER) != 0)
			continue;
		if (way < 0)
			return false;
		c = cell_at(t, at * BP_WINDOW_WAYS + (unsigned)way);
		copy_words(&v->state, &c->state, sizeof(v->state));
		v->n = rule->window.values != 0
			       ? v->state.n
			       : bp_window_panes_count(&rule->window, &v->state, c->data);
		v->used_ns = __atomic_load_n(&c->used_ns, __ATOMIC_RELAXED);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&b->lock, memory_order_relaxed) == seen)
			return true;
	}
	return false;
}
