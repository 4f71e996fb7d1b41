/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_NEXT_H
#define BP_DATAPLANE_NODES_NEXT_H

#include <stdint.h>

#include <rte_common.h>
#include <rte_graph.h>

#include "dataplane/workers/worker.h"

/*
 * The file of a node ends with its registration, which lists the edges that the node may take:
 *
 *	BP_NODE_REGISTER(bp_node_bridge, BP_EDGE_DROP, BP_EDGE_IP4, BP_NEXT_PORTS)
 *
 * Edges have the same numbers in every node, but only those of its table lead to a node; any other
 * leads to node unconnected, which drops and counts (counter drop/unconnected). An entry is a
 * number of enum bp_edge below BP_EDGE_PORT, or one of these.
 */
enum bp_next {
	BP_NEXT_NONE = 0xf0, /* frames leave the graph here */
	BP_NEXT_PORTS,       /* any port_tx: BP_EDGE_PORT + n */
	BP_NEXT_INTERFACE,   /* bp_router.edge[]: a port, or the bridge of a host interface, or vlan
			      */
	BP_NEXT_ONWARD,      /* bp_worker.onward[]: a port, bridge, or ip4 */
	/*
	 * bp_worker.enter[], or the `next` that enter() of a service has stored: a service after
	 * this node on the path of the frames of a port, or the same as BP_NEXT_ONWARD
	 */
	BP_NEXT_PATH,
};

struct bp_node_next {
	const struct rte_node_register *node;
	const uint8_t *edge;
	unsigned n;
	struct bp_node_next *other; /* the table of another node */
};

/* For constructors. */
void bp_node_next_add(struct bp_node_next *next);

/* Like RTE_NODE_REGISTER(), with the table. */
#define BP_NODE_REGISTER(node_, ...)                                                               \
	RTE_NODE_REGISTER(node_)                                                                   \
	static const uint8_t node_##_edge[] = {__VA_ARGS__};                                       \
	static struct bp_node_next node_##_next = {                                                \
		.node = &(node_), .edge = node_##_edge, .n = RTE_DIM(node_##_edge)};               \
	RTE_INIT(node_##_next_add)                                                                 \
	{                                                                                          \
		bp_node_next_add(&node_##_next);                                                   \
	}

/* List of all tables. */
const struct bp_node_next *bp_node_next_all(void);
/* NULL: the node has no table. */
const struct bp_node_next *bp_node_next_of(const struct rte_node_register *node);

/* Returns a table as bits, one for each edge; the bit of BP_EDGE_PORT represents all ports. */
uint32_t bp_node_next_edges(const struct bp_node_next *next);

/* Returns the node of an edge below BP_EDGE_PORT, in a worker that has it; NULL: none. */
const struct rte_node_register *bp_edge_node(rte_edge_t edge);

/*
 * Writes the edges by which frames of a port may enter, in the order of their path, which begins at
 * port_rx: the entry nodes of services, and checksum. Returns their number.
 */
unsigned bp_path_edges(rte_edge_t edge[BP_EDGE_PORT]);

#endif
