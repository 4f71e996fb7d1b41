/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/ring.h"

/*
 * Data format: consecutive records, each with a head of eight bytes and the payload, rounded up to
 * eight bytes. A record is contiguous; if it does not fit before the end, a head with the size SKIP
 * marks the rest of the buffer as empty. One store of `head` makes the skip and the record visible
 * together, so a writer that dies before this store has written nothing.
 */
struct record {
	_Atomic uint32_t size;
	uint32_t pad;
};

#define HEAD ((uint64_t)sizeof(struct record))
#define SKIP UINT32_MAX
#define CAPACITY_MIN 64u
#define CAPACITY_MAX (1ull << 62)

static uint64_t room_of(uint32_t size)
{
	return HEAD + (((uint64_t)size + 7) & ~7ull);
}

static struct record *record_at(struct bp_ring *r, uint64_t offset)
{
	return (struct record *)(void *)(r->data + offset);
}

uint64_t bp_ring_capacity(uint64_t bytes)
{
	uint64_t c = CAPACITY_MIN;

	while (c < bytes && c < CAPACITY_MAX)
		c <<= 1;
	return c;
}

/* Rounded: a damaged head must not make the writer write across the end, and both the writer and
 * the reader round it equally. */
static uint64_t head_of(const struct bp_ring_data *shared, memory_order order)
{
	return (atomic_load_explicit(&shared->head, order) + 7) & ~7ull;
}

void bp_ring_attach(struct bp_ring *r, struct bp_ring_data *shared, struct bp_ring_tail *reader,
	uint64_t capacity)
{
	*r = (struct bp_ring){
		.capacity = capacity, .shared = shared, .reader = reader, .data = shared->data};
	r->head = head_of(shared, memory_order_relaxed);
	r->seen_tail = r->head - capacity; /* full, until the reader's was seen */
}

uint32_t bp_ring_record_max(const struct bp_ring *r)
{
	uint64_t most = r->capacity / 4;

	return most < UINT32_MAX - 16 ? (uint32_t)most : UINT32_MAX - 16;
}

uint64_t bp_ring_head(const struct bp_ring *r)
{
	return r->head;
}

/* Reads the reader's position again. False: no space for a record that ends there. */
static bool tail_look(struct bp_ring *r, uint64_t end)
{
	const uint64_t tail = atomic_load_explicit(&r->reader->tail, memory_order_acquire);

	if (r->head - tail > r->capacity) { /* before the contents, or beyond them */
		r->corrupt_tails++;
		return false;
	}
	r->seen_tail = tail;
	return end - tail <= r->capacity;
}

uint64_t bp_ring_corrupt_tails(struct bp_ring *r)
{
	const uint64_t n = r->corrupt_tails;

	r->corrupt_tails = 0;
	return n;
}

void *bp_ring_reserve(struct bp_ring *r, uint32_t size, uint64_t *mark)
{
	return bp_ring_reserve_behind(r, bp_ring_head(r), size, mark);
}

void *bp_ring_reserve_behind(struct bp_ring *r, uint64_t last, uint32_t size, uint64_t *mark)
{
	const uint64_t capacity = r->capacity;
	const uint64_t head = (last + 7) & ~7ull;
	const uint64_t offset = head & (capacity - 1);
	const uint64_t left = capacity - offset;
	const uint64_t need = room_of(size);
	const uint64_t skip = need > left ? left : 0;
	const uint64_t end = head + skip + need;
	struct record *rec;

	if (size > bp_ring_record_max(r))
		return NULL;
	if (end - r->seen_tail > capacity && !tail_look(r, end))
		return NULL;
	rec = record_at(r, offset);
	if (skip) {
		atomic_store_explicit(&rec->size, SKIP, memory_order_relaxed);
		rec = record_at(r, 0);
	}
	atomic_store_explicit(&rec->size, size, memory_order_relaxed);
	*mark = end;
	return rec + 1;
}

void bp_ring_commit(struct bp_ring *r, uint64_t mark)
{
	r->head = mark;
	atomic_store_explicit(&r->shared->head, mark, memory_order_release);
}

/* Size in bytes of the record at `cursor` with `avail` readable bytes, or 0 if it is invalid. */
static uint64_t record_extent(struct bp_ring *r, uint64_t cursor, uint64_t avail, uint32_t *size)
{
	const uint64_t offset = cursor & (r->capacity - 1);
	const uint64_t left = r->capacity - offset;
	uint64_t extent;

	if ((cursor & 7) || avail < HEAD || avail > r->capacity)
		return 0;
	*size = atomic_load_explicit(&record_at(r, offset)->size, memory_order_relaxed);
	if (*size == SKIP)
		extent = offset ? left : 0; /* a skip at the start is invalid */
	else if (*size > bp_ring_record_max(r))
		extent = 0;
	else
		extent = room_of(*size);
	return extent <= avail && extent <= left ? extent : 0;
}

const void *bp_ring_peek(struct bp_ring *r, uint64_t *cursor, uint32_t *size)
{
	const uint64_t head = head_of(r->shared, memory_order_acquire);
	uint64_t at = *cursor;
	uint64_t extent;
	uint32_t n;

	if (at == head)
		return NULL;
	extent = record_extent(r, at, head - at, &n);
	if (extent && n == SKIP) {
		at += extent;
		/* the record after a skip starts at 0, where a second skip is damage */
		extent = record_extent(r, at, head - at, &n);
	}
	if (extent == 0) {
		*cursor = head;
		return NULL;
	}
	*size = n;
	*cursor = at + extent;
	return record_at(r, at & (r->capacity - 1)) + 1;
}

void bp_ring_release(struct bp_ring *r, uint64_t cursor)
{
	atomic_store_explicit(&r->reader->tail, cursor, memory_order_release);
}

void bp_ring_release_all(struct bp_ring *r)
{
	bp_ring_release(r, head_of(r->shared, memory_order_acquire));
}

uint64_t bp_ring_tail(const struct bp_ring *r)
{
	return atomic_load_explicit(&r->reader->tail, memory_order_acquire);
}

uint64_t bp_ring_written(const struct bp_ring *r)
{
	return head_of(r->shared, memory_order_acquire);
}

uint64_t bp_ring_used(const struct bp_ring *r)
{
	const uint64_t tail = atomic_load_explicit(&r->reader->tail, memory_order_acquire);
	const uint64_t used = head_of(r->shared, memory_order_acquire) - tail;

	return used <= r->capacity ? used : r->capacity;
}
