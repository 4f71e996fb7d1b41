/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source node. It sends the aggregates whose oldest message has reached its maximum delay, and
 * the restored messages whose pacing gap has passed. It also applies new rules and detects a lost
 * link, since held messages leave then.
 */
#include "biplane/counters/aggregation.h"
#include "dataplane/aggregation/worker.h"
#include "dataplane/nodes/nodes.h"

static uint16_t agg_timer_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_agg_worker *g = bp_agg_worker_of(w);
	const uint64_t before = w->counters->v[BP_C_ENCAP_AGGREGATE];
	uint64_t aggregates;
	unsigned sent;

	RTE_SET_USED(objs);
	RTE_SET_USED(nb_objs);
	bp_edge_batch_begin(&g->out, g->worker, graph, node, g->out_frames, RTE_DIM(g->out_frames),
		BP_EDGE_DROP);
	if (unlikely(bp_agg_worker_config_changed(g)))
		bp_agg_worker_apply_pending(g);
	bp_aggregator_poll(g->aggregator, w->mono_ns, w->now_ns);
	sent = bp_agg_worker_send_due(g);
	if (unlikely(g->draining))
		bp_agg_worker_drain(g, BP_AGG_FLUSH_STOP);
	aggregates = w->counters->v[BP_C_ENCAP_AGGREGATE] - before;
	/* staged aggregates take their buffers now, several at a time */
	if (unlikely(aggregates != 0))
		bp_mbuf_stock_return(&g->buffers);
	bp_edge_batch_end(&g->out);
	return (uint16_t)(sent + aggregates);
}

struct rte_node_register bp_node_agg_timer = {
	.name = "bp_agg_timer",
	.flags = RTE_NODE_SOURCE_F,
	.process = agg_timer_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_agg_timer, BP_EDGE_TRANSFORM, BP_NEXT_ONWARD)
