/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/forwarding/mac_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shm/hash.h"

/* A word: bits 0..47 the address, 48..55 the port + 1 (0: the word is free), 56..63 the step. */
#define MAC_BITS 0xffffffffffffull
#define SWEEP_BUCKETS 64
#define MIN_WORDS 512u
#define MIN_SHARE 8u
/*
 * Eviction removes the oldest of this number of entries of a port, found among the number of words
 * below.
 */
#define LOOK_OWN 4u
#define LOOK_WORDS 1024u

static uint64_t pack(uint64_t mac, uint8_t port, uint8_t step)
{
	return mac | (uint64_t)(port + 1) << 48 | (uint64_t)step << 56;
}
static bool in_use(uint64_t e)
{
	return (e >> 48 & 0xff) != 0;
}
static uint8_t port_of(uint64_t e)
{
	return (uint8_t)((e >> 48 & 0xff) - 1);
}
static uint8_t age_of(const struct bp_mac_table *t, uint64_t e, uint64_t mono_ns)
{
	return (uint8_t)((mono_ns >> t->shift) - (e >> 56));
}
static bool alive(const struct bp_mac_table *t, uint64_t e, uint64_t mono_ns)
{
	return in_use(e) && age_of(t, e, mono_ns) <= t->lifetime;
}

static uint64_t bucket_of(const struct bp_mac_table *t, uint64_t mac, uint8_t bridge)
{
	/* Addresses of one vendor have equal distances: for a few keys, one multiplication would
	 * put many of them into the same buckets. */
	const uint64_t h = bp_fold((mac | (uint64_t)bridge << 48) ^ t->key[0], t->key[1]);

	return bp_fold(h ^ t->key[1], 0x9e3779b97f4a7c15ull) & t->mask;
}

/*
 * Number of words of the table: twice the maximum number of entries of all ports, so that a bucket
 * is rarely full of entries that must not be evicted.
 */
static uint64_t count_buckets(uint32_t entries)
{
	const uint64_t words =
		4 * (uint64_t)entries > MIN_WORDS ? 4 * (uint64_t)entries : MIN_WORDS;
	uint64_t buckets = 1;

	while (buckets * BP_MAC_WAYS < words)
		buckets <<= 1;
	return buckets;
}

struct bp_mac_table *bp_mac_table_create(uint32_t entries, uint64_t ageing_ns)
{
	const uint64_t words = count_buckets(entries) * BP_MAC_WAYS;
	struct bp_mac_table *t;
	uint64_t size;

	size = (sizeof(*t) + words * sizeof(t->entry[0]) + 63) & ~63ull;
	t = aligned_alloc(64, size);
	if (!t)
		return NULL;
	memset(t, 0, size);
	memset(t->bridge_of, BP_MAC_UNKNOWN, sizeof(t->bridge_of));
	t->home = calloc(words, sizeof(t->home[0]));
	if (!t->home || getrandom(t->key, sizeof(t->key), 0) != sizeof(t->key)) {
		bp_mac_table_free(t);
		return NULL;
	}
	t->key[1] |= 1;
	t->mask = words / BP_MAC_WAYS - 1;
	t->entries = t->share = entries;
	/* 32 to 64 steps per lifetime, well below the 256 after which steps repeat */
	while (ageing_ns >> t->shift > 64)
		t->shift++;
	t->lifetime = (uint8_t)((ageing_ns + (1ull << t->shift) - 1) >> t->shift);
	return t;
}

void bp_mac_table_free(struct bp_mac_table *t)
{
	if (t)
		free((void *)t->home);
	free(t);
}

void bp_mac_table_set_bridge(struct bp_mac_table *t, uint8_t port, uint8_t bridge)
{
	if (t->bridge_of[port] == BP_MAC_UNKNOWN)
		t->n_ports++;
	t->bridge_of[port] = bridge;
	t->share = t->entries / t->n_ports;
	if (t->share < MIN_SHARE)
		t->share = MIN_SHARE < t->entries ? MIN_SHARE : t->entries;
}

/* ---- how many a port has ---- */

static void holds_one_more(struct bp_mac_table *t, uint8_t port)
{
	if (atomic_fetch_add_explicit(&t->held[port], 1, memory_order_relaxed) >= t->share)
		atomic_fetch_add_explicit(&t->borrowed, 1, memory_order_relaxed);
}

static void holds_one_less(struct bp_mac_table *t, uint8_t port)
{
	if (atomic_fetch_sub_explicit(&t->held[port], 1, memory_order_relaxed) > t->share)
		atomic_fetch_sub_explicit(&t->borrowed, 1, memory_order_relaxed);
}

static bool within_share(const struct bp_mac_table *t, uint8_t port, unsigned more)
{
	return atomic_load_explicit(&t->held[port], memory_order_relaxed) + more <= t->share;
}

static bool may_learn(const struct bp_mac_table *t, uint8_t port)
{
	return within_share(t, port, 1) ||
	       atomic_load_explicit(&t->borrowed, memory_order_relaxed) < t->entries - t->share;
}

/* Replaces word i, which is `is`, by `now` (0: free). False: another worker has changed it. */
static bool replace(struct bp_mac_table *t, uint64_t i, uint64_t is, uint64_t now)
{
	if (!atomic_compare_exchange_strong_explicit(
		    &t->entry[i], &is, now, memory_order_relaxed, memory_order_relaxed))
		return false;
	if (in_use(now) && in_use(is) && port_of(now) == port_of(is))
		return true;
	if (in_use(now))
		holds_one_more(t, port_of(now));
	if (in_use(is))
		holds_one_less(t, port_of(is));
	return true;
}

static bool is_entry(const struct bp_mac_table *t, uint64_t e, uint64_t mac, uint8_t bridge)
{
	return (e & MAC_BITS) == mac && in_use(e) && t->bridge_of[port_of(e)] == bridge;
}

uint8_t bp_mac_lookup(const struct bp_mac_table *t, uint64_t mac, uint8_t bridge, uint64_t mono_ns)
{
	const _Atomic uint64_t *b = &t->entry[bucket_of(t, mac, bridge) * BP_MAC_WAYS];

	for (unsigned i = 0; i < BP_MAC_WAYS; i++) {
		uint64_t e = atomic_load_explicit(&b[i], memory_order_relaxed);

		if (is_entry(t, e, mac, bridge) && alive(t, e, mono_ns))
			return port_of(e);
	}
	return BP_MAC_UNKNOWN;
}

/*
 * Evicts an entry of a port that has reached its limit: the oldest of a few of its own entries, in
 * any bucket.
 */
static bool give_up_own(struct bp_mac_table *t, uint8_t port, uint64_t mono_ns)
{
	const uint64_t words = (t->mask + 1) * BP_MAC_WAYS;
	uint64_t at = atomic_load_explicit(&t->hand[port], memory_order_relaxed), oldest = 0;
	uint64_t which = 0;
	unsigned own = 0;

	for (unsigned n = 0; n < LOOK_WORDS && own < LOOK_OWN && n < words; n++, at++) {
		const uint64_t i = at & (words - 1);
		const uint64_t e = atomic_load_explicit(&t->entry[i], memory_order_relaxed);

		if (!in_use(e) || port_of(e) != port)
			continue;
		if (own++ == 0 || age_of(t, e, mono_ns) > age_of(t, oldest, mono_ns)) {
			oldest = e;
			which = i;
		}
	}
	atomic_store_explicit(&t->hand[port], (uint32_t)(at & (words - 1)), memory_order_relaxed);
	return own != 0 && replace(t, which, oldest, 0);
}

/* ---- moves ---- */

/*
 * Additional state of each entry, written only when the address moves: its home port while it is on
 * another one (port + 1; 0: it is at home), the step at which it was last seen there, and, if two
 * ports have claimed it, the step of the claim. Workers may overwrite the state of each other: each
 * value is valid.
 */
#define HOME_DISPUTED 1u

struct home {
	uint8_t port; /* + 1 */
	uint8_t seen;
	uint8_t disputed_at;
	uint8_t flags;
};

static struct home home_get(const struct bp_mac_table *t, uint64_t i)
{
	const uint32_t v = atomic_load_explicit(&t->home[i], memory_order_relaxed);

	return (struct home){(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
}

static void home_set(struct bp_mac_table *t, uint64_t i, struct home h)
{
	atomic_store_explicit(&t->home[i],
		h.port | (uint32_t)h.seen << 8 | (uint32_t)h.disputed_at << 16 |
			(uint32_t)h.flags << 24,
		memory_order_relaxed);
}

/* The state is discarded after the aging time without a frame. */
static struct home home_now(const struct bp_mac_table *t, uint64_t i, uint8_t step)
{
	struct home h = home_get(t, i);

	if (h.port != 0 && (uint8_t)(step - h.seen) > t->lifetime)
		h.port = 0;
	if ((uint8_t)(step - h.disputed_at) > t->lifetime)
		h.flags &= (uint8_t)~HOME_DISPUTED;
	return h;
}

/* The address of word i, which is alive on another port of the same bridge, was seen on `port`. */
static enum bp_mac_change move(
	struct bp_mac_table *t, uint64_t i, uint64_t is, uint64_t now, uint64_t mono_ns)
{
	const uint8_t port = port_of(now), step = (uint8_t)(now >> 56);
	struct home h = home_now(t, i, step);

	if (h.port == port + 1) {
		/*
		 * its station is still active at its former port: a different station claims the
		 * address
		 */
		h = (struct home){.disputed_at = step, .flags = HOME_DISPUTED};
	} else {
		if (h.flags & HOME_DISPUTED && age_of(t, is, mono_ns) < BP_MAC_QUIET) {
			if (h.disputed_at != step) { /* the dispute continues */
				h.disputed_at = step;
				home_set(t, i, h);
			}
			return BP_MAC_REFUSED;
		}
		if (h.port == 0) {
			h.port = (uint8_t)(port_of(is) + 1);
			h.seen = (uint8_t)(is >> 56);
		}
	}
	if (!may_learn(t, port) && !give_up_own(t, port, mono_ns))
		return BP_MAC_FULL;
	if (replace(t, i, is, now))
		home_set(t, i, h);
	return BP_MAC_MOVED;
}

/* ---- new addresses ---- */

/*
 * Selects the word of a full bucket that a port may replace: the oldest of its own entries or,
 * while it has fewer entries than its share, the oldest of the entries that ports have beyond their
 * share. -1: none.
 */
static int victim(const struct bp_mac_table *t, const uint64_t *e, uint8_t port, uint64_t mono_ns)
{
	const bool entitled = within_share(t, port, 1);
	int found = -1;

	for (int i = 0; i < BP_MAC_WAYS; i++) {
		if (port_of(e[i]) != port && (!entitled || within_share(t, port_of(e[i]), 0)))
			continue;
		if (found < 0 || age_of(t, e[i], mono_ns) > age_of(t, e[found], mono_ns))
			found = i;
	}
	return found;
}

/* bucket: the index of its first word; e: the former values of its words. */
static enum bp_mac_change enter(
	struct bp_mac_table *t, uint64_t bucket, const uint64_t *e, uint64_t now, uint64_t mono_ns)
{
	const uint8_t port = port_of(now);
	enum bp_mac_change change = BP_MAC_NEW;
	int v = 0;

	while (v < BP_MAC_WAYS && alive(t, e[v], mono_ns))
		v++;
	if (v == BP_MAC_WAYS) {
		v = victim(t, e, port, mono_ns);
		if (v < 0)
			return BP_MAC_FULL;
		change = BP_MAC_EVICTED;
	} else if (!may_learn(t, port) && !(in_use(e[v]) && port_of(e[v]) == port)) {
		if (!give_up_own(t, port, mono_ns))
			return BP_MAC_FULL;
		change = BP_MAC_EVICTED;
	}
	if (!replace(t, bucket + (uint64_t)v, e[v], now))
		return BP_MAC_SAME; /* lost a race for the word: learned with the next frame */
	home_set(t, bucket + (uint64_t)v, (struct home){0});
	return change;
}

enum bp_mac_change bp_mac_learn(
	struct bp_mac_table *t, uint64_t mac, uint8_t port, uint64_t mono_ns)
{
	const uint8_t bridge = t->bridge_of[port];
	const uint64_t bucket = bucket_of(t, mac, bridge) * BP_MAC_WAYS;
	const uint64_t now = pack(mac, port, (uint8_t)(mono_ns >> t->shift));
	uint64_t e[BP_MAC_WAYS];

	for (unsigned i = 0; i < BP_MAC_WAYS; i++) {
		e[i] = atomic_load_explicit(&t->entry[bucket + i], memory_order_relaxed);
		if (e[i] == now)
			return BP_MAC_SAME;
		if (!is_entry(t, e[i], mac, bridge))
			continue;
		if (alive(t, e[i], mono_ns) && port_of(e[i]) != port)
			return move(t, bucket + i, e[i], now, mono_ns);
		/*
		 * Another worker may have changed the word meanwhile: its value is equally valid.
		 */
		if (alive(t, e[i], mono_ns)) {
			replace(t, bucket + i, e[i], now);
			return BP_MAC_SAME;
		}
		replace(t, bucket + i, e[i], 0);
		e[i] = 0;
		break;
	}
	for (unsigned i = 0; i < BP_MAC_WAYS; i++)
		e[i] = atomic_load_explicit(&t->entry[bucket + i], memory_order_relaxed);
	return enter(t, bucket, e, now, mono_ns);
}

static void sweep(struct bp_mac_table *t, uint64_t from, uint64_t to, uint64_t mono_ns)
{
	for (uint64_t i = from * BP_MAC_WAYS; i < to * BP_MAC_WAYS; i++) {
		const uint64_t e = atomic_load_explicit(&t->entry[i], memory_order_relaxed);

		if (!in_use(e))
			continue;
		if (!alive(t, e, mono_ns))
			replace(t, i, e, 0);
		else if (atomic_load_explicit(&t->home[i], memory_order_relaxed) != 0)
			home_set(t, i, home_now(t, i, (uint8_t)(mono_ns >> t->shift)));
	}
}

static void flush_all(struct bp_mac_table *t)
{
	for (uint64_t i = 0; i < (t->mask + 1) * BP_MAC_WAYS; i++)
		replace(t, i, atomic_load_explicit(&t->entry[i], memory_order_relaxed), 0);
}

void bp_mac_table_tick(struct bp_mac_table *t, uint64_t mono_ns)
{
	uint64_t step = mono_ns >> t->shift, buckets = t->mask + 1, end;

	/*
	 * After a jump of the time (a capture with a long pause), old entries would appear young,
	 * as ages are modulo 256.
	 */
	if (step - t->swept > 128) {
		if (t->swept != 0)
			flush_all(t);
		t->swept = step;
		t->n_swept = 0;
		return;
	}
	if (step - t->swept < 16)
		return;
	end = t->n_swept + SWEEP_BUCKETS < buckets ? t->n_swept + SWEEP_BUCKETS : buckets;
	sweep(t, t->n_swept, end, mono_ns);
	t->n_swept = end;
	if (end == buckets) {
		t->n_swept = 0;
		t->swept = step;
	}
}

uint64_t bp_mac_table_count(const struct bp_mac_table *t, uint64_t mono_ns)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < (t->mask + 1) * BP_MAC_WAYS; i++)
		n += alive(t, atomic_load_explicit(&t->entry[i], memory_order_relaxed), mono_ns);
	return n;
}

void bp_mac_table_usage(const struct bp_mac_table *t, uint64_t *entries, uint64_t *capacity)
{
	*entries = 0;
	*capacity = t->entries;
	for (unsigned p = 0; p < BP_MAC_PORTS; p++)
		*entries += atomic_load_explicit(&t->held[p], memory_order_relaxed);
}
