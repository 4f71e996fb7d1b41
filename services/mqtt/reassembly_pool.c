/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/reassembly_pool.h"

#include <stdlib.h>
#include <string.h>

#define ORDERS 32
#define NIL UINT32_MAX

/* Per smallest block: whether a free block begins here, and its order. Before the arena is open:
 * whether it is claimed. */
#define META_FREE 0x80
#define META_CLAIMED 0x7f
#define META_NONE 0

struct links {
	uint32_t prev, next; /* smallest-block indices; stored in the free block itself */
};

struct bp_reassembly {
	uint8_t *base;
	uint8_t *meta;
	uint64_t bytes;
	uint64_t used;
	uint32_t blocks;
	unsigned top; /* order of the largest block */
	uint32_t free_head[ORDERS];
	/* released but not free yet: an array of the maximum number, of which few are used */
	bp_reassembly_ref *kept;
	uint32_t n_kept;
	bool defers_release;
};

static struct links *links_at(const struct bp_reassembly *c, uint32_t i)
{
	return (struct links *)(void *)(c->base + ((uint64_t)i << BP_REASSEMBLY_SHIFT));
}

static void free_push(struct bp_reassembly *c, uint32_t i, unsigned order)
{
	struct links *l = links_at(c, i);

	l->prev = NIL;
	l->next = c->free_head[order];
	if (l->next != NIL)
		links_at(c, l->next)->prev = i;
	c->free_head[order] = i;
	c->meta[i] = (uint8_t)(META_FREE | order);
}

static void free_remove(struct bp_reassembly *c, uint32_t i, unsigned order)
{
	struct links *l = links_at(c, i);

	if (l->prev == NIL)
		c->free_head[order] = l->next;
	else
		links_at(c, l->prev)->next = l->next;
	if (l->next != NIL)
		links_at(c, l->next)->prev = l->prev;
	c->meta[i] = META_NONE;
}

static unsigned order_of(uint64_t bytes)
{
	unsigned order = 0;

	while (((uint64_t)1 << (BP_REASSEMBLY_SHIFT + order)) < bytes)
		order++;
	return order;
}

/*
 * A reference is twice the index of the block's first smallest block, plus 2^order: as the index is
 * a multiple of 2^order, the lowest set bit is that of the order.
 */
static bp_reassembly_ref ref_of(uint32_t i, unsigned order)
{
	return 2 * i + ((uint32_t)1 << order);
}

static unsigned ref_order(bp_reassembly_ref ref)
{
	return (unsigned)__builtin_ctz(ref);
}

static uint32_t ref_index(bp_reassembly_ref ref)
{
	return (ref & (ref - 1)) >> 1;
}

struct bp_reassembly *bp_reassembly_create(void *memory, uint64_t bytes, uint64_t largest_block)
{
	struct bp_reassembly *c = calloc(1, sizeof(*c));
	uint64_t block;

	if (c == NULL)
		return NULL;
	c->base = memory;
	c->top = order_of(largest_block);
	while (c->top > 0 && ((uint64_t)1 << (BP_REASSEMBLY_SHIFT + c->top)) > bytes)
		c->top--;
	block = (uint64_t)1 << (BP_REASSEMBLY_SHIFT + c->top);
	c->bytes = bytes / block * block;
	/* a reference has 31 bits of index */
	if (c->bytes == 0 || c->bytes >> BP_REASSEMBLY_SHIFT >= NIL / 2) {
		free(c);
		return NULL;
	}
	c->blocks = (uint32_t)(c->bytes >> BP_REASSEMBLY_SHIFT);
	c->meta = calloc(c->blocks, 1);
	c->kept = calloc(c->blocks, sizeof(*c->kept));
	if (c->meta == NULL || c->kept == NULL) {
		bp_reassembly_destroy(c);
		return NULL;
	}
	for (unsigned o = 0; o < ORDERS; o++)
		c->free_head[o] = NIL;
	return c;
}

void bp_reassembly_destroy(struct bp_reassembly *c)
{
	if (c == NULL)
		return;
	free(c->meta);
	free(c->kept);
	free(c);
}

bool bp_reassembly_claim(struct bp_reassembly *c, bp_reassembly_ref ref)
{
	uint32_t i, n;

	if (ref == 0 || ref_order(ref) > c->top)
		return false;
	i = ref_index(ref);
	n = (uint32_t)1 << ref_order(ref);
	if (i >= c->blocks || n > c->blocks - i)
		return false;
	for (uint32_t k = i; k < i + n; k++) {
		if (c->meta[k] != META_NONE)
			return false;
	}
	memset(c->meta + i, META_CLAIMED, n);
	c->used += (uint64_t)n << BP_REASSEMBLY_SHIFT;
	return true;
}

void bp_reassembly_unclaim(struct bp_reassembly *c, bp_reassembly_ref ref)
{
	const uint32_t n = (uint32_t)1 << ref_order(ref);

	memset(c->meta + ref_index(ref), META_NONE, n);
	c->used -= (uint64_t)n << BP_REASSEMBLY_SHIFT;
}

/* The largest aligned blocks of [begin, end): no two of them can be merged. Lowest last: it is
 * allocated first. */
static void free_run(struct bp_reassembly *c, uint32_t begin, uint32_t end)
{
	while (end > begin) {
		unsigned order = (unsigned)__builtin_ctz(end);

		while (order > c->top || (uint32_t)1 << order > end - begin)
			order--;
		end -= (uint32_t)1 << order;
		free_push(c, end, order);
	}
}

void bp_reassembly_open(struct bp_reassembly *c)
{
	uint32_t end = c->blocks;

	while (end > 0) {
		uint32_t begin = end;

		while (begin > 0 && c->meta[begin - 1] != META_CLAIMED)
			begin--;
		free_run(c, begin, end);
		end = begin;
		while (end > 0 && c->meta[end - 1] == META_CLAIMED)
			end--;
	}
}

bp_reassembly_ref bp_reassembly_alloc(struct bp_reassembly *c, uint64_t bytes)
{
	unsigned want, have;
	uint32_t i;

	if (bytes > (uint64_t)1 << (BP_REASSEMBLY_SHIFT + c->top))
		return 0;
	want = order_of(bytes);
	for (have = want; have <= c->top && c->free_head[have] == NIL; have++)
		;
	if (have > c->top)
		return 0;
	i = c->free_head[have];
	free_remove(c, i, have);
	while (have > want) {
		have--;
		free_push(c, i + ((uint32_t)1 << have), have);
	}
	c->used += (uint64_t)1 << (BP_REASSEMBLY_SHIFT + want);
	return ref_of(i, want);
}

static void release(struct bp_reassembly *c, bp_reassembly_ref ref)
{
	uint32_t i = ref_index(ref);
	unsigned order = ref_order(ref);

	c->used -= (uint64_t)1 << (BP_REASSEMBLY_SHIFT + order);
	while (order < c->top) {
		uint32_t buddy = i ^ ((uint32_t)1 << order);

		if (buddy >= c->blocks || c->meta[buddy] != (META_FREE | order))
			break;
		free_remove(c, buddy, order);
		i &= ~((uint32_t)1 << order);
		order++;
	}
	free_push(c, i, order);
}

void bp_reassembly_release(struct bp_reassembly *c, bp_reassembly_ref ref)
{
	if (ref == 0)
		return;
	if (c->defers_release)
		c->kept[c->n_kept++] = ref;
	else
		release(c, ref);
}

void bp_reassembly_defer_release(struct bp_reassembly *c)
{
	c->defers_release = true;
}

bool bp_reassembly_end_deferred(struct bp_reassembly *c)
{
	const bool more = c->n_kept != 0;

	c->defers_release = false;
	while (c->n_kept != 0)
		release(c, c->kept[--c->n_kept]);
	return more;
}

uint8_t *bp_reassembly_data(const struct bp_reassembly *c, bp_reassembly_ref ref)
{
	return c->base + bp_reassembly_offset(ref);
}

uint8_t *bp_reassembly_begin(const struct bp_reassembly *c)
{
	return c->base;
}

uint64_t bp_reassembly_size(const struct bp_reassembly *c, bp_reassembly_ref ref)
{
	(void)c;
	return bp_reassembly_room(ref);
}

uint64_t bp_reassembly_used(const struct bp_reassembly *c)
{
	return c->used;
}

uint64_t bp_reassembly_capacity(const struct bp_reassembly *c)
{
	return c->bytes;
}

uint64_t bp_reassembly_peek(
	const void *memory, uint64_t bytes, bp_reassembly_ref ref, void *out, uint64_t n)
{
	uint64_t at, size;

	if (ref == 0)
		return 0;
	at = (uint64_t)ref_index(ref) << BP_REASSEMBLY_SHIFT;
	size = (uint64_t)1 << (BP_REASSEMBLY_SHIFT + ref_order(ref));
	if (size > bytes || at > bytes - size)
		return 0;
	n = n < size ? n : size;
	memcpy(out, (const uint8_t *)memory + at, n);
	return n;
}
