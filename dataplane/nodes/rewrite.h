/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_REWRITE_H
#define BP_DATAPLANE_NODES_REWRITE_H

#include <rte_byteorder.h>

#include "shm/fib.h"

/* The Ethernet addresses of a frame, from a link word and the MAC (bp_mac_word()) of the interface
 * by which it leaves. They lie side by side: 12 bytes, in two stores. */
static inline void bp_ethernet_rewrite(uint8_t *frame, uint64_t link, uint64_t src)
{
	uint64_t first = rte_cpu_to_le_64((link & BP_LINK_MAC_MASK) | src << 48);
	uint32_t rest = rte_cpu_to_le_32((uint32_t)(src >> 16));

	memcpy(frame, &first, sizeof(first));
	memcpy(frame + 8, &rest, sizeof(rest));
}

#endif
