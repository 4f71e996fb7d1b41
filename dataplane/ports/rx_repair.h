/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_RX_REPAIR_H
#define BP_DATAPLANE_PORTS_RX_REPAIR_H

#include "dataplane/nodes/nodes.h"

/*
 * Repairs received frames of ports whose drivers deliver them in a form that the graph does not
 * expect. The repairs are selected at start, by the flags of a receive queue; ports without these
 * flags have no cost.
 */
#define BP_RX_F_REPAIR                                                                             \
	(BP_RX_F_SET_PORT | BP_RX_F_QINQ | BP_RX_F_TAGS | BP_RX_F_DISTRUST | BP_RX_F_CHAINS)

/*
 * Repairs the n > 0 frames of a burst. Returns how many remain, as the first of `m`. The others
 * were counted as received, and dropped.
 */
uint16_t bp_rx_repair(const struct bp_node_ctx *ctx, struct rte_mbuf **m, uint16_t n);

#endif
