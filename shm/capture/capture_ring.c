/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/capture/capture_ring.h"

#include "shm/capture/capture.h"

/* A reservation announces this much in advance: fewer writes to the word that readers poll. */
#define RESERVE_STEP 4096u
#define HEAD ((uint32_t)sizeof(struct bp_capture_record_head))

_Static_assert(BP_CAPTURE_RING_MIN / BP_CAPTURE_BLOCKS >= BP_CAPTURE_RECORD_MAX,
	"the longest record fits one block of the smallest ring");

static uint64_t block_of(uint64_t capacity)
{
	return capacity / BP_CAPTURE_BLOCKS;
}

static struct bp_capture_record_head *record_at(struct bp_capture_ring *r, uint64_t at)
{
	return (struct bp_capture_record_head *)(void *)(r->shared->data +
							 (at & (r->capacity - 1)));
}

/* The space left in the block of a position. */
static uint64_t left_at(uint64_t capacity, uint64_t at)
{
	return block_of(capacity) - (at & (block_of(capacity) - 1));
}

/* Marks what a predecessor may have written behind its head, up to `end`, as empty. */
static void skip_remains(struct bp_capture_ring *r, uint64_t head, uint64_t end)
{
	while (head < end) {
		const uint64_t left = left_at(r->capacity, head);

		*record_at(r, head) = (struct bp_capture_record_head){(uint32_t)left, 0};
		head += left;
	}
}

void bp_capture_ring_attach(
	struct bp_capture_ring *r, struct bp_capture_ring_shared *shared, uint64_t capacity)
{
	const uint64_t block = block_of(capacity);
	uint64_t head = atomic_load_explicit(&shared->head, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&shared->reserved, memory_order_relaxed);

	/* damaged: begin again; readers see that they were overtaken */
	if (head % 8 != 0 || head > end || end - head > capacity / 2 || end > UINT64_MAX / 4)
		head = end = 0;
	*r = (struct bp_capture_ring){.shared = shared, .capacity = capacity};
	end = (end + block - 1) / block * block;
	/* announced before it is written to, as by bp_capture_ring_reserve() */
	atomic_store_explicit(&shared->reserved, end, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	skip_remains(r, head, end);
	r->head = r->end = r->reserved = end;
	atomic_store_explicit(&shared->head, end, memory_order_release);
}

bool bp_capture_ring_fits(const struct bp_capture_ring *r, uint32_t size)
{
	/* with the rest of a block that a record may leave empty */
	return r->end - r->head + left_at(r->capacity, r->end) + size <= 2 * block_of(r->capacity);
}

void *bp_capture_ring_reserve(struct bp_capture_ring *r, uint32_t size)
{
	const uint64_t left = left_at(r->capacity, r->end);
	const uint64_t skip = size > left ? left : 0;
	const uint64_t at = r->end + skip, end = at + size;

	if (end > r->reserved) {
		r->reserved = (end + RESERVE_STEP - 1) & ~(uint64_t)(RESERVE_STEP - 1);
		atomic_store_explicit(&r->shared->reserved, r->reserved, memory_order_relaxed);
		/* pairs with the fence of a reader: who sees the record sees the reservation */
		atomic_thread_fence(memory_order_release);
	}
	if (skip != 0)
		*record_at(r, r->end) = (struct bp_capture_record_head){(uint32_t)left, 0};
	r->end = end;
	return record_at(r, at);
}

void bp_capture_ring_commit(struct bp_capture_ring *r, uint64_t end)
{
	r->head = end;
	r->end = end;
	atomic_store_explicit(&r->shared->head, end, memory_order_release);
}

/* ---- reader ---- */

uint64_t bp_capture_reader_head(const struct bp_capture_reader *r)
{
	return atomic_load_explicit(&r->shared->head, memory_order_acquire);
}

void bp_capture_reader_init(
	struct bp_capture_reader *r, const struct bp_capture_ring_shared *shared, uint64_t capacity)
{
	*r = (struct bp_capture_reader){.shared = shared, .capacity = capacity};
	r->cursor = bp_capture_reader_head(r);
}

static void copy(void *to, const void *from, size_t n)
{
	const uint64_t *words = from;
	uint64_t *out = to;

	for (size_t i = 0; i < n / 8; i++)
		out[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

/* Whether the space from the cursor on may have been overwritten; after a copy. */
static bool overtaken(const struct bp_capture_reader *r)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&r->shared->reserved, memory_order_relaxed) - r->cursor >
	       r->capacity;
}

/* Continues at the oldest block that the writer does not reach soon. */
static void catch_up(struct bp_capture_reader *r)
{
	const uint64_t block = block_of(r->capacity), head = bp_capture_reader_head(r);
	const uint64_t reserved = atomic_load_explicit(&r->shared->reserved, memory_order_relaxed);
	const uint64_t next = (reserved - r->capacity + 2 * block - 1) / block * block;

	r->overruns++;
	r->cursor =
		reserved < r->capacity || next > head || head - next > r->capacity ? head : next;
}

/* Reads the head of the record at the cursor. Returns its size, or 0 if it cannot be one. */
static uint32_t size_at_cursor(const struct bp_capture_reader *r, uint64_t head, uint32_t *kind)
{
	struct bp_capture_record_head h;

	if (r->cursor % 8 != 0)
		return 0;
	copy(&h, r->shared->data + (r->cursor & (r->capacity - 1)), sizeof(h));
	*kind = h.kind;
	if (h.size < HEAD || h.size % 8 != 0 || h.size > left_at(r->capacity, r->cursor) ||
		h.size > head - r->cursor || (h.kind != 0 && h.size > BP_CAPTURE_RECORD_MAX))
		return 0;
	return h.size;
}

bool bp_capture_reader_next(struct bp_capture_reader *r, uint64_t until, void *buf)
{
	/* bounded, whatever the writer does */
	for (unsigned tries = 0; tries < 8 * BP_CAPTURE_BLOCKS; tries++) {
		const uint64_t head = bp_capture_reader_head(r);
		uint32_t size, kind;

		if (r->cursor == head || (int64_t)(until - r->cursor) <= 0)
			return false;
		if (head - r->cursor > r->capacity) {
			catch_up(r);
			continue;
		}
		size = size_at_cursor(r, head, &kind);
		if (size != 0 && kind != 0)
			copy(buf, r->shared->data + (r->cursor & (r->capacity - 1)), size);
		if (overtaken(r)) {
			catch_up(r);
			continue;
		}
		if (size == 0) {
			r->damaged++;
			r->cursor = head;
			return false;
		}
		r->cursor += size;
		if (kind != 0) {
			/* what was checked, not what the copy read again */
			*(struct bp_capture_record_head *)buf =
				(struct bp_capture_record_head){size, kind};
			return true;
		}
	}
	return false;
}
