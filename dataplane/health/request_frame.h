/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_REQUEST_FRAME_H
#define BP_DATAPLANE_HEALTH_REQUEST_FRAME_H

#include "dataplane/health/datagram.h"
#include "dataplane/health/health.h"

/* Octets that a frame may have in this mbuf, from where its data begins now. */
static inline uint32_t bp_frame_room(const struct rte_mbuf *m)
{
	return (uint32_t)m->buf_len - m->data_off;
}

/*
 * Writes part i of the report that h->conversion is of as a frame to `m`, but for the Ethernet
 * addresses. `apdu`: the report; its memory may be the mbuf's own where h->conversion.in_place says
 * so. There is room for the head and part[i].len octets.
 */
static inline void bp_request_frame(struct bp_phd_worker *h, struct rte_mbuf *m,
	const struct bp_phd_layout *l, const uint8_t *apdu, unsigned i,
	const struct bp_phd_identity *id, uint16_t port)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	const uint32_t head = h->head_len;
	const uint16_t sport = __builtin_bswap16(port);
	const uint32_t len = (uint32_t)bp_phd_convert_write(
		l, &h->plan, apdu, &h->conversion, i, id, frame + head, bp_frame_room(m) - head);

	if (unlikely(h->cse_is_ip6))
		memcpy(frame, h->head, BP_PHD_FRAME_HEAD_MAX);
	else
		memcpy(frame, h->head, BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR);
	memcpy(frame + head - BP_UDP_HDR, &sport, sizeof(sport));
	bp_datagram_seal(frame, head, h->cse_is_ip6, len, h->conversion.summed, h->ip_sum,
		bp_sum_add(h->conversion.sum, h->udp_sum + sport));
	m->data_len = (uint16_t)(head + len);
	m->pkt_len = m->data_len;
	m->ol_flags = 0;
}

#endif
