/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_RX_REPAIR_H
#define BP_DATAPLANE_PORTS_RX_REPAIR_H

#include "dataplane/nodes/nodes.h"

/*
 * What is put right on frames as they come in, of ports whose driver gives them otherwise than the
 * graph expects them. All of it is decided at start, in the flags of a receive queue; ports without
 * any of these flags pay nothing.
 */
#define BP_RX_F_REPAIR (BP_RX_F_SET_PORT | BP_RX_F_QINQ | BP_RX_F_TAGS | BP_RX_F_DISTRUST)

/* Repairs the n > 0 frames of a burst; how many are left, which are the first of `m`. The others
 * were received, counted as such, and dropped. */
uint16_t bp_rx_repair(const struct bp_node_ctx *ctx, struct rte_mbuf **m, uint16_t n);

#endif
