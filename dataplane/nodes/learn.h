/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_LEARN_H
#define BP_DATAPLANE_NODES_LEARN_H

#include "dataplane/mac_table.h"
#include "dataplane/worker.h"

#define MAC_GROUP_BIT 0x1ull /* of the first octet, which is the lowest of the word */

/* A frame from the station `src`, as bp_mac_load() has it, came in on this port of a learning
 * bridge. Counts. */
static inline void bp_bridge_learn(struct bp_worker *w, uint64_t src, uint16_t port)
{
	if (src & MAC_GROUP_BIT || src == 0) /* no station has such an address */
		return;
	switch (bp_mac_learn(w->mac_table, src, (uint8_t)port, w->mono_ns)) {
	case BP_MAC_SAME:
		break;
	case BP_MAC_EVICTED:
		bp_count(w, BP_C_MAC_EVICTED, 1);
		/* fallthrough */
	case BP_MAC_NEW:
		bp_count(w, BP_C_MAC_LEARNED, 1);
		break;
	case BP_MAC_MOVED:
		bp_count(w, BP_C_MAC_MOVED, 1);
		break;
	}
}

#endif
