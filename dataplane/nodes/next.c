/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/nodes/next.h"

#include "dataplane/nodes/nodes.h"
#include "dataplane/service.h"

_Static_assert(BP_EDGE_PORT < 32, "a bit for each edge");

static struct bp_node_next *tables;

void bp_node_next_add(struct bp_node_next *next)
{
	next->other = tables;
	tables = next;
}

const struct bp_node_next *bp_node_next_all(void)
{
	return tables;
}

const struct bp_node_next *bp_node_next_of(const struct rte_node_register *node)
{
	const struct bp_node_next *t = tables;

	while (t && t->node != node)
		t = t->other;
	return t;
}

const struct rte_node_register *bp_edge_node(rte_edge_t edge)
{
	static const struct rte_node_register *const inner[BP_EDGE_SERVICE] = {
		[BP_EDGE_DROP] = &bp_node_drop,
		[BP_EDGE_BRIDGE] = &bp_node_bridge,
		[BP_EDGE_CHECKSUM] = &bp_node_checksum,
		[BP_EDGE_IP4] = &bp_node_ip4,
		[BP_EDGE_IP6] = &bp_node_ip6,
		[BP_EDGE_FORWARD] = &bp_node_forward,
		[BP_EDGE_EXCEPTION] = &bp_node_exception,
		[BP_EDGE_ANSWER] = &bp_node_answer,
		[BP_EDGE_VLAN] = &bp_node_vlan,
	};
	const unsigned n = edge - BP_EDGE_SERVICE;

	if (edge < BP_EDGE_SERVICE)
		return inner[edge];
	return bp_dataplane_services[n / BP_EDGES_OF_SERVICE]->entry[n % BP_EDGES_OF_SERVICE];
}

unsigned bp_path_edges(rte_edge_t edge[BP_EDGE_PORT])
{
	unsigned n = 0;

	for (unsigned part = 0; part < 2; part++) {
		for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
			const struct bp_dataplane_service *service = bp_dataplane_services[s];

			if (service->before_checksum != (part == 0))
				continue;
			for (unsigned i = 0; i < service->n_entered; i++)
				edge[n++] =
					(rte_edge_t)(BP_EDGE_SERVICE + BP_EDGES_OF_SERVICE * s + i);
		}
		if (part == 0)
			edge[n++] = BP_EDGE_CHECKSUM;
	}
	return n;
}

/* Returns the edges after a node on the path of the frames of a port. */
static uint32_t path_after(const struct rte_node_register *node)
{
	rte_edge_t edge[BP_EDGE_PORT];
	uint32_t edges = 0;

	for (unsigned n = bp_path_edges(edge); n-- > 0;) {
		if (bp_edge_node(edge[n]) == node)
			break;
		edges |= 1u << edge[n];
	}
	return edges;
}

uint32_t bp_node_next_edges(const struct bp_node_next *next)
{
	const uint32_t ports = 1u << BP_EDGE_PORT, bridge = 1u << BP_EDGE_BRIDGE;
	uint32_t edges = 0;

	for (unsigned i = 0; i < next->n; i++) {
		switch (next->edge[i]) {
		case BP_NEXT_NONE:
			break;
		case BP_NEXT_PORTS:
			edges |= ports;
			break;
		case BP_NEXT_INTERFACE:
			edges |= ports | bridge | 1u << BP_EDGE_VLAN;
			break;
		case BP_NEXT_PATH:
			edges |= path_after(next->node);
			/* fall through */
		case BP_NEXT_ONWARD:
			edges |= ports | bridge | 1u << BP_EDGE_IP4;
			break;
		default:
			edges |= 1u << next->edge[i];
		}
	}
	return edges;
}
