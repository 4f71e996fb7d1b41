/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of next nodes: their meaning, and that a graph has no other edges. */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"

#include <string.h>

#include "dataplane/nodes/nodes.h"
#include "dataplane/service.h"

#define PORTS                                                                                      \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"
#define WIRE PORTS "bridges: [{name: bridge0, ports: [a, b]}]\n"
#define ROUTER                                                                                     \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0, routed: {addresses: [10.1.1.1/24]}}\n"                   \
	"  - {name: b, device: net_null1, routed: {addresses: [10.2.2.1/24]}}\n"

#define BIT(edge) (1u << (edge))
#define ONWARD (BIT(BP_EDGE_BRIDGE) | BIT(BP_EDGE_IP4) | BIT(BP_EDGE_PORT))
#define BEHIND_CHECKSUM                                                                            \
	(BIT(BP_EDGE_OF(SAMPLING, 0)) | BIT(BP_EDGE_TRANSFORM) | BIT(BP_EDGE_AGGREGATE) |          \
		BIT(BP_EDGE_DISAGGREGATE) | BIT(BP_EDGE_ETHERNET) | ONWARD)

static uint32_t edges_of(const struct rte_node_register *node)
{
	const struct bp_node_next *table = bp_node_next_of(node);

	if (!table)
		fail_msg("%s has no table", node->name);
	return bp_node_next_edges(table);
}

static void every_node_has_a_table(void **state)
{
	for (unsigned edge = 0; edge < BP_EDGE_PORT; edge++)
		if (bp_edge_node((rte_edge_t)edge))
			edges_of(bp_edge_node((rte_edge_t)edge));
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const struct bp_dataplane_service *service = bp_dataplane_services[s];
		struct rte_node_register *const *node = service->port_nodes;

		if (service->source)
			edges_of(service->source);
		for (; node && *node; node++)
			assert_int_equal(edges_of(*node), 0);
		assert_in_range(service->n_entered, service->enter != NULL, BP_EDGES_OF_SERVICE);
	}
	assert_int_equal(edges_of(&bp_node_kernel_rx),
		BIT(BP_EDGE_BRIDGE) | BIT(BP_EDGE_VLAN) | BIT(BP_EDGE_PORT));
	assert_int_equal(edges_of(&bp_node_port_tx), 0);
	assert_int_equal(edges_of(&bp_node_drop), 0);
	assert_int_equal(edges_of(&bp_node_unconnected), 0);
}

static void edges_lead_forward_only(void **state)
{
	assert_int_equal(edges_of(&bp_node_port_rx),
		BIT(BP_EDGE_LCL_IN) | BIT(BP_EDGE_CHECKSUM) | BEHIND_CHECKSUM);
	assert_int_equal(edges_of(&bp_node_lcl_in),
		BIT(BP_EDGE_DROP) | BIT(BP_EDGE_CHECKSUM) | BEHIND_CHECKSUM);
	assert_int_equal(edges_of(&bp_node_checksum), BEHIND_CHECKSUM);
	assert_int_equal(edges_of(&bp_node_aggregate),
		BIT(BP_EDGE_DROP) | BIT(BP_EDGE_DISAGGREGATE) | BIT(BP_EDGE_ETHERNET) | ONWARD);
	/* transform is the only one that is also before them */
	assert_int_equal(edges_of(&bp_node_disaggregate),
		BIT(BP_EDGE_DROP) | BIT(BP_EDGE_TRANSFORM) | BIT(BP_EDGE_ETHERNET) | ONWARD);
	/* a policy may refuse their frames */
	assert_int_equal(
		edges_of(&bp_node_ethernet), BIT(BP_EDGE_DROP) | BIT(BP_EDGE_MQTT) | ONWARD);
	assert_int_equal(edges_of(&bp_node_mqtt), BIT(BP_EDGE_DROP) | ONWARD);
}

static struct rte_node *node_of(const struct rig *r, const char *name)
{
	return rte_graph_node_get_by_name(r->worker->graph->name, name);
}

/* The name of the node that an edge leads to, in the graph of this rig. */
static const char *next_of(const struct rig *r, const char *name, rte_edge_t edge)
{
	const struct rte_node *node = node_of(r, name);

	assert_non_null(node);
	assert_in_range(edge, 0, node->nb_edges - 1);
	return node->nodes[edge]->name;
}

static void a_graph_has_the_edges_of_the_tables(void **state)
{
	struct rig r;

	rig_start(&r, ROUTER, false, false);
	assert_string_equal(next_of(&r, "bp_ip4", BP_EDGE_DROP), "bp_drop");
	assert_string_equal(next_of(&r, "bp_ip4", BP_EDGE_IP6), "bp_ip6");
	assert_string_equal(next_of(&r, "bp_ip4", BP_EDGE_PORT + 1), "bp_port_tx-1");
	assert_string_equal(next_of(&r, "bp_ip4", BP_EDGE_ANSWER), "bp_unconnected");
	assert_string_equal(next_of(&r, "bp_ip4", BP_EDGE_IP4), "bp_unconnected");
	assert_string_equal(next_of(&r, "bp_forward", BP_EDGE_DROP), "bp_unconnected");
	assert_string_equal(next_of(&r, "bp_exception", BP_EDGE_ANSWER), "bp_answer");
	assert_string_equal(next_of(&r, "bp_exception", BP_EDGE_PORT), "bp_unconnected");
	rig_stop(&r);
}

/* In the table, but this worker has no such node. */
static void edges_to_absent_nodes_are_unconnected(void **state)
{
	struct rig r;

	rig_start(&r, WIRE, false, false);
	assert_string_equal(next_of(&r, "bp_port_rx-0-0", BP_EDGE_PORT + 1), "bp_port_tx-1");
	assert_string_equal(next_of(&r, "bp_port_rx-0-0", BP_EDGE_BRIDGE), "bp_bridge");
	assert_string_equal(next_of(&r, "bp_port_rx-0-0", BP_EDGE_IP4), "bp_unconnected");
	assert_string_equal(next_of(&r, "bp_port_rx-0-0", BP_EDGE_CHECKSUM), "bp_unconnected");
	assert_string_equal(next_of(&r, "bp_port_rx-0-0", BP_EDGE_ETHERNET), "bp_unconnected");
	assert_null(node_of(&r, "bp_ip4"));
	assert_null(node_of(&r, "bp_mqtt"));
	rig_stop(&r);
}

/* It is dropped, whatever reason it has, and is counted as what it is. */
static void a_frame_on_another_edge_is_counted(void **state)
{
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	bp_node_ctx(node_of(&r, "bp_port_rx-0-0"))->next = BP_EDGE_ANSWER;
	rig_put(&r, 0, f, sizeof(f));
	rig_put(&r, 0, f, sizeof(f));
	rig_put(&r, 1, f, sizeof(f));
	rig_walk(&r);
	rig_expect_none(&r, 1);
	rig_expect(&r, 0, f, sizeof(f));
	r.unconnected = 2;
	assert_int_equal(rig_counter(&r, BP_C_DROP_NO_NEXT_NODE), 2);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DRAINED_AT_SHUTDOWN), 0);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_has_a_table),
		cmocka_unit_test(edges_lead_forward_only),
		cmocka_unit_test(a_graph_has_the_edges_of_the_tables),
		cmocka_unit_test(edges_to_absent_nodes_are_unconnected),
		cmocka_unit_test(a_frame_on_another_edge_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
