/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mac_table.h"

#include <stdlib.h>
#include <string.h>

/* A word: bits 0..47 the address, 48..55 the port + 1 (0: the word is free), 56..63 the step. */
#define MAC_BITS 0xffffffffffffull
#define SWEEP_BUCKETS 64

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
	uint64_t h = (mac ^ (uint64_t)bridge << 48) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 32) & t->mask;
}

struct bp_mac_table *bp_mac_table_create(uint32_t entries, uint64_t ageing_ns)
{
	uint64_t buckets = 1, size;
	struct bp_mac_table *t;

	while (buckets * BP_MAC_WAYS < entries)
		buckets <<= 1;
	size = sizeof(*t) + buckets * BP_MAC_WAYS * sizeof(t->entry[0]);
	size = (size + 63) & ~63ull;
	t = aligned_alloc(64, size);
	if (!t)
		return NULL;
	memset(t, 0, size);
	memset(t->bridge_of, BP_MAC_UNKNOWN, sizeof(t->bridge_of));
	t->mask = buckets - 1;
	/* 32 to 64 steps a lifetime: far from the 256 at which steps repeat */
	while (ageing_ns >> t->shift > 64)
		t->shift++;
	t->lifetime = (uint8_t)((ageing_ns + (1ull << t->shift) - 1) >> t->shift);
	return t;
}

void bp_mac_table_free(struct bp_mac_table *t)
{
	free(t);
}

void bp_mac_table_set_bridge(struct bp_mac_table *t, uint8_t port, uint8_t bridge)
{
	t->bridge_of[port] = bridge;
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

/* The word to give to a new address: a free or dead one, else the oldest. */
static unsigned victim(const struct bp_mac_table *t, const uint64_t *e, uint64_t mono_ns)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < BP_MAC_WAYS; i++) {
		if (!alive(t, e[i], mono_ns))
			return i;
		if (age_of(t, e[i], mono_ns) > age_of(t, e[oldest], mono_ns))
			oldest = i;
	}
	return oldest;
}

enum bp_mac_change bp_mac_learn(
	struct bp_mac_table *t, uint64_t mac, uint8_t port, uint64_t mono_ns)
{
	uint8_t bridge = t->bridge_of[port];
	_Atomic uint64_t *b = &t->entry[bucket_of(t, mac, bridge) * BP_MAC_WAYS];
	uint64_t now = pack(mac, port, (uint8_t)(mono_ns >> t->shift));
	uint64_t e[BP_MAC_WAYS];
	enum bp_mac_change change;
	unsigned v;

	for (unsigned i = 0; i < BP_MAC_WAYS; i++) {
		e[i] = atomic_load_explicit(&b[i], memory_order_relaxed);
		if (!is_entry(t, e[i], mac, bridge))
			continue;
		if (e[i] == now)
			return BP_MAC_SAME;
		change = !alive(t, e[i], mono_ns) ? BP_MAC_NEW
			 : port_of(e[i]) == port  ? BP_MAC_SAME
						  : BP_MAC_MOVED;
		/* Another worker may have changed it meanwhile: its word is as good as ours. */
		atomic_compare_exchange_strong_explicit(
			&b[i], &e[i], now, memory_order_relaxed, memory_order_relaxed);
		return change;
	}
	v = victim(t, e, mono_ns);
	change = alive(t, e[v], mono_ns) ? BP_MAC_EVICTED : BP_MAC_NEW;
	if (!atomic_compare_exchange_strong_explicit(
		    &b[v], &e[v], now, memory_order_relaxed, memory_order_relaxed))
		return BP_MAC_SAME; /* lost a race for the word: learned with its next frame */
	return change;
}

static void sweep(struct bp_mac_table *t, uint64_t from, uint64_t to, uint64_t mono_ns)
{
	for (uint64_t i = from * BP_MAC_WAYS; i < to * BP_MAC_WAYS; i++) {
		uint64_t e = atomic_load_explicit(&t->entry[i], memory_order_relaxed);

		if (in_use(e) && !alive(t, e, mono_ns))
			atomic_compare_exchange_strong_explicit(
				&t->entry[i], &e, 0, memory_order_relaxed, memory_order_relaxed);
	}
}

void bp_mac_table_tick(struct bp_mac_table *t, uint64_t mono_ns)
{
	uint64_t step = mono_ns >> t->shift, buckets = t->mask + 1, end;

	/* Time has leapt (a capture with a long pause): by age modulo 256 the old would look young.
	 */
	if (step - t->swept > 128) {
		if (t->swept != 0)
			for (uint64_t i = 0; i < buckets * BP_MAC_WAYS; i++)
				atomic_store_explicit(&t->entry[i], 0, memory_order_relaxed);
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
