/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_DRIVER_SUM_H
#define BP_DATAPLANE_NODES_DRIVER_SUM_H

#include <stdbool.h>

#include <rte_mbuf.h>

/* What a driver says of a frame's checksums, of TCP or UDP and with IPv4 of its header too. */
enum bp_sum_verdict { BP_SUM_GOOD, BP_SUM_BAD, BP_SUM_UNKNOWN };

static inline enum bp_sum_verdict bp_driver_sum(const struct rte_mbuf *m, bool ip6)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	uint64_t ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;

	if (l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD || ip == RTE_MBUF_F_RX_IP_CKSUM_BAD)
		return BP_SUM_BAD;
	if (l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD && (ip6 || ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD))
		return BP_SUM_GOOD;
	/* NONE: a local sender's data that never was on a wire */
	return l4 == RTE_MBUF_F_RX_L4_CKSUM_NONE ? BP_SUM_GOOD : BP_SUM_UNKNOWN;
}

#endif
