/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RING_H
#define BP_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A ring of records of variable length for one writer and one reader in different processes. The
 * writer never waits: a full ring is reported. Either side may be killed at any instruction: one
 * store makes a record visible, or frees its space.
 *
 * The reader may read ahead of the tail with its own cursor and move the tail after it has stored
 * the records: until then a restarted reader reads them again.
 *
 * The writer's and the reader's words are in different parts of the segment. The writer uses a
 * private position, which no other process can change, and treats the reader's position as a hint:
 * an invalid one leaves the ring full until the reader stores a valid one, and is counted.
 */
struct bp_ring_data {
	_Atomic uint64_t head; /* writer: end of the complete records; counts bytes, never wraps */
	uint8_t pad[56];
	uint8_t data[];
};
struct bp_ring_tail {
	_Atomic uint64_t tail; /* reader: start of the records that it still needs */
	uint8_t pad[56];
};

/* A process's view of a ring. */
struct bp_ring {
	uint64_t capacity; /* bytes of data, a power of two */
	struct bp_ring_data *shared;
	struct bp_ring_tail *reader;
	uint8_t *data;
	/* the writer's own */
	uint64_t head;          /* end of the complete records */
	uint64_t seen_tail;     /* cached tail, to load the shared one rarely */
	uint64_t corrupt_tails; /* number of invalid tails since the last query */
	uint64_t pad;
} __attribute__((aligned(64)));

#define BP_RING_OVERHEAD sizeof(struct bp_ring_data)

/* The view of an existing ring; the writer continues where its predecessor ended. */
void bp_ring_attach(struct bp_ring *r, struct bp_ring_data *shared, struct bp_ring_tail *reader,
	uint64_t capacity);
/* Bytes to reserve for a ring of at least `bytes` data: rounded up to a power of two. */
uint64_t bp_ring_capacity(uint64_t bytes);

/*
 * Writer: reserves `size` contiguous bytes, 8-byte aligned. NULL: the ring is full, or size exceeds
 * capacity/4. *mark is passed to bp_ring_commit(), which makes the record visible.
 */
void *bp_ring_reserve(struct bp_ring *r, uint32_t size, uint64_t *mark);
void bp_ring_commit(struct bp_ring *r, uint64_t mark);
/* As above, after a record that is not committed yet, or bp_ring_head(): to commit several records
 * together. */
void *bp_ring_reserve_behind(struct bp_ring *r, uint64_t end, uint32_t size, uint64_t *mark);
uint64_t bp_ring_head(const struct bp_ring *r);
/* Number of invalid positions of the reader since the last call. */
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
/* Frees all records. */
void bp_ring_release_all(struct bp_ring *r);
uint64_t bp_ring_tail(const struct bp_ring *r);
/* The end of the complete records. */
uint64_t bp_ring_written(const struct bp_ring *r);
uint64_t bp_ring_used(const struct bp_ring *r);

#endif
