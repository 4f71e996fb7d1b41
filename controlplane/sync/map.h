/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_MAP_H
#define BP_CONTROLPLANE_SYNC_MAP_H

#include <stddef.h>
#include <stdint.h>

/* A hash table of chains; its elements begin with a struct bp_map_node, and the caller owns
 * them. */
struct bp_map_node {
	struct bp_map_node *next;
	uint64_t hash;
};

struct bp_map {
	struct bp_map_node **bucket;
	uint32_t n, buckets; /* buckets: a power of two, or 0 before the first element */
};

void bp_map_free(struct bp_map *m); /* the buckets */
/* Returns 0, or -1 without memory for the first buckets. Grows when it is full, which moves
 * elements to other buckets. */
int bp_map_add(struct bp_map *m, struct bp_map_node *node, uint64_t hash);
void bp_map_remove(struct bp_map *m, struct bp_map_node *node);

/* Returns the chain with the elements of that hash; it also contains elements of other hashes. */
static inline struct bp_map_node *bp_map_chain(const struct bp_map *m, uint64_t hash)
{
	return m->buckets == 0 ? NULL : m->bucket[hash & (m->buckets - 1)];
}

/* Keyed with a secret of this process: routing peers cannot choose prefixes that collide. */
uint64_t bp_map_hash(const void *p, size_t len);

#endif
