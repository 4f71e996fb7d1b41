/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_SPARKPLUG_STATE_H
#define BP_SHM_RULES_SPARKPLUG_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/rules/rule_state.h"

/*
 * The name of a device, for the death of its node: of an entry whose value is the hash of the
 * device's topic. A reader compares it with the hash of the topic that the name makes.
 */
#define BP_SPARKPLUG_DEVICE_MAX 63
struct bp_sparkplug_device {
	uint8_t len;
	char name[BP_SPARKPLUG_DEVICE_MAX];
};

/*
 * What the births of Sparkplug B nodes and devices said: for each node its session, and for each
 * metric of a rule its alias and datatype. In the segment, so that it survives a restart of the
 * data plane, and shared by the workers.
 *
 * Each change replaces `value` and `word` in one compare-and-swap of 16 bytes. `word` has half of
 * the key's bits, and a reader compares both these and `key`: so no search finds an entry that
 * another worker reassigns meanwhile, or that a killed worker left between the two stores; it is
 * replaced later. Buckets and eviction are those of struct bp_rule_state.
 */
struct bp_sparkplug_state {
	_Atomic uint64_t value; /* of a node: its session, see below; of a metric: its alias */
	_Atomic uint64_t word;  /* upper half: of the key; lower: data; 0: free */
	_Atomic uint64_t key;
	_Atomic uint32_t client; /* that stored it last */
	_Atomic uint32_t used_s; /* monotonic time of the last use */
	struct bp_sparkplug_device device;
} __attribute__((aligned(16)));

/* The data of a metric: number of the birth << 16 | not in the birth << 15 | has an alias << 8 |
 * datatype. Of a node: number of its last birth << 16 | number of its listed devices. */
#define BP_SPARKPLUG_BIRTH_SHIFT 16
#define BP_SPARKPLUG_HAS_ALIAS (1u << 8)
#define BP_SPARKPLUG_DATATYPE 0xffu
#define BP_SPARKPLUG_NOT_IN_BIRTH (1u << 15)
#define BP_SPARKPLUG_DEVICES 0x7fffu

/* The session of a node, in `value`. */
#define BP_SPARKPLUG_SEQ 0xffu
#define BP_SPARKPLUG_SEQ_KNOWN (1u << 8)
#define BP_SPARKPLUG_BDSEQ_KNOWN (1u << 9)
#define BP_SPARKPLUG_DEAD (1u << 10)
#define BP_SPARKPLUG_BDSEQ_SHIFT 16 /* 8 bits */
#define BP_SPARKPLUG_BORN_SHIFT 24  /* low bits of the timestamp of the NBIRTH, ms */

struct bp_sparkplug_view {
	struct bp_sparkplug_state *entry;
	uint64_t value, word;
	uint32_t data; /* lower half of the word */
};

/* The half of the key that is not used for the bucket. */
static inline uint64_t bp_sparkplug_state_tag(uint64_t key)
{
	return (key | 1ull << 32) & 0xffffffff00000000ull;
}

/* Reads one entry; false: it has another key. Both halves are of one change if the word is the same
 * after it. */
static inline bool bp_sparkplug_state_read(
	struct bp_sparkplug_state *e, uint64_t key, struct bp_sparkplug_view *v)
{
	const uint64_t word = atomic_load_explicit(&e->word, memory_order_acquire);

	if ((word & 0xffffffff00000000ull) != bp_sparkplug_state_tag(key) ||
		atomic_load_explicit(&e->key, memory_order_acquire) != key)
		return false;
	v->value = atomic_load_explicit(&e->value, memory_order_acquire);
	v->entry = e;
	v->word = word;
	v->data = (uint32_t)word;
	return true;
}

/* As bp_sparkplug_state_find(), at the index where the entry was before; false: it is not there, or
 * is being changed. */
static inline bool bp_sparkplug_state_at(struct bp_sparkplug_state *table, uint64_t len,
	uint64_t at, uint64_t key, struct bp_sparkplug_view *v)
{
	return at < len && bp_sparkplug_state_read(&table[at], key, v) &&
	       atomic_load_explicit(&v->entry->word, memory_order_acquire) == v->word;
}

/* Any process. False: there is no entry of this key. */
bool bp_sparkplug_state_find(
	struct bp_sparkplug_state *table, uint64_t len, uint64_t key, struct bp_sparkplug_view *v);

/* Notes that the entry was used. */
static inline void bp_sparkplug_state_use(struct bp_sparkplug_state *e, uint64_t now_ns)
{
	const uint32_t now_s = (uint32_t)(now_ns >> 30);

	if (atomic_load_explicit(&e->used_s, memory_order_relaxed) != now_s)
		atomic_store_explicit(&e->used_s, now_s, memory_order_relaxed);
}

/* Replaces what bp_sparkplug_state_find() returned. False: another worker has changed it. */
bool bp_sparkplug_state_change(const struct bp_sparkplug_view *v, uint64_t value, uint32_t data);

/*
 * Stores an entry, in place of the one with the same key if there is one. client: that sent it, not
 * 0. Entries with BP_SPARKPLUG_NOT_IN_BIRTH are evicted first, and evict no others. Returns whether
 * another entry was evicted (BP_STATE_HOLD_EVICTED) or this one was not stored (BP_STATE_NOT_KEPT).
 */
enum bp_state_loss bp_sparkplug_state_store(struct bp_sparkplug_state *table, uint64_t len,
	uint64_t key, uint32_t client, uint64_t value, uint32_t data, uint64_t now_ns);

#endif
