/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_CARRY_H
#define BP_DATAPLANE_MQTT_CARRY_H

#include <stddef.h>
#include <stdint.h>

/*
 * The bytes that inspection must carry from one segment to the next: packets cut by a segment's
 * end, segments ahead of the stream, topic aliases, client identifiers. One bounded arena a worker,
 * taken from the system once; a buddy allocator over it, so that blocks join again and a large
 * packet finds contiguous room. One user, no locks.
 */
struct bp_carry;
typedef uint32_t bp_carry_ref; /* 0: none */

/* At least `bytes` (rounded down to blocks of the largest size); NULL when memory lacks. */
struct bp_carry *bp_carry_create(uint64_t bytes, uint64_t largest_block);
void bp_carry_destroy(struct bp_carry *c);

/* A block of at least `bytes`, or 0: no room, or larger than the largest block. */
bp_carry_ref bp_carry_alloc(struct bp_carry *c, uint64_t bytes);
void bp_carry_release(struct bp_carry *c, bp_carry_ref ref); /* 0 is fine */
uint8_t *bp_carry_data(const struct bp_carry *c, bp_carry_ref ref);
uint64_t bp_carry_size(const struct bp_carry *c, bp_carry_ref ref); /* usable bytes */
uint64_t bp_carry_used(const struct bp_carry *c);
uint64_t bp_carry_capacity(const struct bp_carry *c);

#endif
