/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts UDP messages into aggregates (services/aggregation/aggregator.h). First, or behind checksum,
 * for frames of a port with entries of `aggregate`; an aggregate goes on from where its messages
 * came in, past what reads TCP. Frames that are not taken go on as they came, and none overtakes
 * another of its stream.
 */
#include "dataplane/aggregation/worker.h"
#include "dataplane/workers/mbuf_plain.h"
#include "dataplane/nodes/nodes.h"

static struct bp_agg_input from_port(const struct bp_worker *w, uint16_t port)
{
	return (struct bp_agg_input){.port = (uint8_t)port,
		.routed = bp_agg_port_routes(w, port),
		.mac = w->router.rx_mac[port]};
}

/* Frames of several ports, or one that is down. */
static __rte_noinline void describe_each(
	struct bp_agg_worker *g, struct rte_mbuf *const *m, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct bp_agg_input *in = &g->burst.in[i];

		*in = from_port(g->worker, m[i]->port);
		in->frame = rte_pktmbuf_mtod(m[i], const uint8_t *);
		in->len = bp_agg_port_is_down(g->worker, m[i]->port) ? 0 : m[i]->data_len;
		in->frame_len = m[i]->pkt_len;
	}
}

/* Mostly all are of one port, of which is asked once. */
static void describe(struct bp_agg_worker *g, struct rte_mbuf *const *m, unsigned n)
{
	const uint16_t port = m[0]->port;
	const struct bp_agg_input from = from_port(g->worker, port);
	struct bp_mbuf_plain plain = bp_mbuf_plain_begin(m[0]);
	struct bp_agg_input *in = g->burst.in;

	for (unsigned i = 0; i < n; i++, in++) {
		bp_mbuf_plain_add(&plain, m[i]);
		in->frame = rte_pktmbuf_mtod(m[i], const uint8_t *);
		in->len = m[i]->data_len;
		in->frame_len = m[i]->pkt_len;
		in->mac = from.mac;
		in->port = from.port;
		in->routed = from.routed;
	}
	g->burst.plain = bp_mbuf_plain_all(&plain);
	if (unlikely(!g->burst.plain || bp_agg_port_is_down(g->worker, port)))
		describe_each(g, m, n);
}

static uint16_t aggregate_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_agg_worker *g = bp_node_ctx(node)->worker->agg;
	struct rte_mbuf *const *m = (struct rte_mbuf *const *)objs;
	unsigned n;

	bp_edge_batch_begin(&g->out, g->worker, graph, node, g->out_frames, RTE_DIM(g->out_frames),
		BP_EDGE_DROP);
	for (unsigned i = 0; i < nb_objs; i += n) {
		n = RTE_MIN((unsigned)BP_RX_BURST, nb_objs - i);
		describe(g, m + i, n);
		bp_agg_worker_take_burst(g, m + i, n);
		if (unlikely(g->draining))
			bp_agg_worker_drain(g, BP_AGG_FLUSH_STOP);
	}
	bp_edge_batch_end(&g->out);
	return nb_objs;
}

struct rte_node_register bp_node_aggregate = {
	.name = "bp_aggregate",
	.process = aggregate_process,
	.nb_edges = 0,
};
RTE_NODE_REGISTER(bp_node_aggregate)
