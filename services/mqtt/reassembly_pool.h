/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_REASSEMBLY_POOL_H
#define BP_SERVICES_MQTT_REASSEMBLY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The bytes that inspection stores from one segment to the next: packets cut by the end of a
 * segment, segments ahead of the stream, topic aliases, client identifiers. One bounded arena per
 * worker, with a buddy allocator, so that free blocks are merged and a large packet finds
 * contiguous memory. One user, no locks.
 *
 * The arena outlives the process; the allocator's own state does not. A reference contains the
 * offset and the size of the block, so the references that survive define all allocations, and the
 * rest is free: no state that a killed process left incomplete has to be trusted.
 */
struct bp_reassembly;
typedef uint32_t bp_reassembly_ref; /* 0: none; position independent */

/*
 * Creates the pool over memory[0..bytes), at least 128 bytes and aligned to 64, with blocks of up
 * to `largest_block` rounded up to a power of two. The memory is not read. All of it counts as
 * allocated until bp_reassembly_open(); before that, bp_reassembly_claim() marks the blocks in use.
 * NULL: no memory for the allocator's state, or the arena is too large.
 */
struct bp_reassembly *bp_reassembly_create(void *memory, uint64_t bytes, uint64_t largest_block);
void bp_reassembly_destroy(struct bp_reassembly *c);
/* Claims the block of an untrusted reference. False: the reference is invalid, or a part of the
 * block is claimed already. */
bool bp_reassembly_claim(struct bp_reassembly *c, bp_reassembly_ref ref);
void bp_reassembly_unclaim(struct bp_reassembly *c, bp_reassembly_ref ref);
/* Frees all blocks that were not claimed. */
void bp_reassembly_open(struct bp_reassembly *c);

/* Allocates a block of at least `bytes`, or returns 0: no space, or larger than the largest
 * block. */
bp_reassembly_ref bp_reassembly_alloc(struct bp_reassembly *c, uint64_t bytes);
void bp_reassembly_release(struct bp_reassembly *c, bp_reassembly_ref ref); /* 0 is fine */
/* Defers the release of blocks: they stay allocated and unchanged until
 * bp_reassembly_end_deferred(). */
void bp_reassembly_defer_release(struct bp_reassembly *c);
/* Returns whether there is more free memory now. */
bool bp_reassembly_end_deferred(struct bp_reassembly *c);
uint8_t *bp_reassembly_data(const struct bp_reassembly *c, bp_reassembly_ref ref);
uint64_t bp_reassembly_size(
	const struct bp_reassembly *c, bp_reassembly_ref ref); /* usable bytes */
/* bp_reassembly_data() and bp_reassembly_size() in two steps, for loops: a block is at this number
 * of bytes from the begin of the arena. */
uint8_t *bp_reassembly_begin(const struct bp_reassembly *c);
#define BP_REASSEMBLY_SHIFT 7 /* 128 bytes: a cut sensor PUBLISH fits the smallest block */
static inline uint64_t bp_reassembly_offset(bp_reassembly_ref ref)
{
	return (uint64_t)((ref & (ref - 1)) >> 1) << BP_REASSEMBLY_SHIFT;
}
static inline uint64_t bp_reassembly_room(bp_reassembly_ref ref) /* not 0 */
{
	return (uint64_t)1 << (BP_REASSEMBLY_SHIFT + __builtin_ctz(ref));
}
uint64_t bp_reassembly_used(const struct bp_reassembly *c);
uint64_t bp_reassembly_capacity(const struct bp_reassembly *c);
/* Another process: copies at most n bytes of a block of an arena in memory[0..bytes). Returns their
 * number; 0: the reference is invalid. The contents may change meanwhile. */
uint64_t bp_reassembly_peek(
	const void *memory, uint64_t bytes, bp_reassembly_ref ref, void *out, uint64_t n);

#endif
