/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_VLAN_H
#define BP_DATAPLANE_NODES_VLAN_H

#include <stdbool.h>

#include <rte_mbuf.h>

#include "dataplane/forwarding/router.h"

/*
 * Tags of subinterfaces. Between node ip4, which removes the tag of a received frame, and node
 * vlan, which adds one, frames have no tag, and m->port is the number of the subinterface.
 */

/*
 * Removes the tag of a frame whose port has a subinterface for it, and a priority tag. False: the
 * frame is unchanged. Of two tags, the other one remains.
 */
bool bp_vlan_pop(const struct bp_router *r, struct rte_mbuf *m);

/*
 * Adds the tag of subinterface m->port; then m->port is its port. False: the frame has no headroom,
 * or the subinterface was deleted; the frame is unchanged.
 */
bool bp_vlan_push(const struct bp_router *r, struct rte_mbuf *m);

#endif
