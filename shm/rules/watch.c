/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/watch.h"

#include <string.h>

#include "shm/cas128.h"
#include "shm/hash.h"

/*
 * An entry is made in two steps, as in rule_state.c: a free one is claimed, then both buckets are
 * read again, and only then is it confirmed. In between, the owner of the claim writes the text. Of
 * two claims of a key, the one in the lower entry removes the other, whose owner then begins again;
 * an entry that is confirmed makes a claim void. A claim whose owner was killed is removed by the
 * next worker that meets it.
 */

#define ATTEMPTS 256u
#define CLAIM_NS 1000000000ull /* no claim lasts longer */
#define SAMPLE 32u
#define NO_ENTRY UINT64_MAX

uint64_t bp_watch_key(uint64_t rule_uid, uint64_t topic_hash, uint32_t slot)
{
	const uint64_t slots = (1u << BP_WATCH_SLOT_BITS) - 1;
	const uint64_t hash = bp_mix64(rule_uid + bp_mix64(topic_hash)) & ~slots;

	return (hash ? hash : slots + 1) | (slot & slots);
}

uint64_t bp_watch_len(uint32_t n)
{
	const uint64_t len = n + (uint64_t)n / 2;

	return len < BP_WATCH_WAYS ? BP_WATCH_WAYS
				   : (len + BP_WATCH_WAYS - 1) / BP_WATCH_WAYS * BP_WATCH_WAYS;
}

/* The first entry of the buckets of a key. */
struct buckets {
	uint64_t at[2];
};

static uint64_t bucket(const struct bp_watch *w, uint64_t hash)
{
	return (uint64_t)((unsigned __int128)hash * (w->len / BP_WATCH_WAYS) >> 64) * BP_WATCH_WAYS;
}

static struct buckets buckets_of(const struct bp_watch *w, uint64_t key)
{
	const uint64_t hash = bp_mix64(key);

	return (struct buckets){{bucket(w, hash), bucket(w, bp_mix64(~hash))}};
}

static uint64_t way(const struct buckets *b, unsigned i)
{
	return b->at[i / BP_WATCH_WAYS] + i % BP_WATCH_WAYS;
}

static bool swap(const struct bp_watch *w, uint64_t at, uint64_t key, uint64_t word,
	uint64_t new_key, uint64_t new_word)
{
	return bp_cas128(&w->entry[at].key, key, word, new_key, new_word);
}

bool bp_watch_set(const struct bp_watch *w, uint64_t at, uint64_t key, uint64_t word, uint64_t next)
{
	return swap(w, at, key, word, next ? key : 0, next);
}

/* ---- the text ---- */

static void write_words(struct bp_watch_topic *to, const struct bp_watch_topic *from, size_t n)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)to;

	for (size_t i = 0; i < n / 8; i++) {
		uint64_t v;

		memcpy(&v, (const uint8_t *)from + 8 * i, 8);
		atomic_store_explicit(&word[i], v, memory_order_relaxed);
	}
}

void bp_watch_read(const struct bp_watch *w, uint64_t at, struct bp_watch_topic *out)
{
	const _Atomic uint64_t *word = (const _Atomic uint64_t *)(const void *)&w->topic[at];

	for (size_t i = 0; i < sizeof(*out) / 8; i++) {
		const uint64_t v = atomic_load_explicit(&word[i], memory_order_relaxed);

		memcpy((uint8_t *)out + 8 * i, &v, 8);
	}
}

static uint32_t client_of(const struct bp_watch *w, uint64_t at)
{
	const _Atomic uint64_t *word = (const _Atomic uint64_t *)(const void *)&w->topic[at];
	const uint64_t v = atomic_load_explicit(word, memory_order_relaxed);
	uint32_t client;

	memcpy(&client, &v, sizeof(client));
	return client;
}

/* ---- a topic that is watched ---- */

static bool is_dead_claim(const struct bp_watch *w, uint64_t word, uint64_t now_ns)
{
	const uint64_t then = word & BP_WATCH_TIME;

	return (word & BP_WATCH_CLAIM) &&
	       (then < w->start_ns || then > now_ns + CLAIM_NS || now_ns > then + CLAIM_NS);
}

static uint64_t find(const struct bp_watch *w, const struct buckets *b, uint64_t key)
{
	for (unsigned i = 0; i < 2 * BP_WATCH_WAYS; i++)
		if (atomic_load(&w->entry[way(b, i)].key) == key)
			return way(b, i);
	return NO_ENTRY;
}

/* The client of a topic may change: about once a second is enough. */
static bool is_text_due(uint64_t before, uint64_t now_ns)
{
	return before >> 30 != now_ns >> 30;
}

/* Records the publication in the entry. False: it was changed meanwhile. */
static bool touch(const struct bp_watch *w, uint64_t at, uint64_t key, uint64_t now_ns,
	bool only_add, const struct bp_watch_topic *by, uint64_t *before)
{
	const uint64_t word = atomic_load(&w->entry[at].word);

	if (is_dead_claim(w, word, now_ns)) {
		(void)swap(w, at, key, word, 0, 0);
		return false;
	}
	*before = word & BP_WATCH_TIME;
	/* a claim is younger than a second, and its owner changes it */
	if (only_add || word == now_ns || (word & BP_WATCH_CLAIM))
		return true;
	/* no later time of another worker is replaced, unless it is of another boot */
	if (!(word & BP_WATCH_ABSENT) && *before > now_ns && *before - now_ns < CLAIM_NS)
		return true;
	if (!swap(w, at, key, word, key, now_ns & BP_WATCH_TIME))
		return false;
	if (is_text_due(*before, now_ns))
		write_words(&w->topic[at], by, offsetof(struct bp_watch_topic, topic));
	return true;
}

bool bp_watch_see_recent(
	const struct bp_watch *w, uint64_t key, uint64_t now_ns, uint64_t recent_ns)
{
	const struct buckets b = buckets_of(w, key);
	const uint64_t at = find(w, &b, key);
	uint64_t word;

	if (at == NO_ENTRY)
		return false;
	word = atomic_load(&w->entry[at].word);
	if (word & ~BP_WATCH_TIME)
		return false;
	/* another worker may be a little ahead */
	if (word >= now_ns)
		return word - now_ns < CLAIM_NS;
	return word > w->start_ns && now_ns - word < recent_ns &&
	       swap(w, at, key, word, key, now_ns & BP_WATCH_TIME);
}

/* ---- a new topic ---- */

/* Whether the client has over half of the entries in a sample behind its own. */
static bool has_most(const struct bp_watch *w, uint64_t at, uint32_t client)
{
	const uint64_t sample = w->len < SAMPLE ? w->len : SAMPLE;
	uint64_t n = 0;

	for (uint64_t i = 0; i < sample; i++) {
		const uint64_t e = at + i < w->len ? at + i : at + i - w->len;

		n += atomic_load_explicit(&w->entry[e].key, memory_order_relaxed) != 0 &&
		     client_of(w, e) == client;
	}
	return n > sample / 2;
}

/* How readily an entry is replaced; 0: not at all. */
static unsigned rank(const struct bp_watch *w, uint64_t at, uint64_t word, uint32_t client)
{
	if (word & BP_WATCH_CLAIM)
		return 0;
	if (word & BP_WATCH_ABSENT)
		return 3;
	if (client != 0 && client_of(w, at) == client)
		return 2;
	return client_of(w, at) != 0 && has_most(w, at, client_of(w, at)) ? 1 : 0;
}

/* The entry for a new key: a free one in the emptier bucket, else the one to be replaced. */
static uint64_t victim(const struct bp_watch *w, const struct buckets *b, uint32_t client,
	uint64_t *key, uint64_t *word)
{
	unsigned used[2] = {0, 0}, best_rank = 0;
	uint64_t best = NO_ENTRY, empty[2] = {NO_ENTRY, NO_ENTRY};

	for (unsigned i = 0; i < 2 * BP_WATCH_WAYS; i++) {
		const unsigned in = i / BP_WATCH_WAYS;

		if (atomic_load(&w->entry[way(b, i)].key) != 0)
			used[in]++;
		else if (empty[in] == NO_ENTRY)
			empty[in] = way(b, i);
	}
	*key = *word = 0;
	if (empty[0] != NO_ENTRY && (used[0] <= used[1] || empty[1] == NO_ENTRY))
		return empty[0];
	if (empty[1] != NO_ENTRY)
		return empty[1];
	for (unsigned i = 0; i < 2 * BP_WATCH_WAYS; i++) {
		const uint64_t at = way(b, i), k = atomic_load(&w->entry[at].key),
			       v = atomic_load(&w->entry[at].word);
		const unsigned r = rank(w, at, v, client);

		if (r < best_rank || r == 0 ||
			(r == best_rank && (v & BP_WATCH_TIME) >= (*word & BP_WATCH_TIME)))
			continue;
		best = at;
		best_rank = r;
		*key = k;
		*word = v;
	}
	return best;
}

/* The two buckets as a claim at `mine` sees them. False: the claim is void, or must be checked
 * again. */
static bool claim_counts(
	const struct bp_watch *w, const struct buckets *b, uint64_t key, uint64_t mine)
{
	for (unsigned i = 0; i < 2 * BP_WATCH_WAYS; i++) {
		const uint64_t at = way(b, i);
		uint64_t word;

		if (at == mine || atomic_load(&w->entry[at].key) != key)
			continue;
		word = atomic_load(&w->entry[at].word);
		if (!(word & BP_WATCH_CLAIM) || at < mine || !swap(w, at, key, word, 0, 0))
			return false;
	}
	return true;
}

/* False: another worker was faster. */
static bool add(const struct bp_watch *w, const struct buckets *b, uint64_t key, uint64_t now_ns,
	const struct bp_watch_topic *by, enum bp_watch_seen *result)
{
	const uint64_t word = BP_WATCH_CLAIM | (now_ns & BP_WATCH_TIME);
	uint64_t old_key, old_word;
	const uint64_t at = victim(w, b, by->client, &old_key, &old_word);

	if (at == NO_ENTRY) {
		*result = BP_WATCH_FULL;
		return true;
	}
	if (!swap(w, at, old_key, old_word, key, word))
		return false;
	if (!claim_counts(w, b, key, at)) {
		(void)swap(w, at, key, word, 0, 0);
		return false;
	}
	write_words(&w->topic[at], by, sizeof(*by));
	if (!swap(w, at, key, word, key, now_ns & BP_WATCH_TIME))
		return false;
	*result = old_key == 0 ? BP_WATCH_ADDED : BP_WATCH_EVICTED;
	return true;
}

enum bp_watch_seen bp_watch_see(const struct bp_watch *w, uint64_t key, uint64_t now_ns,
	bool only_add, const struct bp_watch_topic *by, uint64_t *before)
{
	const struct buckets b = buckets_of(w, key);
	enum bp_watch_seen result;

	*before = 0;
	for (unsigned n = 0; n < ATTEMPTS; n++) {
		const uint64_t at = find(w, &b, key);

		bp_cas_pause(n);
		if (at != NO_ENTRY) {
			if (touch(w, at, key, now_ns, only_add, by, before))
				return BP_WATCH_KNOWN;
			*before = 0;
		} else if (add(w, &b, key, now_ns, by, &result)) {
			return result;
		}
	}
	return BP_WATCH_FULL;
}

bool bp_watch_find(const struct bp_watch *w, uint64_t key, struct bp_watch_view *v)
{
	const struct buckets b = buckets_of(w, key);
	const uint64_t at = find(w, &b, key);
	uint64_t word;

	if (at == NO_ENTRY)
		return false;
	word = atomic_load(&w->entry[at].word);
	*v = (struct bp_watch_view){.seen_ns = word & BP_WATCH_TIME,
		.absent = word & BP_WATCH_ABSENT,
		.client = client_of(w, at)};
	return !(word & BP_WATCH_CLAIM) && atomic_load(&w->entry[at].key) == key;
}
