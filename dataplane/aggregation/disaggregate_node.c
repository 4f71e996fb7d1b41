/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decapsulates aggregates (services/aggregation/disaggregator.h). It is the first node, or follows
 * checksum and aggregate, for frames of a port with entries of `decapsulate`. A restored message
 * continues at the node after the input of its aggregate, past the nodes that inspect TCP; on a
 * port with entries of `transform`, at node transform. Either all messages of an aggregate are
 * restored or none.
 */
#include "biplane/counters/aggregation.h"
#include "dataplane/aggregation/worker.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/nodes.h"

static const uint16_t counter_of[BP_DISAGG_REFUSALS] = {
	[BP_DISAGG_LENGTHS] = BP_C_DROP_DECAP_LENGTH,
	[BP_DISAGG_UDP_CHECKSUM] = BP_C_DROP_DECAP_UDP_CHECKSUM,
	[BP_DISAGG_VERSION] = BP_C_DROP_DECAP_VERSION,
	[BP_DISAGG_STRUCTURE_CHECKSUM] = BP_C_DROP_DECAP_CHECKSUM,
	[BP_DISAGG_FAMILY] = BP_C_DROP_DECAP_FAMILY,
	[BP_DISAGG_COUNT] = BP_C_DROP_DECAP_COUNT,
	[BP_DISAGG_ENTRY] = BP_C_DROP_DECAP_DIRECTORY,
	[BP_DISAGG_SOURCE_NOT_ALLOWED] = BP_C_DROP_DECAP_SOURCE_NOT_ALLOWED,
};

/*
 * Prefetched cache lines. An aggregate has several lines, and all are read to verify its checksum.
 */
#define LINES_AHEAD 4u

static inline void fetch(const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	for (unsigned i = 1; i < LINES_AHEAD; i++)
		rte_prefetch0(data + (size_t)i * RTE_CACHE_LINE_SIZE);
}

/*
 * Maximum number of messages restored in one walk, from the bursts of all queues: a stream between
 * nodes holds 65,535 frames, and the queue of a port holds fewer.
 */
#define RESTORED_MOST 16384u

/* Whether each restored frame fits in a buffer. If the aggregate fits, all of its messages do. */
static bool all_fit_headroom(const struct bp_disagg_packet *p, uint32_t room)
{
	for (unsigned i = 0; i < p->count; i++)
		if (bp_disagg_frame_len(p, i) > room)
			return false;
	return true;
}

/* Sends the messages restored from one aggregate, `bytes` in total. */
static inline void send_restored(struct bp_agg_worker *g, uint16_t port, unsigned rule,
	struct rte_mbuf *const *m, unsigned n, uint32_t bytes)
{
	if (g->rules.disaggregate[rule].gap_ns != 0)
		for (unsigned i = 0; i < n; i++)
			bp_agg_worker_pace(g, rule, m[i]);
	else
		bp_edge_batch_add_all(&g->out, g->after_restored[port], m, n, bytes);
	g->restored += n;
	bp_count(g->worker, BP_C_DECAP_MESSAGE, n);
}

/*
 * False: there were no buffers for all messages, or the limit of the walk was reached, and no
 * message was restored.
 */
static bool restore(struct bp_agg_worker *g, const struct rte_mbuf *aggregate, unsigned rule)
{
	const struct bp_disagg_packet *p = &g->packet;
	const uint16_t port = aggregate->port;
	struct bp_mbuf_stock *s = &g->stock;
	struct rte_mbuf *const *m;
	uint8_t *data[BP_AGG_FULL_MOST];
	uint32_t bytes = 0;

	if (unlikely((aggregate->pkt_len > s->room && !all_fit_headroom(p, s->room)) ||
		     g->restored + p->count > RESTORED_MOST || !bp_mbuf_stock_fill(s, p->count)))
		return false;
	m = &s->m[s->next];
	for (unsigned i = 0; i < p->count; i++) {
		const uint32_t len = bp_disagg_frame_len(p, i);

		data[i] = bp_mbuf_stock_data(s, bp_mbuf_stock_take(s, port, (uint16_t)len));
		bytes += len;
	}
	bp_disagg_write(p, 0, p->count, g->id, data);
	g->id = (uint16_t)(g->id + p->count);
	send_restored(g, port, rule, m, p->count, bytes);
	return true;
}

/* The same for a plain aggregate, in one pass over its frame. False: no effect. */
static bool restore_ip4(struct bp_agg_worker *g, const struct rte_mbuf *aggregate)
{
	const uint8_t *frame = rte_pktmbuf_mtod(aggregate, const uint8_t *);
	const uint16_t port = aggregate->port;
	const uint32_t len = aggregate->data_len;
	struct bp_worker *w = g->worker;
	struct bp_mbuf_stock *s = &g->stock;
	struct rte_mbuf *const *m;
	struct bp_disagg_length length[BP_AGG_FULL_MOST], *l = length;
	struct bp_disagg_buffers to = {.length = length, .data_at = s->data_at};
	uint32_t bytes = 0;
	uint8_t rule;

	if (unlikely(len != aggregate->pkt_len || len > s->room || bp_agg_port_is_down(w, port)))
		return false;
	to.n = bp_disaggregator_ip4_count(frame, len);
	if (unlikely(to.n == 0 || g->restored + to.n > RESTORED_MOST ||
		     !bp_mbuf_stock_fill(s, to.n)))
		return false;
	m = &s->m[s->next];
	to.base = (uint8_t *const *)m;
	to.n = bp_disaggregator_restore_ip4(g->disaggregator, frame, len, port,
		bp_agg_port_routes(w, port), w->router.rx_mac[port], g->id, &to, &rule);
	if (unlikely(to.n == 0))
		return false;
	for (unsigned left = to.n; left != 0; left -= l->n, l++) {
		bp_mbuf_stock_take_bulk(s, port, l->len, l->n);
		bytes += (uint32_t)l->len * l->n;
	}
	g->id = (uint16_t)(g->id + to.n);
	send_restored(g, port, rule, m, to.n, bytes);
	return true;
}

/*
 * Handles a frame in several buffers of which *len bytes are contiguous; drivers that scatter split
 * a frame that is longer than a buffer, and some split others too. If it may be an aggregate, the
 * whole frame is made contiguous.
 */
static __rte_noinline const uint8_t *linearize(
	struct bp_agg_worker *g, const struct rte_mbuf *m, uint32_t *len)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (m->pkt_len > sizeof(g->whole) ||
		!bp_disaggregator_is_for(g->disaggregator, frame, *len, m->pkt_len, m->port))
		return frame;
	*len = m->pkt_len;
	return rte_pktmbuf_read(m, 0, m->pkt_len, g->whole);
}

/* True: the frame was decapsulated, and the caller frees it. False: the frame was sent. */
static bool disaggregate(struct bp_agg_worker *g, struct rte_mbuf *m)
{
	struct bp_worker *w = g->worker;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t len = unlikely(bp_agg_port_is_down(w, m->port)) ? 0 : m->data_len;
	enum bp_disagg_rejection why;
	uint8_t rule;

	if (unlikely(len != m->pkt_len))
		frame = linearize(g, m, &len);
	switch (bp_disaggregator_read(g->disaggregator, frame, len, m->pkt_len, m->port,
		bp_agg_port_routes(w, m->port), w->router.rx_mac[m->port], &g->packet, &rule,
		&why)) {
	case BP_DISAGG_SPLIT:
		if (likely(restore(g, m, rule)))
			return true;
		bp_disaggregator_give_up(g->disaggregator, &g->packet);
		bp_drop_reason_set(m, BP_C_DROP_DECAP_NO_MBUF);
		bp_edge_batch_add(&g->out, BP_EDGE_DROP, m);
		return false;
	case BP_DISAGG_REJECTED:
		bp_drop_reason_set(m, counter_of[why]);
		bp_edge_batch_add(&g->out, BP_EDGE_DROP, m);
		return false;
	case BP_DISAGG_BYPASS:
		bp_count(w, BP_C_DECAP_BYPASS, 1);
		/*
		 * This is not TCP, and follows the path of the restored messages, or they would
		 * overtake it.
		 */
		if (g->pacer[rule].n != 0)
			bp_agg_worker_pace(g, rule, m);
		else
			bp_edge_batch_add(&g->out, g->after_restored[m->port], m);
		return false;
	case BP_DISAGG_OTHER:
		break;
	}
	bp_edge_batch_add(&g->out, g->after_disaggregate[m->port], m);
	return false;
}

static void free_done(struct bp_worker *w, struct rte_mbuf **m, unsigned n)
{
	bp_lcl_consume(w, m, n);
	bp_mbuf_free_frames(m, n);
	bp_count(w, BP_C_DECAP_AGGREGATE, n);
}

/*
 * Restored messages of a burst that stay in the caches, of mbufs and of the CPU, until the port
 * takes them. Above this number each message costs about 50 % more.
 */
#define RESTORED_GOOD 256u
#define BURST_LEAST 4u

static void choose_burst(struct bp_worker *w, uint32_t restored)
{
	if (restored > RESTORED_GOOD)
		w->small_burst_size = (uint16_t)RTE_MAX(w->small_burst_size / 2u, BURST_LEAST);
	else if (restored < RESTORED_GOOD / 4)
		w->small_burst_size =
			(uint16_t)RTE_MIN(w->small_burst_size * 2u, (unsigned)BP_RX_BURST);
}

static uint16_t disaggregate_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_agg_worker *g = bp_agg_worker_of(w);
	struct rte_mbuf *done[BP_RX_BURST];
	unsigned n = 0;

	bp_edge_batch_begin(&g->out, g->worker, graph, node, g->out_frames, RTE_DIM(g->out_frames),
		BP_EDGE_DROP);
	g->restored = 0;
	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];

		if (i + 1 < nb_objs)
			fetch(objs[i + 1]);
		if (!restore_ip4(g, m) && !disaggregate(g, m))
			continue;
		done[n++] = m;
		if (unlikely(n == RTE_DIM(done))) {
			free_done(w, done, n);
			n = 0;
		}
	}
	free_done(w, done, n);
	bp_mbuf_stock_return(&g->stock);
	choose_burst(w, g->restored);
	bp_edge_batch_end(&g->out);
	return nb_objs;
}

struct rte_node_register bp_node_disaggregate = {
	.name = "bp_disaggregate",
	.process = disaggregate_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(
	bp_node_disaggregate, BP_EDGE_DROP, BP_EDGE_TRANSFORM, BP_NEXT_PATH, BP_NEXT_ONWARD)
