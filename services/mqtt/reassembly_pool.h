/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_REASSEMBLY_POOL_H
#define BP_SERVICES_MQTT_REASSEMBLY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The bytes that inspection must carry from one segment to the next: packets cut by a segment's
 * end, segments ahead of the stream, topic aliases, client identifiers. One bounded arena a worker,
 * with a buddy allocator over it, so that blocks join again and a large packet finds contiguous
 * memory. One user, no locks.
 *
 * The arena outlives the process; what the allocator notes of it does not. A reference holds the
 * block's place and size, so that the references which survive say all that is allocated, and the
 * rest is free: nothing that a killed process left half changed has to be believed.
 */
struct bp_reassembly;
typedef uint32_t bp_reassembly_ref; /* 0: none; position independent */

/*
 * Over memory[0..bytes), at least 128 bytes and aligned to 64, in blocks of up to `largest_block`
 * rounded up to a power of two. Nothing in it is read. All of it is taken until
 * bp_reassembly_open(): before, bp_reassembly_claim() says which blocks are in use. NULL: no memory
 * for what is noted, or the arena is too large.
 */
struct bp_reassembly *bp_reassembly_create(void *memory, uint64_t bytes, uint64_t largest_block);
void bp_reassembly_destroy(struct bp_reassembly *c);
/* Claims the block of an untrusted reference. False: the reference is invalid, or a part of the
 * block is claimed already. */
bool bp_reassembly_claim(struct bp_reassembly *c, bp_reassembly_ref ref);
void bp_reassembly_unclaim(struct bp_reassembly *c, bp_reassembly_ref ref);
/* Frees all blocks that were not claimed. */
void bp_reassembly_open(struct bp_reassembly *c);

/* A block of at least `bytes`, or 0: no room, or larger than the largest block. */
bp_reassembly_ref bp_reassembly_alloc(struct bp_reassembly *c, uint64_t bytes);
void bp_reassembly_release(struct bp_reassembly *c, bp_reassembly_ref ref); /* 0 is fine */
/* From here on what is released stays as it is, and taken, until bp_reassembly_end_deferred(). */
void bp_reassembly_defer_release(struct bp_reassembly *c);
/* Returns whether there is more free memory now. */
bool bp_reassembly_end_deferred(struct bp_reassembly *c);
uint8_t *bp_reassembly_data(const struct bp_reassembly *c, bp_reassembly_ref ref);
uint64_t bp_reassembly_size(
	const struct bp_reassembly *c, bp_reassembly_ref ref); /* usable bytes */
uint64_t bp_reassembly_used(const struct bp_reassembly *c);
uint64_t bp_reassembly_capacity(const struct bp_reassembly *c);

#endif
