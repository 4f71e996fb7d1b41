/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/state_table.h"

#include "shm/cas128.h"
#include "shm/hash.h"

/*
 * Sharing the table between workers without a lock
 * ------------------------------------------------
 * An entry is (key, word). Every change replaces both in one 16-byte compare-and-swap with both old
 * halves, so
 *
 *  1. No state is stored for a wrong pair: a worker that read (K, w) fails if its entry was
 *     meanwhile reassigned to another pair, whatever the word of the other pair. If the entry
 *     was replaced and then restored to (K, w), it has the same meaning for K as when it was
 *     read, and the change is correct.
 *  2. No evaluation uses a torn read (key of one pair, word of another): an evaluation of an
 *     entry always ends with the compare-and-swap, also if the word does not change.
 *
 * One case remains: two workers that both find no K enter it in two ways of the bucket. So an entry
 * is created in two steps: a free or released entry is claimed as (K, CLAIM | nonce), then the
 * bucket is read again from the start, and only then is the claim turned into a state (confirmed).
 * During this read, claims of K in higher ways are removed, and a confirmed entry of K makes every
 * claim void.
 *
 *  3. K has at most one confirmed entry. Take two claims x and y of K, x made first. The worker
 *     that confirms y reads the whole bucket after y was made, so after x was made: it sees x as
 *     a claim and removes it or yields (if the removal fails, x changed: start again); or it sees
 *     x confirmed, and yields; or it sees no x. In no case are both confirmed entries. The
 *     nonce is never used twice, so a removed claim cannot be mistaken for a later one in the
 *     same place. Claims and reads of the bucket are sequentially consistent, so "after" is the
 *     same for all workers.
 *
 * A worker killed between the steps leaves a claim. It does not count as a state: the next worker
 * that needs K may confirm it (after it has read the whole bucket after first seeing it, which is
 * all that 3 needs); otherwise it expires.
 *
 * A change only fails because the change of another worker succeeded, so the system is lock-free;
 * one worker gives up after ATTEMPTS and evaluates the value as if the table were full.
 */

#define RAISED BP_STATE_RAISED
#define CLAIM BP_STATE_CLAIM
#define LOW BP_STATE_LOW
#define ATTEMPTS 512u
/* Workers read the clock once per walk, so one may be slightly behind another. A larger difference
 * means another boot of the machine. */
#define CLOCK_SLACK_NS 1000000000ull

struct bucket_view {
	int way;       /* of the entry to use, or -1 */
	uint64_t word; /* its word */
};

uint64_t bp_rule_state_len(uint32_t n)
{
	uint64_t len = BP_RULE_STATE_WAYS;

	while (len < 2 * (uint64_t)n)
		len *= 2;
	return len;
}

uint64_t bp_state_elapsed(uint64_t then, uint64_t now)
{
	if (then <= now)
		return now - then;
	return then - now <= CLOCK_SLACK_NS ? 0 : UINT64_MAX;
}

static bool is_claim(uint64_t word)
{
	return (word & CLAIM) == CLAIM;
}

/* Different at every call, in every thread of the process. */
static uint64_t new_claim(void)
{
	static _Atomic uint64_t threads;
	static _Thread_local uint64_t thread, calls;

	if (thread == 0)
		thread = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	/* 2^22 threads, 2^40 claims each */
	return CLAIM | ((thread << 40 | (++calls & ((1ull << 40) - 1))) & LOW);
}

static bool swap(
	struct bp_rule_state *e, uint64_t key, uint64_t word, uint64_t new_key, uint64_t new_word)
{
	return bp_cas128(&e->key, key, word, new_key, new_word);
}

/*
 * Finds the entry of `key`: the confirmed one, else the claim in the lowest way, after it has
 * removed the claims above it. Returns false if another worker changed the bucket meanwhile.
 */
static bool find(struct bp_rule_state *bucket, uint64_t key, struct bucket_view *v)
{
	v->way = -1;
	v->word = 0;
	for (int i = 0; i < BP_RULE_STATE_WAYS; i++) {
		uint64_t word;

		if (atomic_load(&bucket[i].key) != key)
			continue;
		word = atomic_load(&bucket[i].word);
		if (!is_claim(word)) {
			v->way = i;
			v->word = word;
			return true;
		}
		if (v->way >= 0) {
			if (!swap(&bucket[i], key, word, 0, 0))
				return false;
			continue;
		}
		v->way = i;
		v->word = word;
	}
	return true;
}

static uint32_t client_of(const struct bp_rule_state *e)
{
	return atomic_load_explicit(&e->client, memory_order_relaxed);
}

/*
 * Number of entries of the client in the bucket and the entries after it. Keys are spread evenly,
 * so this sample estimates the client's share of the table without a counter.
 */
#define SAMPLE 64u
static unsigned sampled(const struct bp_state_change *a, uint32_t client)
{
	const uint64_t at = (uint64_t)(a->bucket - a->table);
	unsigned n = 0;

	for (unsigned i = 0; i < SAMPLE && i < a->len; i++) {
		const struct bp_rule_state *e = &a->table[(at + i) & (a->len - 1)];

		n += client_of(e) == client &&
		     atomic_load_explicit(&e->key, memory_order_relaxed) != 0;
	}
	return n;
}

/* Whether an entry may be evicted for one of this client. */
static bool may_evict(const struct bp_state_change *a, const struct bp_rule_state *e, uint64_t age)
{
	return age >= BP_RULE_STATE_IDLE_NS || client_of(e) == a->client ||
	       sampled(a, client_of(e)) > (a->len < SAMPLE ? a->len : SAMPLE) / 2;
}

/*
 * The entry to replace: a free one, else the LRU entry among those that may be replaced, with
 * claims of other workers last. NONE: none. PRESENT: another worker has entered the pair since the
 * bucket was read; replacing that entry would lose its state.
 */
enum { NONE = -1, PRESENT = -2 };
static int victim(const struct bp_state_change *a, uint64_t *key, uint64_t *word)
{
	uint64_t oldest = 0;
	int best = NONE;

	*key = *word = 0;
	for (int i = 0; i < BP_RULE_STATE_WAYS; i++) {
		const struct bp_rule_state *e = &a->bucket[i];
		const uint64_t k = atomic_load(&e->key);
		const uint64_t w = atomic_load(&e->word);
		const uint64_t used = atomic_load_explicit(&e->used_ns, memory_order_relaxed);
		const uint64_t age = bp_state_elapsed(used, a->now_ns);

		if (k == 0) {
			*key = k;
			*word = w;
			return i;
		}
		if (k == a->key)
			return PRESENT;
		if (best >= 0 && age <= oldest)
			continue;
		/* a claim is in progress, unless its owner died */
		if (is_claim(w) ? age < CLOCK_SLACK_NS : !may_evict(a, e, age))
			continue;
		best = i;
		oldest = age;
		*key = k;
		*word = w;
	}
	return best;
}

static void note_undo(const struct bp_state_change *a, const struct bp_rule_state *e, uint64_t word,
	uint64_t next)
{
	if (a->undo == NULL)
		return;
	/* of an attempt that failed */
	a->undo->entry = UINT64_MAX;
	/* no change, or none but the count of evaluations: the record remains free */
	if (next == word || bp_state_is_same_raise(next, word))
		return;
	atomic_signal_fence(memory_order_seq_cst);
	*a->undo = (struct bp_rule_undo){.entry = UINT64_MAX,
		.old_key = a->key,
		.old_word = word,
		.new_key = next ? a->key : 0,
		.new_word = next};
	atomic_signal_fence(memory_order_seq_cst);
	a->undo->entry = (uint64_t)(e - a->table);
	atomic_signal_fence(memory_order_seq_cst);
}

void bp_rule_undo(struct bp_rule_state *table, uint64_t len, const struct bp_rule_undo *u)
{
	struct bp_rule_state *e;
	uint64_t word;

	if (u->entry >= len)
		return;
	e = &table[u->entry];
	if (swap(e, u->new_key, u->new_word, u->old_key, u->old_word))
		return;
	/* other workers may have counted evaluations of the same transition */
	word = atomic_load(&e->word); /* the swap compares the key again */
	if (bp_state_is_same_raise(word, u->new_word))
		(void)swap(e, u->new_key, word, u->old_key, u->old_word);
}

static void use(const struct bp_state_change *a, struct bp_rule_state *e)
{
	atomic_store_explicit(&e->used_ns, a->now_ns, memory_order_relaxed);
	atomic_store_explicit(&e->client, a->client, memory_order_relaxed);
	atomic_store_explicit(&e->value, a->value, memory_order_relaxed);
}

/* Claims an entry for the pair; the next read of the bucket detects a failure. False: no entry may
 * be replaced. */
static bool claim(struct bp_state_change *a)
{
	uint64_t old_key, old_word;
	const int i = victim(a, &old_key, &old_word);
	const uint64_t word = new_claim();

	if (i == NONE) {
		a->loss = BP_STATE_NOT_KEPT;
		return false;
	}
	if (i == PRESENT || !swap(&a->bucket[i], old_key, old_word, a->key, word))
		return true;
	use(a, &a->bucket[i]);
	a->claim = word;
	if (old_key != 0 && !is_claim(old_word))
		a->loss = old_word & RAISED ? BP_STATE_RAISED_EVICTED : BP_STATE_HOLD_EVICTED;
	return true;
}

/* Another worker confirmed the pair in another way: the claim would stay as long as that entry. */
static void drop_claim(struct bp_state_change *a)
{
	for (unsigned i = 0; a->claim != 0 && i < BP_RULE_STATE_WAYS; i++)
		if (swap(&a->bucket[i], a->key, a->claim, 0, 0))
			break;
	a->claim = 0;
}

/* One attempt to find and change an entry. Returns whether it completed. */
static bool attempt(struct bp_state_change *a)
{
	struct bp_rule_state *e;
	struct bucket_view v;
	uint64_t next;

	if (!find(a->bucket, a->key, &v))
		return false;
	next = a->next(a, v.way < 0 || is_claim(v.word) ? 0 : v.word);
	if (v.way < 0) {
		if (next == 0)
			return true; /* no state before, none after */
		return !claim(a);
	}
	if (is_claim(v.word) && v.word != a->claim) {
		a->claim = v.word; /* read the bucket once more with the claim known to be there */
		return false;
	}
	if (v.word != a->claim)
		drop_claim(a);
	e = &a->bucket[v.way];
	note_undo(a, e, v.word, next);
	if (!swap(e, a->key, v.word, next ? a->key : 0, next))
		return false;
	if (next && !(a->keeps_client && next == v.word))
		use(a, e);
	return true;
}

uint64_t bp_state_key(uint64_t uid, uint64_t topic_hash, enum bp_state_kind kind)
{
	static const uint64_t salt[] = {0, 0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full};
	const uint64_t key = bp_mix64((uid ^ salt[kind]) + bp_mix64(topic_hash));

	return key ? key : 1;
}

/* The first entry of the bucket of a key. */
static uint64_t bucket_of(uint64_t key, uint64_t len)
{
	return (key & (len / BP_RULE_STATE_WAYS - 1)) * BP_RULE_STATE_WAYS;
}

bool bp_state_change(struct bp_state_change *c)
{
	c->bucket = c->table + bucket_of(c->key, c->len);
	c->claim = 0;
	c->loss = BP_STATE_NO_LOSS;
	for (unsigned n = 0; n < ATTEMPTS; n++) {
		bp_cas_pause(n);
		if (attempt(c))
			return true;
	}
	c->loss = BP_STATE_NOT_KEPT;
	return false;
}

const struct bp_rule_state *bp_state_peek(
	const struct bp_rule_state *table, uint64_t len, uint64_t key, uint64_t *word)
{
	const struct bp_rule_state *bucket = table + bucket_of(key, len);

	for (int i = 0; i < BP_RULE_STATE_WAYS; i++) {
		*word = atomic_load(&bucket[i].word);
		/* a claim is no state; the key after the word: another pair may take the entry */
		if (!is_claim(*word) && (*word & CLAIM) != 0 && atomic_load(&bucket[i].key) == key)
			return &bucket[i];
	}
	return NULL;
}
