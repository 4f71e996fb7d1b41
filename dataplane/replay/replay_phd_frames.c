/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/replay_phd_frames.h"

#include "dataplane/exception/exception.h"
#include "dataplane/health/datagram.h"
#include "dataplane/health/worker.h"
#include "dataplane/health/egress.h"
#include "proto/health/coap.h"
#include "proto/health/onem2m.h"

static bool is_ip6(const uint8_t address[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address, prefix, sizeof(prefix)) != 0;
}

/* Writes lengths and checksums of a frame with headers of bp_datagram_head(). */
static void seal(uint8_t *frame, uint32_t head, bool ip6, uint32_t len)
{
	const uint8_t *ip = frame + BP_ETHER_HDR;

	bp_datagram_seal(frame, head, ip6, len, 0, ip6 ? 0 : bp_sum_fold(bp_sum(ip, BP_IP4_HDR, 0)),
		bp_sum_fold(bp_sum(
			frame + head - BP_UDP_HDR, BP_UDP_HDR, bp_datagram_peers_sum(ip, ip6))));
}

/* ---- to devices ---- */

/* Writes the Ethernet addresses and the output interface. False: they are unknown. */
static bool address_frame(struct bp_worker *w, const struct bp_replay_peers *peers,
	const struct bp_phd_peer *to, bool ip6, struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	const struct bp_replay_peer *heard;
	struct bp_egress way;

	if (bp_egress_lookup(&w->router, to->address, ip6, &way)) {
		bp_egress_apply(&w->router, &way, m);
		bp_exception_interface_set(m, way.interface);
		return true;
	}
	heard = bp_replay_peers_find(peers, to->address);
	if (!heard)
		return false;
	bp_ethernet_rewrite(frame, bp_mac_word(heard->mac), w->router.tx_mac[heard->interface]);
	bp_exception_interface_set(m, heard->interface);
	return true;
}

struct rte_mbuf *bp_replay_phd_frame(struct bp_worker *w, const struct bp_replay_peers *peers,
	const struct bp_phd_peer *to, uint16_t listen, const uint8_t *apdu, size_t len,
	bool *no_way)
{
	const bool ip6 = is_ip6(to->address);
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	uint8_t *frame;
	uint32_t head;

	*no_way = false;
	if (!m || len > rte_pktmbuf_tailroom(m) - BP_PHD_FRAME_HEAD_MAX) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	head = bp_datagram_head(frame, ip6, to->own, to->address, listen, to->port);
	memcpy(frame + head, apdu, len);
	seal(frame, head, ip6, (uint32_t)len);
	m->data_len = (uint16_t)(head + len);
	m->pkt_len = m->data_len;
	*no_way = !address_frame(w, peers, to, ip6, m);
	if (!*no_way)
		return m;
	rte_pktmbuf_free(m);
	return NULL;
}

/* ---- in the CSE's name ---- */

/*
 * Whether a frame is from this gateway to the CSE of the plan: then returns the offset of its UDP
 * header.
 */
static bool to_cse(
	const struct bp_phd_settings *p, const uint8_t *frame, uint32_t len, const uint8_t **udp)
{
	const bool ip6 = p->family == 6;
	const uint8_t *ip = frame + BP_ETHER_HDR;
	const uint32_t head = BP_ETHER_HDR + (ip6 ? BP_IP6_HDR : BP_IP4_HDR);
	uint16_t from;

	if (len < head + BP_UDP_HDR + BP_COAP_HEADER_LEN ||
		bp_be16(frame + 12) != (ip6 ? BP_ETHER_IP6 : BP_ETHER_IP4))
		return false;
	if (ip6 ? ip[BP_IP6_NEXT] != BP_PROTO_UDP || memcmp(ip + BP_IP6_SRC, p->source, 16) != 0 ||
				memcmp(ip + BP_IP6_DST, p->cse, 16) != 0
		: ip[0] != 0x45 || ip[BP_IP4_PROTOCOL] != BP_PROTO_UDP ||
				memcmp(ip + BP_IP4_SRC, p->source + 12, 4) != 0 ||
				memcmp(ip + BP_IP4_DST, p->cse + 12, 4) != 0)
		return false;
	*udp = frame + head;
	from = bp_be16(*udp);
	return bp_be16(*udp + 2) == p->cse_port && from >= p->ports_first &&
	       from <= p->ports_last && bp_be16(*udp + BP_UDP_LENGTH) >= BP_UDP_HDR &&
	       bp_be16(*udp + BP_UDP_LENGTH) <= len - head;
}

uint32_t bp_replay_stored_frame(const struct bp_phd_settings *plan, const uint8_t *frame,
	uint32_t len, uint8_t out[BP_REPLAY_STORED_MAX])
{
	const bool ip6 = plan->family == 6;
	const struct bp_m2m_options *names = &bp_m2m_options[plan->release];
	struct bp_coap_writer w;
	struct bp_coap request;
	const uint8_t *udp;
	uint32_t head, n;

	if (!to_cse(plan, frame, len, &udp) ||
		bp_coap_read(udp + BP_UDP_HDR, bp_be16(udp + BP_UDP_LENGTH) - BP_UDP_HDR,
			&request) != BP_COAP_OK ||
		request.code != BP_COAP_POST)
		return 0;
	head = bp_datagram_head(out, ip6, plan->cse, plan->source, plan->cse_port, bp_be16(udp));
	memcpy(out, frame + 6, 6);
	memcpy(out + 6, frame, 6);
	bp_coap_begin(&w, out + head, BP_REPLAY_STORED_MAX - head,
		request.type == BP_COAP_CON ? BP_COAP_ACK : BP_COAP_NON, BP_COAP_CODE(2, 1),
		request.mid, request.token, request.token_len);
	bp_coap_option_uint(&w, names->rsc, BP_M2M_CREATED);
	n = (uint32_t)bp_coap_end(&w, out + head, NULL, 0);
	seal(out, head, ip6, n);
	return head + n;
}
