/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encapsulates UDP messages into aggregates (services/aggregation/aggregator.h). It is the first
 * node, or follows checksum, for frames of a port with entries of `encapsulate`. An aggregate
 * continues at the node after the input of its messages, past the nodes that inspect TCP. Frames
 * that match no entry continue unchanged, and no frame overtakes another of its stream.
 */
#include <rte_ether.h>

#include "biplane/counters/aggregation.h"
#include "dataplane/aggregation/worker.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/learn.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/workers/mbuf_fast_free.h"

_Static_assert(BP_C_ENCAP_BYPASS_NO_MBUF == BP_C_ENCAP_BYPASS_LENGTH + BP_AGG_PASS_NO_BUFFER,
	"a counter for each reason");

/* ---- what came in ---- */

static struct bp_agg_input from_port(const struct bp_worker *w, uint16_t port)
{
	return (struct bp_agg_input){.port = (uint8_t)port,
		.routed = bp_agg_port_routes(w, port),
		.mac = w->router.rx_mac[port]};
}

/* For a burst with frames of several ports, or of a port that is down. */
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

/* Usually all frames are from one port, which is read once. */
static void describe(struct bp_agg_worker *g, struct rte_mbuf *const *m, unsigned n)
{
	const uint16_t port = m[0]->port;
	const struct bp_agg_input from = from_port(g->worker, port);
	struct bp_mbuf_fast_free plain = bp_mbuf_fast_free_begin(m[0]);
	struct bp_agg_input *in = g->burst.in;

	for (unsigned i = 0; i < n; i++, in++) {
		bp_mbuf_fast_free_add(&plain, m[i]);
		in->frame = rte_pktmbuf_mtod(m[i], const uint8_t *);
		in->len = m[i]->data_len;
		in->frame_len = m[i]->pkt_len;
		in->mac = from.mac;
		in->port = from.port;
		in->routed = from.routed;
	}
	g->burst.plain = bp_mbuf_fast_free_all(&plain);
	if (unlikely(!g->burst.plain || bp_agg_port_is_down(g->worker, port)))
		describe_each(g, m, n);
}

/* ---- what leaves ---- */

/*
 * Buffers taken at a time. A burst of messages makes about this number of aggregates, or far fewer.
 */
#define BUFFERS 8u

uint8_t *bp_agg_worker_get_buffer(void *arg, void **buffer)
{
	struct bp_agg_worker *g = arg;
	struct bp_mbuf_stock *s = &g->buffers;
	struct rte_mbuf *m;

	if (unlikely(!bp_mbuf_stock_fill_by(s, 1, BUFFERS)))
		return NULL;
	m = bp_mbuf_stock_take(s, BP_NO_PORT, 0);
	*buffer = m;
	return bp_mbuf_stock_data(s, m);
}

/*
 * Handles one frame of the burst whose verdict is written: sends it, or adds it to the taken ones.
 */
static void send_one(struct bp_agg_worker *g, const struct bp_agg_input *in, struct rte_mbuf *m)
{
	switch (in->verdict) {
	case BP_AGG_TAKEN:
		g->burst.taken[g->burst.n_taken++] = m;
		break;
	case BP_AGG_AMBIGUOUS_PAYLOAD:
		bp_drop_reason_set(m, BP_C_DROP_ENCAP_AMBIGUOUS_PAYLOAD);
		bp_edge_batch_add(&g->out, BP_EDGE_DROP, m);
		break;
	case BP_AGG_PASS:
		/*
		 * This is not TCP, and matches no entry of `decapsulate` of the port. It follows
		 * the path of the aggregates: over other nodes, later frames would overtake it.
		 */
		bp_count(g->worker, BP_C_ENCAP_BYPASS_LENGTH + in->pass, 1);
		bp_edge_batch_add(&g->out, g->worker->onward[in->port], m);
		break;
	default:
		bp_edge_batch_add(&g->out, g->after_aggregate[in->port], m);
	}
}

/* Starts the list with the first n frames, which were all taken. */
static void list(struct bp_agg_burst *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		b->taken[i] = b->m[i];
	b->n_taken = n;
	b->listed = true;
}

/*
 * Handles the frames of the burst whose verdict is written, up to `until`: sends them, or adds them
 * to the taken ones.
 */
static void send_settled(struct bp_agg_worker *g, unsigned until)
{
	struct bp_agg_burst *b = &g->burst;

	if (likely(!b->listed)) {
		while (b->settled < until && b->in[b->settled].verdict == BP_AGG_TAKEN)
			b->settled++;
		if (likely(b->settled == until))
			return;
		list(b, b->settled);
	}
	for (; b->settled < until; b->settled++)
		send_one(g, &b->in[b->settled], b->m[b->settled]);
}

void bp_agg_worker_send(void *arg, const struct bp_agg_output *out)
{
	struct bp_agg_worker *g = arg;
	struct rte_mbuf *m = out->buffer;

	send_settled(g, out->at);
	m->data_off = (uint16_t)(m->data_off + out->offset);
	m->data_len = out->len;
	m->pkt_len = out->len;
	m->port = out->port;
	bp_mark_originated(m);
	bp_count(g->worker, BP_C_ENCAP_AGGREGATE, 1);
	bp_edge_batch_add(&g->out, g->worker->onward[out->port], m);
}

void bp_agg_worker_count_lost(void *arg, unsigned messages)
{
	const struct bp_agg_worker *g = arg;

	bp_count(g->worker, BP_C_ENCAP_LOST_NO_MBUF, messages);
}

/* A bridge sees only one sender of an aggregate. The other senders are learned here. */
static void learn(const struct bp_agg_worker *g, unsigned n)
{
	struct bp_worker *w = g->worker;
	uint64_t before = 0; /* no address yet */
	uint8_t port = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct bp_agg_input *in = &g->burst.in[i];
		uint64_t src;

		if (in->verdict != BP_AGG_TAKEN || w->onward[in->port] != BP_EDGE_BRIDGE)
			continue;
		src = bp_mac_load(in->frame + RTE_ETHER_ADDR_LEN);
		if (src == before && in->port == port)
			continue;
		bp_bridge_learn(w, src, in->port);
		before = src;
		port = in->port;
	}
}

static void free_taken(struct bp_worker *w, struct bp_agg_burst *b, unsigned n)
{
	if (likely(!b->listed))
		bp_lcl_consume(w, b->m, n);
	else
		bp_lcl_consume(w, b->taken, b->n_taken);
	if (likely(b->plain)) {
		if (likely(!b->listed))
			bp_mbuf_free_fast(b->m, n);
		else
			bp_mbuf_free_fast(b->taken, b->n_taken);
		return;
	}
	if (!b->listed)
		list(b, n);
	bp_mbuf_free_frames(b->taken, b->n_taken);
}

/*
 * Whether none of the frames of the burst, all from one port, matches a rule. `*bytes`: their total
 * length.
 */
static bool is_empty(const struct bp_agg_burst *b, unsigned n, uint32_t *bytes)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		if (b->in[i].verdict != BP_AGG_OTHER)
			return false;
		sum += b->in[i].frame_len;
	}
	*bytes = sum;
	return b->plain;
}

/*
 * Processes the frames described by burst.in[0..n), at most BP_RX_BURST. Taken frames are freed;
 * the other frames and the aggregates are sent in order.
 */
static void take_burst(struct bp_agg_worker *g, struct rte_mbuf *const *m, unsigned n)
{
	struct bp_agg_burst *b = &g->burst;
	uint32_t bytes;

	b->m = m;
	b->settled = 0;
	b->listed = false;
	bp_aggregator_take(g->aggregator, b->in, n, g->worker->mono_ns, g->worker->now_ns);
	bp_mbuf_stock_return(&g->buffers);
	if (is_empty(b, n, &bytes)) {
		bp_edge_batch_add_node_frames(
			&g->out, g->after_aggregate[b->in[0].port], m, n, bytes);
		return;
	}
	send_settled(g, n);
	b->settled = 0;
	bp_count(g->worker, BP_C_ENCAP_MESSAGE, b->listed ? b->n_taken : n);
	if (g->learns)
		learn(g, n);
	free_taken(g->worker, b, n);
}

static uint16_t aggregate_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_agg_worker *g = bp_agg_worker_of(bp_node_ctx(node)->worker);
	struct rte_mbuf *const *m = (struct rte_mbuf *const *)objs;
	unsigned n;

	bp_edge_batch_begin(&g->out, g->worker, graph, node, g->out_frames, RTE_DIM(g->out_frames),
		BP_EDGE_DROP);
	for (unsigned i = 0; i < nb_objs; i += n) {
		n = RTE_MIN((unsigned)BP_RX_BURST, nb_objs - i);
		describe(g, m + i, n);
		take_burst(g, m + i, n);
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
BP_NODE_REGISTER(bp_node_aggregate, BP_EDGE_DROP, BP_NEXT_PATH, BP_NEXT_ONWARD)
