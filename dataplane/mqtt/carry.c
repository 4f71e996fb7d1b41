/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/carry.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIN_SHIFT 7 /* 128 bytes: a cut sensor PUBLISH fits the smallest block */
#define ORDERS 32
#define NIL UINT32_MAX

/* Per smallest block: the order of the block that begins here, and whether it is free. */
#define META_FREE 0x80
#define META_NONE 0x7f

struct links {
	uint32_t prev, next; /* smallest-block indices; they lie in the free block itself */
};

struct bp_carry {
	uint8_t *base;
	uint8_t *meta;
	uint64_t bytes;
	uint64_t used;
	uint32_t blocks;
	unsigned top; /* order of the largest block */
	uint32_t free_head[ORDERS];
};

static struct links *links_at(const struct bp_carry *c, uint32_t i)
{
	return (struct links *)(void *)(c->base + ((uint64_t)i << MIN_SHIFT));
}

static void free_push(struct bp_carry *c, uint32_t i, unsigned order)
{
	struct links *l = links_at(c, i);

	l->prev = NIL;
	l->next = c->free_head[order];
	if (l->next != NIL)
		links_at(c, l->next)->prev = i;
	c->free_head[order] = i;
	c->meta[i] = (uint8_t)(META_FREE | order);
}

static void free_remove(struct bp_carry *c, uint32_t i, unsigned order)
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

	while (((uint64_t)1 << (MIN_SHIFT + order)) < bytes)
		order++;
	return order;
}

struct bp_carry *bp_carry_create(uint64_t bytes, uint64_t largest_block)
{
	struct bp_carry *c = calloc(1, sizeof(*c));
	uint64_t block;

	if (c == NULL)
		return NULL;
	c->top = order_of(largest_block);
	while (c->top > 0 && ((uint64_t)1 << (MIN_SHIFT + c->top)) > bytes)
		c->top--;
	block = (uint64_t)1 << (MIN_SHIFT + c->top);
	c->bytes = bytes / block * block;
	if (c->bytes == 0)
		c->bytes = block;
	if (c->top >= ORDERS || c->bytes >> MIN_SHIFT >= NIL) {
		free(c);
		return NULL;
	}
	c->blocks = (uint32_t)(c->bytes >> MIN_SHIFT);
	c->base = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c->meta = malloc(c->blocks);
	if (c->base == MAP_FAILED || c->meta == NULL) {
		if (c->base != MAP_FAILED)
			munmap(c->base, c->bytes);
		free(c->meta);
		free(c);
		return NULL;
	}
	(void)madvise(c->base, c->bytes, MADV_HUGEPAGE);
	memset(c->meta, META_NONE, c->blocks);
	for (unsigned o = 0; o < ORDERS; o++)
		c->free_head[o] = NIL;
	for (uint64_t at = c->bytes; at != 0; at -= block)
		free_push(c, (uint32_t)((at - block) >> MIN_SHIFT), c->top);
	return c;
}

void bp_carry_destroy(struct bp_carry *c)
{
	if (c == NULL)
		return;
	munmap(c->base, c->bytes);
	free(c->meta);
	free(c);
}

bp_carry_ref bp_carry_alloc(struct bp_carry *c, uint64_t bytes)
{
	unsigned want, have;
	uint32_t i;

	if (bytes > (uint64_t)1 << (MIN_SHIFT + c->top))
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
	c->meta[i] = (uint8_t)want;
	c->used += (uint64_t)1 << (MIN_SHIFT + want);
	return i + 1;
}

void bp_carry_release(struct bp_carry *c, bp_carry_ref ref)
{
	uint32_t i = ref - 1;
	unsigned order;

	if (ref == 0)
		return;
	order = c->meta[i];
	c->used -= (uint64_t)1 << (MIN_SHIFT + order);
	while (order < c->top) {
		uint32_t buddy = i ^ ((uint32_t)1 << order);

		if (buddy >= c->blocks || c->meta[buddy] != (META_FREE | order))
			break;
		free_remove(c, buddy, order);
		c->meta[i] = META_NONE;
		i &= ~((uint32_t)1 << order);
		order++;
	}
	free_push(c, i, order);
}

uint8_t *bp_carry_data(const struct bp_carry *c, bp_carry_ref ref)
{
	return c->base + ((uint64_t)(ref - 1) << MIN_SHIFT);
}

uint64_t bp_carry_size(const struct bp_carry *c, bp_carry_ref ref)
{
	return (uint64_t)1 << (MIN_SHIFT + c->meta[ref - 1]);
}

uint64_t bp_carry_used(const struct bp_carry *c)
{
	return c->used;
}

uint64_t bp_carry_capacity(const struct bp_carry *c)
{
	return c->bytes;
}
