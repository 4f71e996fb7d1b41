/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_NODES_H
#define BP_DATAPLANE_NODES_NODES_H

#include "dataplane/nodes/next.h"
#include "dataplane/workers/worker.h"

/*
 * The nodes of the graph. The graph builder refers to them by name, so that a linker that extracts
 * objects from an archive on demand includes their constructors.
 */
extern struct rte_node_register bp_node_port_rx; /* cloned per (port, queue) */
extern struct rte_node_register bp_node_port_tx; /* cloned per port */
extern struct rte_node_register bp_node_bridge;
extern struct rte_node_register bp_node_checksum;
extern struct rte_node_register bp_node_drop;        /* frees frames, and counts the drop reason */
extern struct rte_node_register bp_node_unconnected; /* behind edges that lead to no node */
extern struct rte_node_register bp_node_ethernet;
extern struct rte_node_register bp_node_mqtt;
/* first node for every frame of a routed interface */
extern struct rte_node_register bp_node_ip4;
extern struct rte_node_register bp_node_ip6;       /* from ip4 */
extern struct rte_node_register bp_node_forward;   /* from both: needs bp_mark_link() */
extern struct rte_node_register bp_node_exception; /* from both: needs bp_mark_exception() */
extern struct rte_node_register
	bp_node_answer; /* from exception, for ports without a kernel interface */
extern struct rte_node_register bp_node_vlan; /* frames for subinterfaces: adds their tags */
extern struct rte_node_register bp_node_phd;  /* UDP of health devices, from ip4 and ip6 */
extern struct rte_node_register bp_node_cse;  /* the CSE's responses, from the same */
/* UDP messages of ports with `encapsulate` entries */
extern struct rte_node_register bp_node_aggregate;
/* aggregates of ports with `decapsulate` entries */
extern struct rte_node_register bp_node_disaggregate;
extern struct rte_node_register bp_node_agg_timer; /* source: frames that both have held */
/* readings of ports with `transform` entries */
extern struct rte_node_register bp_node_transform;
/* with LCL: removes the labels of received frames */
extern struct rte_node_register bp_node_lcl_in;
/* with LCL: replaces port_tx of an LCL port */
extern struct rte_node_register bp_node_lcl;
/* with LCL: replaces port_tx of another port */
extern struct rte_node_register bp_node_lcl_plain;
extern struct rte_node_register bp_node_lcl_timer; /* with LCL, source: new flows */
extern struct rte_node_register bp_node_kernel_rx; /* source, if there is an exception path */

/* bp_node_ctx.flags of port_rx */
#define BP_RX_F_PREFETCH 0x1    /* the next node reads headers */
#define BP_RX_F_QINQ 0x2        /* the driver restores service tags as 0x8100 */
#define BP_RX_F_SET_PORT 0x4    /* the driver does not write the port of its mbufs */
#define BP_RX_F_SMALL_BURST 0x8 /* burst size of worker.small_burst */
#define BP_RX_F_CHECKSUM 0x10   /* the driver marks partial checksums: node checksum first */
#define BP_RX_F_TAGS 0x20       /* the device strips VLAN tags: they are restored */
#define BP_RX_F_DISTRUST 0x40   /* the device's checksum verdict is ignored */
#define BP_RX_F_CAPTURE 0x80    /* received frames are captured */
#define BP_RX_F_CHAINS 0x100    /* the driver may deliver frames in several buffers */

#endif
