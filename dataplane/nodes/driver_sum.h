/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_DRIVER_SUM_H
#define BP_DATAPLANE_NODES_DRIVER_SUM_H

#include <rte_mbuf.h>

#include "proto/net/frame.h"

/* What a driver says of a frame's checksums, of TCP or UDP and with IPv4 of its header too. */
enum bp_sum_verdict { BP_SUM_GOOD, BP_SUM_BAD, BP_SUM_UNKNOWN };

/*
 * `ip4`: the IPv4 header, of `len` octets; NULL for IPv6, which has no sum of its own. What the
 * driver leaves out of the two is computed here where it is but that header: many devices (virtio)
 * know nothing of it.
 */
static inline enum bp_sum_verdict bp_driver_sum(
	const struct rte_mbuf *m, const uint8_t *ip4, uint32_t len)
{
	const uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	const uint64_t ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;

	if (l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD || ip == RTE_MBUF_F_RX_IP_CKSUM_BAD)
		return BP_SUM_BAD;
	if (l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD) {
		if (ip4 == NULL || ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD)
			return BP_SUM_GOOD;
		return bp_sum_ok(bp_sum(ip4, len, 0)) ? BP_SUM_GOOD : BP_SUM_BAD;
	}
	/* NONE: a local sender's data that never was on a wire */
	return l4 == RTE_MBUF_F_RX_L4_CKSUM_NONE ? BP_SUM_GOOD : BP_SUM_UNKNOWN;
}

#endif
