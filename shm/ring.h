/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RING_H
#define BP_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A ring of records of any length for one writer and one reader in different processes. The writer
 * never waits: no room is an answer. Either side may be killed at any instruction: a record becomes
 * visible, or its room free, by one store. Lies in the segment; capacity is a power of two.
 *
 * The reader may read ahead of the tail with its own cursor and move the tail later, when what it
 * read is safe elsewhere: until then a restarted reader sees it again.
 */
struct bp_ring {
	uint64_t capacity; /* bytes of data */
	uint8_t pad0[56];
	_Atomic uint64_t head; /* writer: end of what is complete; counts bytes, never wraps */
	uint64_t writer_tail;  /* writer's last look at tail, to load the shared one rarely */
	uint8_t pad1[48];
	_Atomic uint64_t tail; /* reader: start of what it still needs */
	uint8_t pad2[56];
	uint8_t data[];
};

#define BP_RING_OVERHEAD sizeof(struct bp_ring)

void bp_ring_init(struct bp_ring *r, uint64_t capacity);
/* Bytes to set aside for a ring of at least `bytes` data: rounded up to a power of two. */
uint64_t bp_ring_capacity(uint64_t bytes);

/*
 * Writer: room for a record of `size` bytes, contiguous, 8-byte aligned, or NULL when full or when
 * size exceeds capacity/4. *mark goes to bp_ring_commit(), which makes the record visible.
 */
void *bp_ring_reserve(struct bp_ring *r, uint32_t size, uint64_t *mark);
void bp_ring_commit(struct bp_ring *r, uint64_t mark);
/* Likewise, behind a record that is not committed yet, or bp_ring_head(): to commit several at
 * once. */
void *bp_ring_reserve_behind(struct bp_ring *r, uint64_t end, uint32_t size, uint64_t *mark);
uint64_t bp_ring_head(const struct bp_ring *r);
/* The largest record it takes. */
uint32_t bp_ring_record_max(const struct bp_ring *r);

/*
 * Reader: the record at *cursor (start with the tail), or NULL when there is none; sets *size and
 * moves *cursor behind it. A damaged ring (lengths that cannot be) returns NULL and sets *cursor to
 * the head.
 */
const void *bp_ring_peek(struct bp_ring *r, uint64_t *cursor, uint32_t *size);
void bp_ring_release(struct bp_ring *r, uint64_t cursor); /* tail = cursor */
uint64_t bp_ring_tail(const struct bp_ring *r);
uint64_t bp_ring_used(const struct bp_ring *r);

#endif
