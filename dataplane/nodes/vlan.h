/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_VLAN_H
#define BP_DATAPLANE_NODES_VLAN_H

#include <stdbool.h>

#include <rte_mbuf.h>

#include "dataplane/forwarding/router.h"

/*
 * Tags of subinterfaces. Between node ip4, which removes the tag of a received frame, and node
 * vlan, which adds one, frames have no tag, and m->port is the number of the input subinterface.
 * bp_mark_output() stores the output subinterface.
 */

/*
 * Removes the tag of a frame whose port has a subinterface for it, and a priority tag. False: the
 * frame is unchanged. Of two tags, the other one remains.
 */
bool bp_vlan_pop(const struct bp_router *r, struct rte_mbuf *m);

/* The port of a subinterface that is up. */
static inline uint8_t bp_vlan_port(const struct bp_router *r, unsigned subinterface)
{
	return bp_tag_port(r->tag[subinterface - BP_MAX_INTERFACES]);
}

/* Adds the tag of a subinterface. False: the frame has no headroom, or the subinterface was
 * deleted; the frame is unchanged. */
bool bp_vlan_push(const struct bp_router *r, struct rte_mbuf *m, unsigned subinterface);

#endif
