/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_INDEX_H
#define BP_SHM_INDEX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A hash index in private memory over things that their owner numbers 0..capacity-1 and keeps
 * itself: chains of numbers. The owner computes the hash and compares.
 *
 *	for (i = bp_index_first(ix, hash); i != BP_INDEX_END; i = bp_index_next(ix, i))
 *		if (equal(thing[i], wanted)) ...
 */
#define BP_INDEX_END UINT32_MAX

struct bp_index {
	uint32_t *head, *next;
	uint32_t buckets, capacity; /* buckets: a power of two */
};

/* Returns false without memory. */
bool bp_index_init(struct bp_index *ix, uint32_t capacity);
void bp_index_free(struct bp_index *ix);
/* Grows the index to numbers below `capacity`, with as many buckets; hash_of() returns the hash of
 * an entry. */
bool bp_index_grow(struct bp_index *ix, uint32_t capacity,
	uint64_t (*hash_of)(const void *arg, uint32_t i), const void *arg);

void bp_index_add(struct bp_index *ix, uint64_t hash, uint32_t i);
/* i was added under that hash. */
void bp_index_remove(struct bp_index *ix, uint64_t hash, uint32_t i);

static inline uint32_t bp_index_first(const struct bp_index *ix, uint64_t hash)
{
	return ix->head[hash & (ix->buckets - 1)];
}
static inline uint32_t bp_index_next(const struct bp_index *ix, uint32_t i)
{
	return ix->next[i];
}

#endif
