/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source node that receives frames from one receive queue and passes the whole burst to one next
 * node. There is one clone per (port, queue), with its own context.
 */
#include <rte_ethdev.h>

#include "dataplane/capture/capture_points.h"
#include "dataplane/workers/mbuf_bytes.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/ports/rx_repair.h"

/* Prefetches the headers. Returns the bytes in the burst. */
static uint64_t fetch(struct rte_mbuf *const *m, uint16_t n)
{
	uint64_t a = 0, b = 0;
	uint16_t i;

	for (i = 0; i + 2 <= n; i += 2) {
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
		rte_prefetch0(rte_pktmbuf_mtod(m[i + 1], void *));
		a += m[i]->pkt_len;
		b += m[i + 1]->pkt_len;
	}
	if (i < n) {
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
		a += m[i]->pkt_len;
	}
	return a + b;
}

static uint16_t port_rx_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_node_ctx *ctx = bp_node_ctx(node);
	struct bp_worker *w = ctx->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)node->objs;
	struct bp_port_stats *st;
	uint64_t bytes;
	uint16_t n;

	RTE_SET_USED(objs);
	RTE_SET_USED(nb_objs);
	n = unlikely(ctx->flags & BP_RX_F_SMALL_BURST) ? w->small_burst_size : BP_RX_BURST;
	n = rte_eth_rx_burst(ctx->port, ctx->queue, m, n);
	if (n == 0)
		return 0;

	if (unlikely(ctx->flags & BP_RX_F_REPAIR)) {
		n = bp_rx_repair(ctx, m, n);
		if (unlikely(n == 0))
			return 0;
	}

	bytes = ctx->flags & (BP_RX_F_PREFETCH | BP_RX_F_CAPTURE) ? fetch(m, n)
								  : bp_mbuf_bytes(m, n);
	if (unlikely(ctx->flags & BP_RX_F_CAPTURE))
		bp_capture_received(w, ctx->port, m, n);
	if (ctx->next >= BP_EDGE_PORT) {
		w->tx_precounted[ctx->next - BP_EDGE_PORT].frames += n;
		w->tx_precounted[ctx->next - BP_EDGE_PORT].bytes += (uint32_t)bytes;
	}
	st = &w->port_stats[ctx->port];
	bp_stat_add(&st->rx_packets, n);
	bp_stat_add(&st->rx_bytes, bytes);
	w->rx_frames += n;

	node->idx = n;
	rte_node_next_stream_move(graph, node, ctx->next);
	return n;
}

struct rte_node_register bp_node_port_rx = {
	.name = "bp_port_rx",
	.flags = RTE_NODE_SOURCE_F,
	.process = port_rx_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_port_rx, BP_NEXT_PATH)
