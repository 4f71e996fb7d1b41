/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/nodes/next_hop.h"

#include "biplane/counters/general.h"
#include "dataplane/exception/exception_class.h"
#include "dataplane/health/worker.h"
#include "proto/net/ip.h"

static rte_edge_t to_local(struct bp_worker *w, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	enum bp_exception_class class =
		bp_exception_classify(w->router.classes, frame, m->data_len, true);

	return bp_punt(w, m,
		bp_exception_is_nd(frame, m->data_len) ? BP_C_PUNT_ND : BP_C_PUNT_LOCAL, class);
}

rte_edge_t bp_next_hop_other(struct bp_worker *w, struct rte_mbuf *m, uint64_t link, uint32_t bytes)
{
	const struct bp_router *r = &w->router;
	uint8_t out = bp_link_interface(link);

	switch (bp_link_kind(link)) {
	case BP_LINK_LOCAL:
		if (bp_phd_worker_of(w) != NULL) {
			const rte_edge_t own = bp_phd_edge_ip(w, m);

			if (own != BP_EDGE_EXCEPTION)
				return own;
		}
		return to_local(w, m);
	case BP_LINK_RESOLVED:
		if (out >= BP_ALL_INTERFACES || r->tx_mtu[out] == 0)
			return bp_drop(m, BP_C_DROP_IF_DOWN);
		if (bytes > r->tx_mtu[out])
			return bp_punt(w, m, BP_C_PUNT_MTU_EXCEEDED, BP_EX_OTHER);
		bp_mark_link(m, link);
		return BP_EDGE_FORWARD;
	case BP_LINK_UNRESOLVED:
		return bp_punt(w, m, BP_C_PUNT_NO_NEIGHBOR, BP_EX_OTHER);
	case BP_LINK_BLACKHOLE:
		return bp_drop(m, BP_C_DROP_BLACKHOLE);
	case BP_LINK_UNREACHABLE:
	case BP_LINK_PROHIBIT:
		return bp_punt(w, m, BP_C_PUNT_UNREACHABLE, BP_EX_OTHER);
	case BP_LINK_PUNT:
		return bp_punt(w, m, BP_C_PUNT_FOREIGN_INTERFACE, BP_EX_OTHER);
	case BP_LINK_NONE:
	default: /* a group in a group: the writer creates none */
		return bp_punt(w, m, BP_C_PUNT_NO_ROUTE, BP_EX_OTHER);
	}
}

void bp_trim_payload_end(struct rte_mbuf *m, uint32_t bytes)
{
	uint32_t left = RTE_MAX(BP_ETHER_HDR + bytes, ETHER_MIN);
	struct rte_mbuf *last = m;
	uint16_t n = 1;

	if (m->pkt_len <= left)
		return;
	m->pkt_len = left;
	for (; last->data_len < left; last = last->next, n++)
		left -= last->data_len;
	last->data_len = (uint16_t)left;
	rte_pktmbuf_free(last->next);
	last->next = NULL;
	m->nb_segs = n;
}
