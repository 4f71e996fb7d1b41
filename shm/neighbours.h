/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_NEIGHBOURS_H
#define BP_SHM_NEIGHBOURS_H

#include "shm/fib.h"

/*
 * The neighbour table: a hash of (interface, address) in lines of 64 bytes that hold two entries
 * each. A lookup reads one line unless that line overflowed. Entries never move; one that was
 * deleted is reused after all workers have passed, so an address that is found belongs to the link
 * word beside it.
 */
struct bp_neighbour_entry {
	_Atomic uint64_t link; /* BP_LINK_RESOLVED with MAC and interface; 0: free. Written last. */
	uint8_t address[16];   /* IPv4 as ::ffff:a.b.c.d */
	_Atomic uint32_t used_s; /* workers: CLOCK_MONOTONIC second of the last use */
};

struct bp_neighbour_line {
	struct bp_neighbour_entry entry[2];
} __attribute__((aligned(64)));

/* IPv4 `dst` in network byte order, as it stands in the packet. */
/*
 * Link word of the neighbour: BP_LINK_RESOLVED, or BP_LINK_UNRESOLVED with the interface when there
 * is none. Marks it as used at second now_s. For one address; prefetch with
 * bp_neighbour_prefetch() one step ahead.
 */
uint64_t bp_neighbour4_use(const struct bp_fib *f, uint8_t interface, uint32_t dst, uint32_t now_s);
uint64_t bp_neighbour6_use(
	const struct bp_fib *f, uint8_t interface, const uint8_t *dst, uint32_t now_s);
void bp_neighbour4_prefetch(const struct bp_fib *f, uint8_t interface, uint32_t dst);
void bp_neighbour6_prefetch(const struct bp_fib *f, uint8_t interface, const uint8_t *dst);

#endif
