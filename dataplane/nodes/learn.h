/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_LEARN_H
#define BP_DATAPLANE_NODES_LEARN_H

#include "biplane/counters/general.h"
#include "dataplane/forwarding/mac_table.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/workers/worker.h"

#define MAC_GROUP_BIT 0x1ull /* of the first byte, which is the lowest of the word */

static __rte_noinline void bp_bridge_learned(
	struct bp_worker *w, uint16_t port, enum bp_mac_change change)
{
	struct bp_port_stats *st = &w->port_stats[port];

	switch (change) {
	case BP_MAC_SAME:
		break;
	case BP_MAC_EVICTED:
		bp_count(w, BP_C_MAC_EVICTED, 1);
		bp_stat_add(&st->mac_table_full, 1);
		/* fallthrough */
	case BP_MAC_NEW:
		bp_count(w, BP_C_MAC_LEARNED, 1);
		break;
	case BP_MAC_MOVED:
		bp_count(w, BP_C_MAC_MOVED, 1);
		bp_stat_add(&st->mac_moves, 1);
		break;
	case BP_MAC_REFUSED:
		bp_count(w, BP_C_MAC_MOVE_REFUSED, 1);
		bp_stat_add(&st->mac_moves_refused, 1);
		break;
	case BP_MAC_FULL:
		bp_count(w, BP_C_MAC_NOT_LEARNED, 1);
		bp_stat_add(&st->mac_table_full, 1);
		break;
	}
}

/*
 * Learns the station `src` (as from bp_mac_load()) on this port of a learning bridge, and counts
 * the change.
 */
static inline void bp_bridge_learn(struct bp_worker *w, uint64_t src, uint16_t port)
{
	enum bp_mac_change change;

	if (src & MAC_GROUP_BIT || src == 0) /* no station has such an address */
		return;
	change = bp_mac_learn(w->fdb.of[w->bridge_of[port]], src, (uint8_t)port, w->mono_ns);
	if (unlikely(change != BP_MAC_SAME))
		bp_bridge_learned(w, port, change);
}

#endif
