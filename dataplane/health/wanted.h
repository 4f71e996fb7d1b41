/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_WANTED_H
#define BP_DATAPLANE_HEALTH_WANTED_H

#include "dataplane/health/health.h"
#include "dataplane/workers/worker.h"
#include "proto/ip.h"

/*
 * Which packets for our own addresses nodes phd and cse take from the kernel: UDP in one mbuf,
 * without IP options, extension headers or fragments. BP_EDGE_EXCEPTION: none of theirs.
 */

#define BP_NO_FRAGMENT_MASK 0x3fffu /* offset and "more fragments" */

static inline rte_edge_t bp_phd_edge_udp(
	const struct bp_phd_worker *h, const uint8_t *udp, const uint8_t *from, bool ip6)
{
	uint16_t ports[2];

	memcpy(ports, udp, sizeof(ports));
	if (likely(ports[1] == h->listen && h->listen != 0))
		return BP_EDGE_PHD;
	if (ports[0] == h->cse_port && ip6 == h->cse_is_ip6 &&
		memcmp(from, ip6 ? h->cse : h->cse + 12, ip6 ? 16 : 4) == 0) {
		const uint16_t to = __builtin_bswap16(ports[1]);

		if (to >= h->ports_first && to <= h->ports_last)
			return BP_EDGE_CSE;
	}
	return BP_EDGE_EXCEPTION;
}

/* Of a frame with an IPv4 header that is right in every field and has no options. */
static inline rte_edge_t bp_phd_edge_ip4(const struct bp_phd_worker *h, const struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);

	if (!h->takes || ip[BP_IP4_PROTOCOL] != BP_PROTO_UDP || m->nb_segs != 1 ||
		(bp_be16(ip + BP_IP4_FRAGMENT) & BP_NO_FRAGMENT_MASK) != 0 ||
		bp_be16(ip + BP_IP4_TOTAL) < BP_IP4_HDR + 8)
		return BP_EDGE_EXCEPTION;
	return bp_phd_edge_udp(h, ip + BP_IP4_HDR, ip + BP_IP4_SRC, false);
}

/* Of a frame with an IPv6 header whose packet is whole. */
static inline rte_edge_t bp_phd_edge_ip6(const struct bp_phd_worker *h, const struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);

	if (!h->takes || ip[BP_IP6_NEXT] != BP_PROTO_UDP || m->nb_segs != 1 ||
		bp_be16(ip + BP_IP6_PAYLOAD) < 8)
		return BP_EDGE_EXCEPTION;
	return bp_phd_edge_udp(h, ip + BP_IP6_HDR, ip + BP_IP6_SRC, true);
}

/* Of any IP packet for one of our addresses. */
static inline rte_edge_t bp_phd_edge_ip(const struct bp_phd_worker *h, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (bp_be16(frame + 12) == BP_ETHER_IP6)
		return bp_phd_edge_ip6(h, m);
	return (frame[BP_ETHER_HDR] & 0xf) == 5 ? bp_phd_edge_ip4(h, m) : BP_EDGE_EXCEPTION;
}

#endif
