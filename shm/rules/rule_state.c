/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/rule_state.h"

#include <stddef.h>
#include <string.h>

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

#define RAISED (1ull << 63)
#define HOLDING (1ull << 62)
#define CLAIM (RAISED | HOLDING)
#define LOW (HOLDING - 1)
#define ATTEMPTS 4096u
/* Owner of states of other gateways, until a client here publishes on the topic. */
#define FLEET_CLIENT 1u
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

/* Time from `then` to `now`; UINT64_MAX if `then` cannot be of this clock. */
static uint64_t elapsed(uint64_t then, uint64_t now)
{
	if (then <= now)
		return now - then;
	return then - now <= CLOCK_SLACK_NS ? 0 : UINT64_MAX;
}

/* The word of a pair that is not raised, after a value for which `raise` holds. */
static uint64_t hold_on(const struct bp_rule *r, uint64_t word, uint64_t now_ns)
{
	const bool holding = word & HOLDING;
	uint64_t low = word & LOW;

	if (r->hold == BP_HOLD_COUNT) {
		low = (holding ? low : 0) + 1;
		return low >= r->hold_count ? RAISED : HOLDING | low;
	}
	if (r->hold == BP_HOLD_TIME) {
		const uint64_t now = now_ns & LOW;

		if (!holding || elapsed(low, now) == UINT64_MAX)
			low = now;
		return elapsed(low, now) >= r->hold_ns ? RAISED : HOLDING | low;
	}
	return RAISED;
}

/* Evaluates a value against the word of a pair: returns the next word and the verdict. Writes no
 * memory. */
static uint64_t evaluate_word(const struct bp_rule *r, uint64_t word, double value, uint64_t now_ns,
	uint64_t *transition, enum bp_verdict *verdict)
{
	const bool raise = bp_condition_holds(&r->raise, value);

	*verdict = BP_VERDICT_NOTHING;
	if (!(word & RAISED)) {
		word = raise ? hold_on(r, word, now_ns) : 0;
		if (word & RAISED) {
			*verdict = BP_VERDICT_RAISED;
			word |= *transition & LOW;
		}
		return word;
	}
	*transition = word & LOW;
	if (raise) {
		if (r->repeat == BP_REPEAT_EVERY)
			*verdict = BP_VERDICT_RAISED;
		return word;
	}
	if (r->has_clear) {
		if (!bp_condition_holds(&r->clear, value))
			return word;
		*verdict = BP_VERDICT_CLEARED;
	} else if (r->repeat == BP_REPEAT_ON_CHANGE) {
		*verdict = BP_VERDICT_CLEARED;
	}
	return 0;
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

/* State of an evaluation over its attempts. */
struct attempt {
	struct bp_rule_state *table, *bucket;
	uint64_t len; /* of the table */
	uint64_t key;
	uint64_t now_ns;
	uint64_t transition; /* of a raise that begins now */
	uint64_t claim;      /* the claim that was seen before the last read of the bucket */
	uint32_t client;
	uint32_t value; /* the bits of a float */
	enum bp_state_loss loss;
	struct bp_rule_undo *undo;
	enum bp_verdict adopt; /* of another gateway, with `transition`; NOTHING: a value */
};

/* The word of a pair whose raise or clear another gateway has evaluated. If two gateways have
 * raised it at the same time, both continue with the lower number. */
static uint64_t adopt_word(const struct attempt *a, uint64_t word)
{
	const bool raised = word & RAISED;

	if (a->adopt == BP_VERDICT_CLEARED)
		return raised && (word & LOW) <= a->transition ? 0 : word;
	return raised && (word & LOW) < a->transition ? word : RAISED | (a->transition & LOW);
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
static unsigned sampled(const struct attempt *a, uint32_t client)
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
static bool may_evict(const struct attempt *a, const struct bp_rule_state *e, uint64_t age)
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
static int victim(const struct attempt *a, uint64_t *key, uint64_t *word)
{
	uint64_t oldest = 0;
	int best = NONE;

	*key = *word = 0;
	for (int i = 0; i < BP_RULE_STATE_WAYS; i++) {
		const struct bp_rule_state *e = &a->bucket[i];
		const uint64_t k = atomic_load(&e->key);
		const uint64_t w = atomic_load(&e->word);
		const uint64_t used = atomic_load_explicit(&e->used_ns, memory_order_relaxed);
		const uint64_t age = elapsed(used, a->now_ns);

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

static void note_undo(
	const struct attempt *a, const struct bp_rule_state *e, uint64_t word, uint64_t next)
{
	if (a->undo == NULL)
		return;
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
	if (u->entry < len)
		(void)swap(&table[u->entry], u->new_key, u->new_word, u->old_key, u->old_word);
}

static void use(const struct attempt *a, struct bp_rule_state *e)
{
	atomic_store_explicit(&e->used_ns, a->now_ns, memory_order_relaxed);
	atomic_store_explicit(&e->client, a->client, memory_order_relaxed);
	atomic_store_explicit(&e->value, a->value, memory_order_relaxed);
}

/* Claims an entry for the pair; the next read of the bucket detects a failure. False: no entry may
 * be replaced. */
static bool claim(struct attempt *a)
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

/* One attempt to find, evaluate and change an entry. Returns whether it completed. */
static bool evaluate_once(struct attempt *a, const struct bp_rule *rule, double value,
	uint64_t *transition, enum bp_verdict *verdict)
{
	struct bp_rule_state *e;
	struct bucket_view v;
	uint64_t next;

	if (!find(a->bucket, a->key, &v))
		return false;
	*transition = a->transition;
	next = v.way < 0 || is_claim(v.word) ? 0 : v.word;
	if (__builtin_expect(a->adopt != BP_VERDICT_NOTHING, 0))
		next = adopt_word(a, next);
	else
		next = evaluate_word(rule, next, value, a->now_ns, transition, verdict);
	if (v.way < 0) {
		if (next == 0)
			return true; /* no state before, none after */
		return !claim(a);
	}
	if (is_claim(v.word) && v.word != a->claim) {
		a->claim = v.word; /* read the bucket once more with the claim known to be there */
		return false;
	}
	e = &a->bucket[v.way];
	note_undo(a, e, v.word, next);
	if (!swap(e, a->key, v.word, next ? a->key : 0, next))
		return false;
	/* what is adopted is no value: a state that it does not change keeps its client */
	if (next && (a->adopt == BP_VERDICT_NOTHING || next != v.word))
		use(a, e);
	return true;
}

static uint32_t float_bits(double value)
{
	const float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* The key of (rule, topic); never 0. The keys of one rule differ for any two topic hashes. */
static uint64_t pair_key(uint64_t uid, uint64_t topic_hash)
{
	const uint64_t key = bp_mix64(uid + bp_mix64(topic_hash));

	return key ? key : 1;
}

/* The first entry of the bucket of a key. */
static uint64_t bucket_of(uint64_t key, uint64_t len)
{
	return (key & (len / BP_RULE_STATE_WAYS - 1)) * BP_RULE_STATE_WAYS;
}

bool bp_rule_state_find(const struct bp_rule_state *table, uint64_t len, const struct bp_rule *rule,
	uint64_t topic_hash, struct bp_rule_state_view *v)
{
	const uint64_t key = pair_key(rule->uid, topic_hash);
	const struct bp_rule_state *bucket = table + bucket_of(key, len);

	if (!rule->stateful)
		return false;
	for (int i = 0; i < BP_RULE_STATE_WAYS; i++) {
		const struct bp_rule_state *e = &bucket[i];
		const uint64_t word = atomic_load(&e->word);
		uint32_t value;

		/* a claim is no state; the key after the word: another pair may take the entry */
		if (is_claim(word) || (word & CLAIM) == 0 || atomic_load(&e->key) != key)
			continue;
		*v = (struct bp_rule_state_view){
			.raised = word & RAISED,
			.holding = word & HOLDING,
			.used_ns = atomic_load_explicit(&e->used_ns, memory_order_relaxed),
		};
		if (v->raised)
			v->since_ns = (word & LOW) << BP_TRANSITION_SHIFT;
		else if (rule->hold == BP_HOLD_COUNT)
			v->hold_count = word & LOW;
		else
			v->since_ns = word & LOW;
		value = atomic_load_explicit(&e->value, memory_order_relaxed);
		memcpy(&v->value, &value, sizeof(v->value));
		return true;
	}
	return false;
}

enum bp_verdict bp_rule_evaluate(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client, double value,
	uint64_t now_ns, uint64_t *transition, enum bp_state_loss *loss)
{
	return bp_rule_evaluate_undo(
		table, len, rule, topic_hash, client, value, now_ns, transition, loss, NULL);
}

enum bp_verdict bp_rule_evaluate_undo(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, uint32_t client, double value,
	uint64_t now_ns, uint64_t *transition, enum bp_state_loss *loss, struct bp_rule_undo *undo)
{
	enum bp_verdict verdict;
	struct attempt a = {.table = table,
		.len = len,
		.now_ns = now_ns,
		.transition = *transition,
		.client = client,
		.value = float_bits(value),
		.undo = undo};

	*loss = BP_STATE_NO_LOSS;
	if (!rule->stateful)
		return bp_condition_holds(&rule->raise, value) ? BP_VERDICT_RAISED
							       : BP_VERDICT_NOTHING;
	a.key = pair_key(rule->uid, topic_hash);
	a.bucket = table + bucket_of(a.key, len);
	for (unsigned n = 0; n < ATTEMPTS; n++) {
		if (evaluate_once(&a, rule, value, transition, &verdict)) {
			*loss = a.loss;
			return verdict;
		}
	}
	*loss = BP_STATE_NOT_KEPT;
	*transition = a.transition;
	evaluate_word(rule, 0, value, now_ns, transition, &verdict);
	return verdict;
}

enum bp_state_loss bp_rule_state_adopt(struct bp_rule_state *table, uint64_t len,
	const struct bp_rule *rule, uint64_t topic_hash, enum bp_verdict verdict,
	uint64_t transition, uint64_t now_ns)
{
	struct attempt a = {.table = table,
		.len = len,
		.now_ns = now_ns,
		.transition = transition,
		.client = FLEET_CLIENT,
		.adopt = verdict};

	a.key = pair_key(rule->uid, topic_hash);
	a.bucket = table + bucket_of(a.key, len);
	for (unsigned n = 0; n < ATTEMPTS; n++)
		if (evaluate_once(&a, rule, 0, &transition, &verdict))
			return a.loss;
	return BP_STATE_NOT_KEPT;
}
