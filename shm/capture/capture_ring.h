/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_CAPTURE_CAPTURE_RING_H
#define BP_SHM_CAPTURE_CAPTURE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A ring of records of variable length with one writer and any number of readers, which only read.
 * The writer overwrites the oldest records and never waits. A reader copies a record and then
 * checks that the writer has not reserved its space meanwhile, so it sees each record as a whole or
 * knows that it lost some. Positions count bytes and never wrap.
 *
 * The data is BP_CAPTURE_BLOCKS blocks. No record crosses the end of a block, so a reader that was
 * overtaken continues at a block.
 */
#define BP_CAPTURE_BLOCKS 8u
#define BP_CAPTURE_RING_MIN (1u << 20) /* bytes of data; a power of two */
#define BP_CAPTURE_RING_MAX (1u << 30)

struct bp_capture_ring_shared {
	_Atomic uint64_t head;     /* end of the complete records */
	_Atomic uint64_t reserved; /* end of what the writer may be writing; not before head */
	uint8_t pad[112];
	uint8_t data[];
};
#define BP_CAPTURE_RING_OVERHEAD sizeof(struct bp_capture_ring_shared)

/* Begins each record. */
struct bp_capture_record_head {
	uint32_t size; /* bytes of the record, with this; a multiple of 8 */
	uint32_t kind; /* enum bp_capture_record_kind; 0: the rest of the block is empty */
};

/* The writer's view. The words of the segment are only written. */
struct bp_capture_ring {
	struct bp_capture_ring_shared *shared;
	uint64_t capacity; /* bytes of data */
	uint64_t head;     /* end of the committed records */
	uint64_t end;      /* end of the records that are written, committed or not */
	uint64_t reserved;
};

/* Continues where the predecessor ended. */
void bp_capture_ring_attach(
	struct bp_capture_ring *r, struct bp_capture_ring_shared *shared, uint64_t capacity);

/*
 * Space for a record of `size` bytes, a multiple of 8 of at most BP_CAPTURE_RECORD_MAX, head
 * included; the caller writes all of it. Records that are written but not committed are together
 * at most two blocks: bp_capture_ring_fits().
 */
void *bp_capture_ring_reserve(struct bp_capture_ring *r, uint32_t size);
bool bp_capture_ring_fits(const struct bp_capture_ring *r, uint32_t size);
/* Makes the records before `end` visible; those after it are given up. */
void bp_capture_ring_commit(struct bp_capture_ring *r, uint64_t end);

/* A reader's view. The segment is not trusted. */
struct bp_capture_reader {
	const struct bp_capture_ring_shared *shared;
	uint64_t capacity;
	uint64_t cursor;
	uint64_t overruns; /* number of times that the writer overtook this reader */
	uint64_t damaged;  /* number of times that records were impossible */
};

/* Begins with the records that are written from now on. */
void bp_capture_reader_init(struct bp_capture_reader *r,
	const struct bp_capture_ring_shared *shared, uint64_t capacity);
/*
 * Copies the next record to buf (8-byte aligned, at least BP_CAPTURE_RECORD_MAX bytes). False:
 * there is none before `until`, a value of bp_capture_reader_head(). The record has the size in its
 * head, at least that of a head; all else in it is the writer's.
 */
bool bp_capture_reader_next(struct bp_capture_reader *r, uint64_t until, void *buf);
uint64_t bp_capture_reader_head(const struct bp_capture_reader *r);

#endif
