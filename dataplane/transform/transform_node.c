/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transforms the coordinates in readings of trackers (dataplane/transform/transformer.h). First, or
 * behind checksum, for frames of a port with entries of `transform`. Results go on to node
 * aggregate, if the port has such entries, or past what reads TCP; those that are reflected leave
 * by the port that they came in on or, on one that routes, by node ip4. Frames that are no readings
 * go on as they came, each in its place.
 */
#include "dataplane/nodes/nodes.h"
#include "dataplane/transform/transformer.h"

static uint16_t transform_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	const struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_transform_worker *t = w->transformer;
	struct rte_mbuf *const *m = (struct rte_mbuf *const *)objs;
	unsigned n;

	bp_run_begin(&t->run, graph, node);
	t->copies = 0;
	/* who frames must be for, on a port that routes, may change between two walks */
	t->usual.valid &= w->router.rx_mac[t->usual.port] == t->usual.mac;
	for (unsigned i = 0; i < nb_objs; i += n) {
		n = RTE_MIN((unsigned)BP_RX_BURST, nb_objs - i);
		bp_transform_burst_process(t, m + i, n);
	}
	bp_run_end(&t->run);
	return nb_objs;
}

struct rte_node_register bp_node_transform = {
	.name = "bp_transform",
	.process = transform_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_transform)
