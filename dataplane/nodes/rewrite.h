/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_REWRITE_H
#define BP_DATAPLANE_NODES_REWRITE_H

#include <rte_byteorder.h>

#include "shm/fib/fib.h"

/*
 * Writes the Ethernet addresses of a frame: their first 8 bytes and the other 4, as little-endian
 * numbers.
 */
static inline void bp_ethernet_write(uint8_t *frame, uint64_t first, uint32_t rest)
{
	first = rte_cpu_to_le_64(first);
	rest = rte_cpu_to_le_32(rest);
	memcpy(frame, &first, sizeof(first));
	memcpy(frame + 8, &rest, sizeof(rest));
}

/* Both numbers, from a link word and the MAC (bp_mac_word()) of the output interface. */
static inline uint64_t bp_ethernet_first(uint64_t link, uint64_t src)
{
	return (link & BP_LINK_MAC_MASK) | src << 48;
}
static inline uint32_t bp_ethernet_rest(uint64_t src)
{
	return (uint32_t)(src >> 16);
}

/*
 * Writes the Ethernet addresses of a frame from the same values. They are adjacent: 12 bytes, in
 * two stores.
 */
static inline void bp_ethernet_rewrite(uint8_t *frame, uint64_t link, uint64_t src)
{
	bp_ethernet_write(frame, bp_ethernet_first(link, src), bp_ethernet_rest(src));
}

#endif
