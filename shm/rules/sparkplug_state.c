/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/sparkplug_state.h"

#include "shm/cas128.h"

#define WAYS BP_RULE_STATE_WAYS
#define ATTEMPTS 64u
#define SAMPLE 64u /* entries that estimate a client's share of the table */
/* Nodes report by exception, and a lost alias comes back only with the next birth. */
#define IDLE_S ((uint32_t)(7 * 24 * BP_RULE_STATE_IDLE_NS >> 30))

/*
 * Two workers that both find no entry of a key may enter it in two ways of the bucket. The entry in
 * the lowest way counts, as in part_state.c: after a change a worker reads the bucket again,
 * removes its own entry and begins again where one of the key is in a lower way, and removes those
 * in higher ways. Of two workers at least one sees the entry of the other.
 */

static struct bp_sparkplug_state *bucket_of(
	struct bp_sparkplug_state *table, uint64_t len, uint64_t key)
{
	return table + (key & (len / WAYS - 1)) * WAYS;
}

bool bp_sparkplug_state_find(
	struct bp_sparkplug_state *table, uint64_t len, uint64_t key, struct bp_sparkplug_view *v)
{
	struct bp_sparkplug_state *bucket = bucket_of(table, len, key);

	for (unsigned i = 0; i < WAYS; i++) {
		/* both halves are of one change if the word is the same before and after */
		for (unsigned n = 0; n < ATTEMPTS && bp_sparkplug_state_read(&bucket[i], key, v);
			n++) {
			if (atomic_load_explicit(&bucket[i].word, memory_order_acquire) == v->word)
				return true;
		}
	}
	return false;
}

bool bp_sparkplug_state_change(const struct bp_sparkplug_view *v, uint64_t value, uint32_t data)
{
	return bp_cas128(&v->entry->value, v->value, v->word, value,
		(v->word & 0xffffffff00000000ull) | data);
}

static void remove_entry(struct bp_sparkplug_state *e, uint64_t key)
{
	struct bp_sparkplug_view v;

	for (unsigned n = 0; n < ATTEMPTS && bp_sparkplug_state_read(e, key, &v); n++) {
		if (bp_cas128(&e->value, v.value, v.word, 0, 0))
			return;
	}
}

/* After a change of `e`: whether it is the entry that counts. Otherwise it is removed. */
static bool settle(struct bp_sparkplug_state *bucket, struct bp_sparkplug_state *e, uint64_t key)
{
	struct bp_sparkplug_view v;

	/* the store of the key before the reads: another worker does the same */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < WAYS; i++) {
		struct bp_sparkplug_state *o = &bucket[i];

		if (o == e || !bp_sparkplug_state_read(o, key, &v))
			continue;
		if (o < e) {
			remove_entry(e, key);
			return false;
		}
		remove_entry(o, key);
	}
	return true;
}

static unsigned sampled(
	const struct bp_sparkplug_state *table, uint64_t len, uint64_t at, uint32_t client)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SAMPLE && i < len; i++) {
		const struct bp_sparkplug_state *e = &table[(at + i) & (len - 1)];

		n += atomic_load_explicit(&e->client, memory_order_relaxed) == client &&
		     atomic_load_explicit(&e->word, memory_order_relaxed) != 0;
	}
	return n;
}

/* The entry to replace: a free one, else the least recently used that `client` may evict, and one
 * of a metric that its birth does not have before all others. NULL: none. */
static struct bp_sparkplug_state *victim(struct bp_sparkplug_state *table, uint64_t len,
	struct bp_sparkplug_state *bucket, uint32_t client, uint32_t data, uint32_t now_s)
{
	const uint64_t at = (uint64_t)(bucket - table);
	struct bp_sparkplug_state *best = NULL;
	uint64_t oldest = 0;

	for (unsigned i = 0; i < WAYS; i++) {
		struct bp_sparkplug_state *e = &bucket[i];
		const uint64_t word = atomic_load_explicit(&e->word, memory_order_acquire);
		const uint64_t absent = word & BP_SPARKPLUG_NOT_IN_BIRTH;
		const uint32_t owner = atomic_load_explicit(&e->client, memory_order_relaxed);
		/* of another boot, or a worker that is slightly ahead: not idle */
		const int32_t diff =
			(int32_t)(now_s - atomic_load_explicit(&e->used_s, memory_order_relaxed));
		const uint32_t age = diff < 0 ? 0 : (uint32_t)diff;

		if (word == 0)
			return e;
		if ((data & BP_SPARKPLUG_NOT_IN_BIRTH) && !absent)
			continue;
		if (best != NULL && (absent << 32 | age) <= oldest)
			continue;
		if (age < IDLE_S && owner != client &&
			sampled(table, len, at, owner) <= (len < SAMPLE ? len : SAMPLE) / 2)
			continue;
		best = e;
		oldest = absent << 32 | age;
	}
	return best;
}

enum bp_state_loss bp_sparkplug_state_store(struct bp_sparkplug_state *table, uint64_t len,
	uint64_t key, uint32_t client, uint64_t value, uint32_t data, uint64_t now_ns)
{
	struct bp_sparkplug_state *bucket = bucket_of(table, len, key), *e;
	const uint32_t now_s = (uint32_t)(now_ns >> 30);
	struct bp_sparkplug_view v;

	for (unsigned n = 0; n < ATTEMPTS; n++) {
		uint64_t old_value, old_word;

		bp_cas_pause(n);
		if (bp_sparkplug_state_find(table, len, key, &v)) {
			if (!bp_sparkplug_state_change(&v, value, data))
				continue;
			atomic_store_explicit(&v.entry->client, client, memory_order_relaxed);
			bp_sparkplug_state_use(v.entry, now_ns);
			if (settle(bucket, v.entry, key))
				return BP_STATE_NO_LOSS;
			continue;
		}
		e = victim(table, len, bucket, client, data, now_s);
		if (e == NULL)
			return BP_STATE_NOT_KEPT;
		old_word = atomic_load_explicit(&e->word, memory_order_acquire);
		old_value = atomic_load_explicit(&e->value, memory_order_acquire);
		if (!bp_cas128(&e->value, old_value, old_word, value,
			    bp_sparkplug_state_tag(key) | data))
			continue;
		atomic_store_explicit(&e->key, key, memory_order_release);
		atomic_store_explicit(&e->client, client, memory_order_relaxed);
		bp_sparkplug_state_use(e, now_ns);
		if (settle(bucket, e, key))
			return old_word != 0 ? BP_STATE_HOLD_EVICTED : BP_STATE_NO_LOSS;
	}
	return BP_STATE_NOT_KEPT;
}
