/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_NODES_DRIVER_SUM_H
#define BP_DATAPLANE_NODES_DRIVER_SUM_H

#include <rte_mbuf.h>

#include "proto/net/frame.h"

/*
 * The verdict of a driver on the TCP or UDP checksum of a frame and, for IPv4, on the header
 * checksum.
 */
enum bp_sum_verdict { BP_SUM_GOOD, BP_SUM_BAD, BP_SUM_UNKNOWN };

/*
 * `ip4`: the IPv4 header, of `len` bytes; NULL for IPv6, which has no header checksum. A missing
 * verdict on the header is computed here: many devices (virtio) do not check it.
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
	/* NONE: data of a local sender that was never on a link */
	return l4 == RTE_MBUF_F_RX_L4_CKSUM_NONE ? BP_SUM_GOOD : BP_SUM_UNKNOWN;
}

#endif
