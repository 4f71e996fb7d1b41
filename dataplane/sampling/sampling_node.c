/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies frames. The node receives the frames of ports that an entry of sampling names, and copies
 * the selected ones to the port of the entry. All frames continue unchanged.
 */
#include <rte_mbuf.h>

#include "biplane/counters/sampling.h"
#include "dataplane/nodes/edge_batch.h"
#include "dataplane/nodes/next.h"
#include "dataplane/sampling/sampling.h"
#include "proto/net/frame.h"
#include "shm/words.h"

/* Prefetch distance of the headers, frames. */
#define AHEAD 4u
/* Bytes of a frame in addition to the MTU: Ethernet header and two VLAN tags. */
#define HEADERS (BP_ETHER_HDR + 8u)

static inline void add(_Atomic uint64_t *n)
{
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Later nodes modify frames in place, so the copy is a deep copy. */
static __rte_noinline void mirror(struct bp_sampling *s, struct rte_graph *graph,
	struct rte_node *node, const struct rte_mbuf *m, unsigned entry)
{
	const uint8_t port = s->rules.rule[entry].mirror;
	struct bp_sampling_stats *stats = &s->stats[entry];
	struct bp_worker *w = s->worker;
	struct rte_mbuf *copy;

	if (m->pkt_len > w->mtu[port] + HEADERS) {
		bp_count(w, BP_C_SAMPLING_TOO_LONG, 1);
		add(&stats->not_mirrored);
		return;
	}
	copy = rte_pktmbuf_copy(m, w->pool, 0, UINT32_MAX);
	if (!copy) {
		bp_count(w, BP_C_SAMPLING_NO_MBUF, 1);
		add(&stats->not_mirrored);
		return;
	}
	bp_count(w, BP_C_SAMPLING_MIRRORED, 1);
	add(&stats->mirrored);
	rte_node_enqueue_x1(graph, node, (rte_edge_t)(BP_EDGE_PORT + port), copy);
}

static uint16_t sampling_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_sampling *s = w->service[BP_SERVICE_SAMPLING];
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	struct bp_edge_batch out;
	uint64_t matched = 0;

	/* before the batch, which may pass the array on unchanged */
	for (uint16_t i = 0; i < nb_objs; i++) {
		bool chosen;
		int entry;

		rte_prefetch0(rte_pktmbuf_mtod(m[RTE_MIN(i + AHEAD, nb_objs - 1u)], void *));
		entry = bp_sampler_frame(s->sampler, rte_pktmbuf_mtod(m[i], const uint8_t *),
			m[i]->data_len, m[i]->port, &chosen);
		if (entry < 0)
			continue;
		matched++;
		add(&s->stats[entry].matched);
		if (chosen)
			mirror(s, graph, node, m[i], (unsigned)entry);
	}
	bp_count(w, BP_C_SAMPLING_MATCHED, matched);
	bp_edge_batch_begin(&out, w, graph, node, objs, nb_objs, s->after[m[0]->port]);
	for (uint16_t i = 0; i < nb_objs; i++)
		bp_edge_batch_add(&out, s->after[m[i]->port], m[i]);
	bp_edge_batch_end(&out);
	return nb_objs;
}

struct rte_node_register bp_node_sampling = {
	.name = "bp_sampling",
	.process = sampling_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_sampling, BP_NEXT_PATH, BP_NEXT_PORTS)
