/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/health/settings.h"
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "dataplane/exception/exception.h"
#include "dataplane/health/datagram.h"
#include "dataplane/health/worker.h"
#include "dataplane/replay/replay_phd_internal.h"

/* Handles frames to this machine in place of the kernel: datagrams of devices go to the manager. */

#define TCP_FLAGS 13u
#define TCP_SYN 0x02
#define TCP_ACK 0x10

/*
 * Returns the upper header of a first fragment, if `protocol` is its protocol and `need` bytes are
 * present.
 */
static const uint8_t *upper(const struct rte_mbuf *m, uint8_t protocol, uint32_t need)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *ip = frame + BP_ETHER_HDR;
	uint32_t at;

	if (m->data_len < BP_ETHER_HDR + BP_IP4_HDR)
		return NULL;
	if (bp_be16(frame + 12) == BP_ETHER_IP4) {
		if (ip[BP_IP4_PROTOCOL] != protocol ||
			(bp_be16(ip + BP_IP4_FRAGMENT) & 0x1fff) != 0)
			return NULL;
		at = BP_ETHER_HDR + (ip[0] & 0xfu) * 4;
	} else {
		at = BP_ETHER_HDR + BP_IP6_HDR;
		if (bp_be16(frame + 12) != BP_ETHER_IP6 || m->data_len < at ||
			ip[BP_IP6_NEXT] != protocol)
			return NULL;
	}
	return at + need <= m->data_len ? frame + at : NULL;
}

/* Counts a packet that no service processes in a replay. */
static void skip_packet(struct bp_replay_phd *p, struct rte_mbuf *m)
{
	const struct bp_config_phd *c = bp_config_phd(p->c);
	const uint8_t *tcp = upper(m, BP_PROTO_TCP, TCP_FLAGS + 1);
	const uint8_t *udp = upper(m, BP_PROTO_UDP, BP_UDP_HDR);

	if (tcp && c->listen_tcp_port != 0 && bp_be16(tcp + 2) == c->listen_tcp_port) {
		p->counts.tcp_segments++;
		p->counts.tcp_connections += (tcp[TCP_FLAGS] & (TCP_SYN | TCP_ACK)) == TCP_SYN;
	}
	if (udp && c->listen_udp_port != 0 && bp_be16(udp + 2) == c->listen_udp_port)
		p->counts.unreadable++;
	bp_count(p->w, BP_C_DROP_NO_HOST_INTERFACE, 1);
}

/* Copies an address of a packet in the form used in sessions. */
static void copy_address(const struct bp_datagram *d, uint32_t at4, uint32_t at6, uint8_t out[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	memcpy(out, prefix, sizeof(prefix));
	if (d->ip6)
		memcpy(out, d->ip + at6, 16);
	else
		memcpy(out + sizeof(prefix), d->ip + at4, 4);
}

static bool is_unicast(const uint8_t *address, bool ip6)
{
	return ip6 ? address[0] != 0xff : bp_ip4_kind(address[12]) == BP_IP4_UNICAST;
}

/*
 * A captured device answers the GET of the manager of that time, which used other invoke-ids. So
 * the number of the response is replaced by that of our GET.
 */
static void answer_local(
	const struct bp_replay_phd *p, const struct bp_phd_peer *from, uint8_t *apdu, uint32_t len)
{
	uint32_t slot;

	if (len >= BP_PHD_DATA_AT + 2 && bp_be16(apdu) == BP_PHD_PRST &&
		bp_be16(apdu + BP_PHD_DATA_AT) == BP_PHD_RORS_GET &&
		bp_replay_phd_slot(p, from, &slot))
		bp_put_be16(apdu + BP_PHD_INVOKE_AT, p->asked[slot]);
}

static void receive(struct bp_replay_phd *p, struct rte_mbuf *m, const struct bp_datagram *d,
	const struct bp_phd_peer *from)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct bp_replay_peer heard = {.interface = (uint8_t)bp_exception_interface(m)};
	uint8_t *apdu = rte_pktmbuf_mtod_offset(m, uint8_t *, d->payload - frame);

	memcpy(heard.address, from->address, sizeof(heard.address));
	memcpy(heard.mac, frame + 6, sizeof(heard.mac));
	p->failed |= !bp_replay_peers_note(p->peers, &heard);
	answer_local(p, from, apdu, d->len);
	bp_phd_manager_receive(p->m, from, apdu, d->len, p->w->mono_ns, p->w->now_ns);
	bp_count(p->w, BP_C_PHD_MANAGER_RECEIVED, 1);
}

void bp_replay_phd_take(struct bp_replay_phd *p, struct rte_mbuf *m)
{
	struct bp_phd_peer from = {.transport = BP_PHD_TRANSPORT_UDP};
	struct bp_datagram d;
	bool ours = false;

	if (bp_phd_edge_ip(p->w, m) == BP_EDGE_PHD && bp_datagram_read(m, &d)) {
		copy_address(&d, BP_IP4_SRC, BP_IP6_SRC, from.address);
		copy_address(&d, BP_IP4_DST, BP_IP6_DST, from.own);
		from.port = bp_datagram_sport(&d);
		ours = is_unicast(from.own, d.ip6);
	}
	if (ours)
		receive(p, m, &d, &from);
	else
		skip_packet(p, m);
	rte_pktmbuf_free(m);
}
