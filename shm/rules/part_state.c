/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/part_state.h"

#include <math.h>
#include <string.h>

/*
 * Two workers that both find no entry of a key may enter it in two ways of the bucket. The entry in
 * the lowest way counts. So a worker reads the bucket again after it has changed an entry: where
 * one of the key is in a lower way, it removes its own and begins again; those in higher ways it
 * removes. Changes and reads are sequentially consistent: of two workers at least one sees the
 * entry of the other. If it is only the one in the lower way, the other one had read the bucket
 * before this one's change, so its truth was the earlier one, and is replaced.
 */

#define ATTEMPTS 512u
#define TRUTH BP_PART_TRUTH
#define TIME_SHIFT BP_PART_TIME_SHIFT
#define CLOCK_SLACK_NS 1000000000ull

uint64_t bp_part_state_len(uint32_t n)
{
	uint64_t len = BP_PART_STATE_WAYS;

	while (len < 2 * (uint64_t)n)
		len *= 2;
	return len;
}

/* Time since a word was stored; UINT64_MAX: it cannot be of this clock. */
static uint64_t age_of(uint64_t word, uint64_t now_ns)
{
	const uint64_t then = word >> TIME_SHIFT;

	if (then <= now_ns)
		return now_ns - then;
	return then - now_ns <= CLOCK_SLACK_NS ? 0 : UINT64_MAX;
}

static bool swap(
	struct bp_part_state *e, uint64_t key, uint64_t word, uint64_t new_key, uint64_t new_word)
{
	return bp_cas128(&e->key, key, word, new_key, new_word);
}

static uint32_t client_of(const struct bp_part_state *e)
{
	return atomic_load_explicit(&e->client, memory_order_relaxed);
}

/* Whether the client has over half of the entries from the bucket on: as in rule_state.c. */
#define SAMPLE 64u
static bool has_most(const struct bp_part_key *k, uint32_t client)
{
	const uint64_t at = (uint64_t)(k->bucket - k->table);
	const unsigned n = k->len < SAMPLE ? (unsigned)k->len : SAMPLE;
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct bp_part_state *e = &k->table[(at + i) & (k->len - 1)];

		sum += client_of(e) == client &&
		       atomic_load_explicit(&e->key, memory_order_relaxed) != 0;
	}
	return sum > n / 2;
}

/* The entry to replace: a free one, else the LRU entry among those that may be replaced; NULL. */
static struct bp_part_state *victim(const struct bp_part_key *k, uint32_t client, uint64_t now_ns,
	uint64_t *key, uint64_t *word)
{
	struct bp_part_state *best = NULL;
	uint64_t oldest = 0;

	for (int i = 0; i < BP_PART_STATE_WAYS; i++) {
		struct bp_part_state *e = &k->bucket[i];
		const uint64_t of = atomic_load(&e->key), w = atomic_load(&e->word);
		const uint64_t age = age_of(w, now_ns);

		if (of != 0) {
			if (best != NULL && age <= oldest)
				continue;
			if (age < BP_RULE_STATE_IDLE_NS && client_of(e) != client &&
				!has_most(k, client_of(e)))
				continue;
		}
		best = e;
		oldest = age;
		*key = of;
		*word = w;
		if (of == 0)
			break;
	}
	return best;
}

/* The entry of the key in the lowest way, or NULL. */
static struct bp_part_state *find(struct bp_part_state *bucket, uint64_t key)
{
	for (int i = 0; i < BP_PART_STATE_WAYS; i++)
		if (atomic_load(&bucket[i].key) == key)
			return &bucket[i];
	return NULL;
}

bool bp_part_state_settle(const struct bp_part_key *k, struct bp_part_state *e, uint64_t word)
{
	for (int i = 0; i < BP_PART_STATE_WAYS; i++) {
		struct bp_part_state *o = &k->bucket[i];

		if (o == e || atomic_load(&o->key) != k->key)
			continue;
		if (o < e) {
			(void)swap(e, k->key, word, 0, 0);
			return false;
		}
		/* a failure: it was changed, and who did sees this entry, or it is of another key
		 */
		(void)swap(o, k->key, atomic_load(&o->word), 0, 0);
	}
	return true;
}

enum bp_state_loss bp_part_state_store(const struct bp_part_key *k, uint32_t client,
	enum bp_truth truth, double value, uint64_t now_ns)
{
	const uint64_t key = k->key, word = now_ns << TIME_SHIFT | truth;
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	for (unsigned n = 0; n < ATTEMPTS; n++) {
		struct bp_part_state *e = find(k->bucket, key);
		uint64_t old_key = key, old_word;

		bp_cas_pause(n);
		if (e != NULL)
			old_word = atomic_load(&e->word);
		else
			e = victim(k, client, now_ns, &old_key, &old_word);
		if (e == NULL)
			return BP_STATE_NOT_KEPT;
		if (!swap(e, old_key, old_word, key, word))
			continue;
		atomic_store_explicit(&e->value, bits, memory_order_relaxed);
		atomic_store_explicit(&e->check, bp_part_check(bits, word), memory_order_relaxed);
		atomic_store_explicit(&e->client, client, memory_order_relaxed);
		if (bp_part_state_settle(k, e, word))
			return old_key == 0 || old_key == key ? BP_STATE_NO_LOSS
							      : BP_STATE_HOLD_EVICTED;
	}
	return BP_STATE_NOT_KEPT;
}

uint64_t bp_part_state_word(const struct bp_part_key *k)
{
	const struct bp_part_state *bucket = k->bucket;

	for (int i = 0; i < BP_PART_STATE_WAYS; i++) {
		uint64_t word;

		if (atomic_load(&bucket[i].key) != k->key)
			continue;
		word = atomic_load(&bucket[i].word);
		/* the key after the word: another one may take the entry */
		if (atomic_load(&bucket[i].key) == k->key)
			return word;
	}
	return 0;
}

enum bp_truth bp_part_word_truth(uint64_t word, uint64_t max_age_ns, uint64_t now_ns)
{
	const uint64_t age = age_of(word, now_ns);

	if (word == 0 || age == UINT64_MAX || (max_age_ns != 0 && age > max_age_ns))
		return BP_TRUTH_UNKNOWN;
	return (word & TRUTH) == TRUTH ? BP_TRUTH_UNKNOWN : (enum bp_truth)(word & TRUTH);
}

void bp_part_state_view(const struct bp_part_key *k, uint64_t now_ns, struct bp_part_view *v)
{
	struct bp_part_state *e = find(k->bucket, k->key);
	uint64_t bits;

	*v = (struct bp_part_view){.word = bp_part_state_word(k), .value = NAN};
	if (v->word == 0 || e == NULL)
		return;
	v->age_ns = age_of(v->word, now_ns);
	bits = atomic_load_explicit(&e->value, memory_order_relaxed);
	if (bp_part_check(bits, v->word) == atomic_load_explicit(&e->check, memory_order_relaxed))
		memcpy(&v->value, &bits, sizeof(v->value));
}
