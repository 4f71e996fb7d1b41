/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/index.h"

#include <stdlib.h>
#include <string.h>

static uint32_t buckets_for(uint32_t capacity)
{
	uint32_t n = 16;

	while (n < capacity && n < 1u << 31)
		n *= 2;
	return n;
}

static uint32_t *heads_new(uint32_t buckets)
{
	uint32_t *head = malloc(buckets * sizeof(*head));

	if (head)
		memset(head, 0xff, buckets * sizeof(*head));
	return head;
}

bool bp_index_init(struct bp_index *ix, uint32_t capacity)
{
	ix->capacity = capacity;
	ix->buckets = buckets_for(capacity);
	ix->head = heads_new(ix->buckets);
	ix->next = malloc((capacity ? capacity : 1) * sizeof(*ix->next));
	if (ix->head && ix->next)
		return true;
	bp_index_free(ix);
	return false;
}

void bp_index_free(struct bp_index *ix)
{
	free(ix->head);
	free(ix->next);
	*ix = (struct bp_index){0};
}

bool bp_index_grow(struct bp_index *ix, uint32_t capacity,
	uint64_t (*hash_of)(const void *arg, uint32_t i), const void *arg)
{
	struct bp_index grown = {.capacity = capacity, .buckets = buckets_for(capacity)};

	grown.next = realloc(ix->next, capacity * sizeof(*grown.next));
	if (!grown.next)
		return false;
	ix->next = grown.next;
	ix->capacity = capacity;
	if (grown.buckets == ix->buckets)
		return true;
	grown.head = heads_new(grown.buckets);
	if (!grown.head)
		return true; /* longer chains, and all the same */
	for (uint32_t b = 0; b < ix->buckets; b++) {
		for (uint32_t i = ix->head[b], next; i != BP_INDEX_END; i = next) {
			next = ix->next[i];
			bp_index_add(&grown, hash_of(arg, i), i);
		}
	}
	free(ix->head);
	*ix = grown;
	return true;
}

void bp_index_add(struct bp_index *ix, uint64_t hash, uint32_t i)
{
	uint32_t *head = &ix->head[hash & (ix->buckets - 1)];

	ix->next[i] = *head;
	*head = i;
}

void bp_index_remove(struct bp_index *ix, uint64_t hash, uint32_t i)
{
	uint32_t *at = &ix->head[hash & (ix->buckets - 1)];

	while (*at != i)
		at = &ix->next[*at];
	*at = ix->next[i];
}
