/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hands frames to the exception thread, which writes them to the kernel interface: in the queue of
 * their class and interface; if that is full, they are dropped. For an interface without a kernel
 * side, node answer answers the requests of neighbors; in a replay, the manager of health devices
 * replaces the kernel.
 */
#include "dataplane/exception/exception.h"
#include "biplane/counters/general.h"
#include "dataplane/capture/capture_points.h"
#include "dataplane/lcl/lcl.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "proto/net/ip.h"

_Static_assert(
	BP_C_DROP_PUNT_QUEUE_OTHER == BP_C_DROP_PUNT_QUEUE_ROUTING + BP_EX_OTHER, "one per class");

/* Enqueues frames of one class and interface. */
static void put(struct bp_worker *w, enum bp_exception_class class, unsigned interface,
	struct rte_mbuf **m, unsigned n)
{
	unsigned taken = bp_exception_put(w->exception, class, interface, m, n);

	if (likely(taken == n))
		return;
	for (unsigned i = taken; i < n; i++)
		bp_count_drops(w, bp_router_port(&w->router, m[i]->port),
			BP_C_DROP_PUNT_QUEUE_ROUTING + class, 1);
	bp_capture_loss(w, BP_CAPTURE_INPUT_PORT, BP_C_DROP_PUNT_QUEUE_ROUTING + class, m + taken,
		(uint16_t)(n - taken));
	rte_pktmbuf_free_bulk(m + taken, n - taken);
}

/* Whether a frame in a replay is for the substitute of the kernel. */
static bool stands_in(const struct bp_exception *x, struct rte_mbuf *m)
{
	return x->stand_in != NULL &&
	       (m->hash.fdir.lo == BP_EX_PHD || m->hash.fdir.lo == BP_EX_LOCAL) &&
	       rte_ring_enqueue(x->stand_in, m) == 0;
}

static bool asks_for_mac(const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	return bp_be16(frame + 12) == BP_ETHER_ARP ||
	       (bp_be16(frame + 12) == BP_ETHER_IP6 && m->hash.fdir.lo == BP_EX_ROUTING);
}

static uint16_t exception_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct rte_mbuf *run[RTE_GRAPH_BURST_SIZE];
	enum bp_exception_class class = BP_EX_OTHER;
	unsigned interface = 0, n = 0;

	bp_lcl_consume(w, (struct rte_mbuf *const *)objs, nb_objs);
	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];

		if (!bp_exception_has(w->exception, m->hash.fdir.hi)) {
			if (asks_for_mac(m)) {
				rte_node_enqueue_x1(graph, node, BP_EDGE_ANSWER, m);
			} else if (!stands_in(w->exception, m)) {
				bp_drop_reason_set(m, BP_C_DROP_NO_HOST_INTERFACE);
				rte_node_enqueue_x1(graph, node, BP_EDGE_DROP, m);
			}
			continue;
		}
		if (n != 0 && (m->hash.fdir.lo != class || m->hash.fdir.hi != interface ||
				      n == RTE_DIM(run))) {
			put(w, class, interface, run, n);
			n = 0;
		}
		class = m->hash.fdir.lo;
		interface = m->hash.fdir.hi;
		run[n++] = m;
	}
	if (n != 0) {
		put(w, class, interface, run, n);
		bp_exception_ring(w->exception);
	}
	return nb_objs;
}

struct rte_node_register bp_node_exception = {
	.name = "bp_exception",
	.process = exception_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_exception, BP_EDGE_DROP, BP_EDGE_ANSWER)
