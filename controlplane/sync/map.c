/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>

#include "controlplane/process/clock.h"
#include "shm/hash.h"

#define FIRST_BUCKETS 64u

void bp_map_free(struct bp_map *m)
{
	free(m->bucket);
	*m = (struct bp_map){0};
}

static int grow(struct bp_map *m)
{
	uint32_t buckets = m->buckets == 0 ? FIRST_BUCKETS : m->buckets * 2;
	struct bp_map_node **bucket = calloc(buckets, sizeof(struct bp_map_node *));

	if (bucket == NULL)
		return -1;
	for (uint32_t b = 0; b < m->buckets; b++)
		while (m->bucket[b] != NULL) {
			struct bp_map_node *node = m->bucket[b];

			m->bucket[b] = node->next;
			node->next = bucket[node->hash & (buckets - 1)];
			bucket[node->hash & (buckets - 1)] = node;
		}
	free(m->bucket);
	m->bucket = bucket;
	m->buckets = buckets;
	return 0;
}

int bp_map_add(struct bp_map *m, struct bp_map_node *node, uint64_t hash)
{
	/* Without memory for more buckets the chains become longer. */
	if (m->n >= m->buckets && grow(m) != 0 && m->buckets == 0)
		return -1;
	node->hash = hash;
	node->next = m->bucket[hash & (m->buckets - 1)];
	m->bucket[hash & (m->buckets - 1)] = node;
	m->n++;
	return 0;
}

void bp_map_remove(struct bp_map *m, struct bp_map_node *node)
{
	struct bp_map_node **at = &m->bucket[node->hash & (m->buckets - 1)];

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	m->n--;
}

uint64_t bp_map_hash(const void *p, size_t len)
{
	static uint64_t key[2];
	static bool made;

	if (!made) {
		if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
			key[0] = bp_mix64(bp_mono_ns());
		made = true;
	}
	return bp_hash_bytes(key, p, len);
}
