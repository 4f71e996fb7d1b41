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
 * visible, or its room free, by one store.
 *
 * The reader may read ahead of the tail with its own cursor and move the tail later, when what it
 * read is safe elsewhere: until then a restarted reader sees it again.
 *
 * What the writer writes and what the reader writes lie in different parts of the segment. The
 * writer goes by a position of its own, which no other process can change, and takes the reader's
 * for no more than a hint: one that cannot be leaves the ring full until the reader stores a right
 * one, and is counted.
 */
struct bp_ring_data {
	_Atomic uint64_t head; /* writer: end of what is complete; counts bytes, never wraps */
	uint8_t pad[56];
	uint8_t data[];
};
struct bp_ring_tail {
	_Atomic uint64_t tail; /* reader: start of what it still needs */
	uint8_t pad[56];
};

/* A process's view of a ring. */
struct bp_ring {
	uint64_t capacity; /* bytes of data, a power of two */
	struct bp_ring_data *shared;
	struct bp_ring_tail *reader;
	uint8_t *data;
	/* the writer's own */
	uint64_t head;          /* end of what is complete */
	uint64_t seen_tail;     /* its last look at tail, to load the shared one rarely */
	uint64_t corrupt_tails; /* tails that could not be, since they were asked for */
	uint64_t pad;
} __attribute__((aligned(64)));

#define BP_RING_OVERHEAD sizeof(struct bp_ring_data)

/* The view of a ring that lies there; the writer goes on where the one before it ended. */
void bp_ring_attach(struct bp_ring *r, struct bp_ring_data *shared, struct bp_ring_tail *reader,
	uint64_t capacity);
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
/* How often the reader's position could not be, since this was asked last. */
uint64_t bp_ring_corrupt_tails(struct bp_ring *r);
/* The largest record it takes. */
uint32_t bp_ring_record_max(const struct bp_ring *r);

/*
 * Reader: the record at *cursor (start with the tail), or NULL when there is none; sets *size and
 * moves *cursor behind it. A damaged ring (lengths that cannot be) returns NULL and sets *cursor to
 * the head.
 */
const void *bp_ring_peek(struct bp_ring *r, uint64_t *cursor, uint32_t *size);
void bp_ring_release(struct bp_ring *r, uint64_t cursor); /* tail = cursor */
/* What is in it is done with. */
void bp_ring_release_all(struct bp_ring *r);
uint64_t bp_ring_tail(const struct bp_ring *r);
uint64_t bp_ring_used(const struct bp_ring *r);

#endif
