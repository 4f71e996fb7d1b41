/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/exception_class.h"

#include "config/config.h"
#include "proto/net/ip.h"
#include "proto/net/nd.h"

/* Header fields for the classification, for both IP versions. */
struct packet {
	uint8_t protocol;
	uint8_t hops; /* TTL or hop limit */
	bool ip6;
	bool has_ports; /* not a later fragment, and the ports are in the readable bytes */
	uint16_t sport, dport;
	uint8_t icmp_type;
};

#define BGP 179
#define RIP 520
#define RIPNG 521
#define LDP 646
#define BFD 3784
#define BFD_ECHO 3785
#define BFD_MULTIHOP 4784
#define LLC_ISIS 0xfefe /* DSAP and SSAP of IS-IS, in an 802.3 frame */
#define MAX_8023_LENGTH 1500
#define HOPS_MAX 255 /* no router has forwarded the packet */

static void read_upper(struct packet *p, const uint8_t *l4, uint32_t len)
{
	if ((p->protocol == BP_PROTO_TCP || p->protocol == BP_PROTO_UDP) && len >= 4) {
		p->has_ports = true;
		p->sport = bp_be16(l4);
		p->dport = bp_be16(l4 + 2);
	}
	if (p->ip6 && p->protocol == BP_PROTO_ICMP6 && len >= 1)
		p->icmp_type = l4[0];
}

static bool read_ip4(struct packet *p, const uint8_t *h, uint32_t len)
{
	uint32_t header;

	if (len < BP_IP4_HDR)
		return false;
	header = (h[0] & 0xfu) * 4;
	p->protocol = h[BP_IP4_PROTOCOL];
	p->hops = h[BP_IP4_TTL];
	if (header <= len && (bp_be16(h + BP_IP4_FRAGMENT) & 0x1fff) == 0)
		read_upper(p, h + header, len - header);
	return true;
}

/* Multicast listener reports have a hop-by-hop header; no other extension header is skipped. */
static bool read_ip6(struct packet *p, const uint8_t *h, uint32_t len)
{
	uint32_t at = BP_IP6_HDR;

	if (len < BP_IP6_HDR)
		return false;
	p->ip6 = true;
	p->protocol = h[BP_IP6_NEXT];
	p->hops = h[BP_IP6_HOPS];
	if (p->protocol == BP_PROTO_HOP_BY_HOP && len >= at + 8) {
		p->protocol = h[at];
		at += h[at + 1] * 8u + 8;
	}
	if (at <= len)
		read_upper(p, h + at, len - at);
	return true;
}

static bool is_routing_port(const struct packet *p)
{
	if (p->protocol == BP_PROTO_TCP)
		return p->dport == BGP || p->sport == BGP || p->dport == LDP;
	switch (p->dport) {
	case RIP:
	case RIPNG:
	case LDP:
	case BFD_MULTIHOP:
		return true;
	case BFD: /* RFC 5881 5 */
		return p->hops == HOPS_MAX;
	case BFD_ECHO: /* returned by the neighbor, which may have forwarded it */
		return p->hops >= HOPS_MAX - 1;
	default:
		return false;
	}
}

/*
 * A protocol that only uses its own link marks its packets by the TTL. Only packets with that TTL
 * are in this class, so that no remote sender can fill its queue. The kernel also receives the
 * others, in another class.
 */
static bool is_routing(const struct packet *p)
{
	switch (p->protocol) {
	case BP_PROTO_IGMP: /* RFC 3376 4 */
		return p->hops == 1;
	case BP_PROTO_VRRP: /* RFC 9568 5.1.1.3 */
		return p->hops == HOPS_MAX;
	case BP_PROTO_EIGRP:
	case BP_PROTO_OSPF:
	case BP_PROTO_PIM:
		return true;
	case BP_PROTO_ICMP6:
		if (p->icmp_type >= BP_ND_FIRST && p->icmp_type <= BP_ND_LAST)
			return p->hops == HOPS_MAX; /* RFC 4861 6.1, 7.1 and 8.1 */
		/* listener queries and reports: RFC 2710 3, RFC 3810 5 */
		return p->hops == 1 &&
		       ((p->icmp_type >= 130 && p->icmp_type <= 132) || p->icmp_type == 143);
	default:
		return p->has_ports && is_routing_port(p);
	}
}

static bool is_phd(const struct bp_config_punt *c, const struct packet *p)
{
	const uint16_t own = p->protocol == BP_PROTO_UDP ? c->listen_udp : c->listen_tcp;

	if (!p->has_ports)
		return false;
	for (uint32_t i = 0; i < c->n_health_device_ports; i++)
		if (p->dport == c->health_device_ports[i])
			return true;
	return own != 0 && p->dport == own;
}

static bool read_packet(struct packet *p, const uint8_t *frame, uint32_t len)
{
	uint16_t type;

	*p = (struct packet){0};
	if (len < BP_ETHER_HDR)
		return false;
	type = bp_be16(frame + 12);
	if (type == BP_ETHER_IP4)
		return read_ip4(p, frame + BP_ETHER_HDR, len - BP_ETHER_HDR);
	if (type == BP_ETHER_IP6)
		return read_ip6(p, frame + BP_ETHER_HDR, len - BP_ETHER_HDR);
	return false;
}

enum bp_exception_class bp_exception_classify(
	const struct bp_config_punt *c, const uint8_t *frame, uint32_t len, bool local)
{
	struct packet p;

	if (len >= BP_ETHER_HDR + 2) {
		uint16_t type = bp_be16(frame + 12);

		if (type == BP_ETHER_ARP)
			return BP_EX_ROUTING;
		if (type <= MAX_8023_LENGTH && bp_be16(frame + BP_ETHER_HDR) == LLC_ISIS)
			return BP_EX_ROUTING;
	}
	if (!local || !read_packet(&p, frame, len))
		return BP_EX_OTHER;
	if (is_routing(&p))
		return BP_EX_ROUTING;
	return is_phd(c, &p) ? BP_EX_PHD : BP_EX_LOCAL;
}

bool bp_exception_is_nd(const uint8_t *frame, uint32_t len)
{
	struct packet p;

	return read_packet(&p, frame, len) && p.protocol == BP_PROTO_ICMP6 &&
	       p.icmp_type >= BP_ND_FIRST && p.icmp_type <= BP_ND_LAST;
}
