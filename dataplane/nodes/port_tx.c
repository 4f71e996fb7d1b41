/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends what reaches it on this worker's queue of one port. One clone per port; the queue differs
 * by worker, so it is in the context.
 */
#include <rte_ethdev.h>

#include "dataplane/link.h"
#include "dataplane/mbuf_bytes.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/port_count.h"

/* A driver that takes nothing is asked so many times more before the rest is dropped. */
#define TX_RETRIES 4

/* Bytes in a burst. Where nothing but what port_rx moved here is in it, the sum is known. */
static inline uint64_t burst_bytes(
	struct bp_worker *w, uint16_t port, struct rte_mbuf **m, uint16_t n)
{
	uint32_t frames = w->straight[port].frames, bytes = w->straight[port].bytes;

	w->straight[port].frames = 0;
	w->straight[port].bytes = 0;
	return likely(frames == n) ? bytes : bp_mbuf_bytes(m, n);
}

static void drop_rest(
	struct bp_worker *w, uint16_t port, enum bp_counter reason, struct rte_mbuf **m, uint16_t n)
{
	bp_count(w, reason, n);
	bp_stat_add(&w->port_stats[port].tx_dropped, n);
	rte_pktmbuf_free_bulk(m, n);
}

static uint16_t port_tx_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_node_ctx *ctx = bp_node_ctx(node);
	struct bp_worker *w = ctx->worker;
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	struct bp_port_stats *st = &w->port_stats[ctx->port];
	uint64_t bytes, unsent = 0;
	unsigned retries = 0;
	uint16_t sent;

	RTE_SET_USED(graph);
	/* Before sending: afterwards the frames are the driver's. */
	bytes = burst_bytes(w, ctx->port, m, nb_objs);
	if (unlikely(ctx->queue == UINT16_MAX)) {
		drop_rest(w, ctx->port, BP_C_DROP_NO_PEER, m, nb_objs);
		return nb_objs;
	}
	if (unlikely(bp_link_get(ctx->port) == BP_LINK_DOWN)) {
		drop_rest(w, ctx->port, BP_C_DROP_TX_DOWN, m, nb_objs);
		return nb_objs;
	}

	sent = rte_eth_tx_burst(ctx->port, ctx->queue, m, nb_objs);
	while (unlikely(sent < nb_objs) && retries < TX_RETRIES) {
		uint16_t more = rte_eth_tx_burst(
			ctx->port, ctx->queue, m + sent, (uint16_t)(nb_objs - sent));

		sent = (uint16_t)(sent + more);
		retries = more == 0 ? retries + 1 : 0;
	}
	if (unlikely(sent < nb_objs)) {
		unsent = bp_mbuf_bytes(m + sent, (uint16_t)(nb_objs - sent));
		drop_rest(w, ctx->port,
			bp_link_get(ctx->port) == BP_LINK_UP ? BP_C_DROP_TX_FULL
							     : BP_C_DROP_TX_DOWN,
			m + sent, (uint16_t)(nb_objs - sent));
	}
	bp_stat_add(&st->tx_packets, sent);
	bp_stat_add(&st->tx_bytes, bytes - unsent);
	return nb_objs;
}

struct rte_node_register bp_node_port_tx = {
	.name = "bp_port_tx",
	.process = port_tx_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_port_tx)
