/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts UDP messages into aggregates (agg/aggregator.h). First, or behind checksum, for frames of a
 * port with entries of `aggregate`; an aggregate goes on from where its messages came in, past what
 * reads TCP. Frames that are not taken go on as they came, and none overtakes another of its
 * stream.
 */
#include "dataplane/agg/gather.h"
#include "dataplane/nodes/nodes.h"

static void describe(struct bp_gather *g, struct rte_mbuf *const *m, unsigned n)
{
	const struct bp_worker *w = g->worker;

	for (unsigned i = 0; i < n; i++) {
		const uint16_t port = m[i]->port;
		struct bp_agg_input *in = &g->burst.in[i];

		in->frame = rte_pktmbuf_mtod(m[i], const uint8_t *);
		in->len = bp_gather_readable(w, m[i]);
		in->frame_len = m[i]->pkt_len;
		in->port = (uint8_t)port;
		in->routed = bp_gather_routed(w, port);
		in->mac = w->router.rx_mac[port];
	}
}

static uint16_t aggregate_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_gather *g = bp_node_ctx(node)->worker->gather;
	struct rte_mbuf *const *m = (struct rte_mbuf *const *)objs;
	unsigned n;

	bp_run_begin(&g->run, graph, node);
	for (unsigned i = 0; i < nb_objs; i += n) {
		n = RTE_MIN((unsigned)BP_RX_BURST, nb_objs - i);
		describe(g, m + i, n);
		bp_gather_burst(g, m + i, n);
		if (unlikely(g->draining))
			bp_gather_flush(g, BP_AGG_FLUSH_STOP);
	}
	bp_run_end(&g->run);
	return nb_objs;
}

struct rte_node_register bp_node_aggregate = {
	.name = "bp_aggregate",
	.process = aggregate_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_aggregate)
