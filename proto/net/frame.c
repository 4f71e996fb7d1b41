/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/net/frame.h"

#define IP_PROTO_HOPOPTS 0
#define IP_PROTO_IP4 4
#define IP_PROTO_TCP 6
#define IP_PROTO_IP6 41
#define IP_PROTO_ROUTING 43
#define IP_PROTO_FRAGMENT 44
#define IP_PROTO_GRE 47
#define IP_PROTO_ESP 50
#define IP_PROTO_AH 51
#define IP_PROTO_DSTOPTS 60
/* Longer chains of extension headers do not occur in legitimate traffic. */
#define IP6_EXT_MAX 8

#define VLAN_TAGS_MAX 3
#define MPLS_LABELS_MAX 8
#define MPLS_BOTTOM 0x01 /* in the third byte of a label */
#define PPPOE_HDR 6
#define PPP_IP4 0x0021
#define PPP_IP6 0x0057
#define PPP_CONTROL 0x8000 /* from here on protocols that set links up */
#define LLC_IP4 0x06       /* service access points */
#define LLC_SNAP 0xaa
#define SNAP_HDR 8

static enum bp_frame_kind unread(struct bp_frame *f, enum bp_frame_unread why)
{
	f->unread = (uint8_t)why;
	return BP_FRAME_UNREAD;
}

/* An IP protocol that is not TCP. */
static enum bp_frame_kind other(struct bp_frame *f, uint8_t protocol)
{
	if (protocol == IP_PROTO_IP4 || protocol == IP_PROTO_IP6 || protocol == IP_PROTO_GRE ||
		protocol == IP_PROTO_ESP)
		return unread(f, BP_UNREAD_TUNNEL);
	return BP_FRAME_OTHER;
}

/* The header after the authentication header at l3 + *at, which is skipped. */
static bool pass_ah(const struct bp_frame *f, uint32_t total, uint32_t *at, uint8_t *next)
{
	const uint8_t *ah = f->data + f->l3 + *at;

	if (*at + 12 > total || f->l3 + *at + 12 > f->contiguous)
		return false;
	*next = ah[0];
	*at += ((uint32_t)ah[1] + 2) * 4;
	return true;
}

/* A piece of a datagram at `offset`, with what follows at f->l4. */
static enum bp_frame_kind fragment(struct bp_frame *f, uint32_t offset, uint8_t next)
{
	f->has_ports = offset == 0 && next == IP_PROTO_TCP && f->l4 + 4u <= f->contiguous;
	f->is_first = offset == 0;
	if (f->has_ports) {
		f->sport = bp_be16(f->data + f->l4);
		f->dport = bp_be16(f->data + f->l4 + 2);
	}
	return BP_FRAME_FRAGMENT;
}

static enum bp_frame_kind parse_ip4(struct bp_frame *f, uint32_t l3_len)
{
	const uint8_t *ip = f->data + f->l3;
	uint32_t at, total;
	uint8_t next;

	if (l3_len < 20 || f->l3 + 20u > f->contiguous)
		return BP_FRAME_BAD;
	at = (uint32_t)(ip[0] & 0x0f) * 4;
	total = bp_be16(ip + 2);
	next = ip[9];
	if (ip[0] >> 4 != 4)
		return BP_FRAME_BAD;
	if (next != IP_PROTO_TCP && next != IP_PROTO_AH)
		return other(f, next);
	if (at < 20 || total < at || total > l3_len)
		return BP_FRAME_BAD;
	if (bp_be16(ip + 6) & 0x3fff) {
		f->l4 = (uint16_t)(f->l3 + at);
		return fragment(f, bp_be16(ip + 6) & 0x1fff, next);
	}
	if (next == IP_PROTO_AH) {
		if (!pass_ah(f, total, &at, &next))
			return BP_FRAME_BAD;
		if (next != IP_PROTO_TCP)
			return other(f, next);
	}
	if (at + 20 > total || f->l3 + at + 20 > f->contiguous)
		return BP_FRAME_BAD;
	f->l4 = (uint16_t)(f->l3 + at);
	return bp_frame_tcp(f, total - at);
}

static bool is_extension(uint8_t protocol)
{
	return protocol == IP_PROTO_HOPOPTS || protocol == IP_PROTO_ROUTING ||
	       protocol == IP_PROTO_DSTOPTS || protocol == IP_PROTO_FRAGMENT ||
	       protocol == IP_PROTO_AH;
}

static enum bp_frame_kind parse_ip6(struct bp_frame *f, uint32_t l3_len)
{
	const uint8_t *ip = f->data + f->l3;
	uint32_t at = 40, total;
	uint8_t next;

	if (l3_len < 40 || f->l3 + 40u > f->contiguous || ip[0] >> 4 != 6)
		return BP_FRAME_BAD;
	next = ip[6];
	total = 40 + (uint32_t)bp_be16(ip + 4);
	for (unsigned i = 0; next != IP_PROTO_TCP; i++) {
		if (!is_extension(next))
			return other(f, next);
		if (i == IP6_EXT_MAX || total > l3_len || at + 8 > total ||
			f->l3 + at + 8 > f->contiguous)
			return BP_FRAME_BAD;
		if (next == IP_PROTO_FRAGMENT) {
			/* an atomic fragment (RFC 6946) is a whole datagram */
			if (bp_be16(ip + at + 2) & 0xfff9) {
				if (ip[at] != IP_PROTO_TCP && !is_extension(ip[at]))
					return other(f, ip[at]);
				f->l4 = (uint16_t)(f->l3 + at + 8);
				return fragment(f, bp_be16(ip + at + 2) & 0xfff8, ip[at]);
			}
			next = ip[at];
			at += 8;
		} else if (next == IP_PROTO_AH) {
			if (!pass_ah(f, total, &at, &next))
				return BP_FRAME_BAD;
		} else {
			next = ip[at];
			at += 8 + (uint32_t)ip[at + 1] * 8;
		}
	}
	if (total > l3_len || at + 20 > total || f->l3 + at + 20 > f->contiguous)
		return BP_FRAME_BAD;
	f->ip6 = true;
	f->l4 = (uint16_t)(f->l3 + at);
	return bp_frame_tcp(f, total - at);
}

/* IP follows at `at`. */
static enum bp_frame_kind ip_at(struct bp_frame *f, uint32_t at, bool ip6)
{
	f->l3 = (uint16_t)at;
	f->ip6 = ip6;
	return BP_FRAME_TCP;
}

/* At `at`: LLC, and SNAP if LLC selects it. */
static enum bp_frame_kind link_llc(struct bp_frame *f, uint32_t at)
{
	const uint8_t *p = f->data + at;
	uint16_t type;

	if (at + SNAP_HDR > f->contiguous)
		return BP_FRAME_OTHER;
	if (p[0] != LLC_SNAP || p[1] != LLC_SNAP)
		return p[0] == LLC_IP4 ? unread(f, BP_UNREAD_LLC) : BP_FRAME_OTHER;
	type = bp_be16(p + 6);
	if (type != BP_ETHER_IP4 && type != BP_ETHER_IP6)
		return BP_FRAME_OTHER;
	/* unnumbered information, and a protocol by its EtherType (RFC 1042) */
	if (p[2] != 0x03 || p[3] != 0 || p[4] != 0 || p[5] != 0)
		return unread(f, BP_UNREAD_LLC);
	return ip_at(f, at + SNAP_HDR, type == BP_ETHER_IP6);
}

/* The protocol field may lack its first byte (RFC 1661, 6.5). */
static enum bp_frame_kind link_pppoe(struct bp_frame *f, uint32_t at)
{
	const uint8_t *p = f->data + at;
	uint32_t protocol, len = 1;

	if (at + PPPOE_HDR + 2 > f->contiguous || p[0] != 0x11 || p[1] != 0)
		return BP_FRAME_OTHER;
	f->tunnel |= bp_be16(p + 2);
	protocol = p[PPPOE_HDR];
	if (!(protocol & 1)) {
		protocol = bp_be16(p + PPPOE_HDR);
		len = 2;
	}
	if (protocol == PPP_IP4 || protocol == PPP_IP6)
		return ip_at(f, at + PPPOE_HDR + len, protocol == PPP_IP6);
	return protocol < PPP_CONTROL ? unread(f, BP_UNREAD_PPPOE) : BP_FRAME_OTHER;
}

/* The data after the labels identifies itself, if it is IP. Labels differ by direction: they do
 * not distinguish connections. */
static enum bp_frame_kind link_mpls(struct bp_frame *f, uint32_t at)
{
	for (unsigned i = 0; i < MPLS_LABELS_MAX && at + 5 <= f->contiguous; i++) {
		const uint8_t *p = f->data + at;

		at += 4;
		if (!(p[2] & MPLS_BOTTOM))
			continue;
		if (p[4] >> 4 != 4 && p[4] >> 4 != 6)
			break;
		return ip_at(f, at, p[4] >> 4 == 6);
	}
	return unread(f, BP_UNREAD_MPLS);
}

/* A receiver strips a tag with identifier 0 in front of another one, and behind it: with it, a
 * connection has the same identity as without. */
static void add_vlan(struct bp_frame *f, uint16_t id)
{
	if (id == 0)
		return;
	if (f->vlan_outer == 0)
		f->vlan_outer = id;
	else if (f->vlan_inner == 0)
		f->vlan_inner = id;
	else
		f->tunnel = (uint32_t)id << 16;
}

enum bp_frame_kind bp_frame_link(const uint8_t *data, uint32_t contiguous, struct bp_frame *f)
{
	uint32_t at = 12;
	uint16_t type;

	f->data = data;
	f->contiguous = contiguous;
	f->vlan_outer = f->vlan_inner = 0;
	f->tunnel = 0;
	f->ip6 = false;
	if (contiguous < BP_ETHER_HDR)
		return BP_FRAME_OTHER;
	type = bp_be16(data + at);
	for (unsigned tags = 0;
		type == BP_ETHER_VLAN || type == BP_ETHER_QINQ || type == BP_ETHER_QINQ_OLD;
		tags++) {
		if (tags == VLAN_TAGS_MAX)
			return unread(f, BP_UNREAD_VLAN);
		if (at + 6 > contiguous)
			return BP_FRAME_OTHER;
		add_vlan(f, bp_be16(data + at + 2) & 0x0fff);
		at += 4;
		type = bp_be16(data + at);
	}
	at += 2;
	f->l2 = (uint16_t)at;
	if (type == BP_ETHER_IP4 || type == BP_ETHER_IP6)
		return ip_at(f, at, type == BP_ETHER_IP6);
	if (type == BP_ETHER_PPPOE)
		return link_pppoe(f, at);
	if (type == BP_ETHER_MPLS || type == BP_ETHER_MPLS_UPSTREAM)
		return link_mpls(f, at);
	return type <= BP_ETHER_LENGTH_MAX ? link_llc(f, at) : BP_FRAME_OTHER;
}

enum bp_frame_kind bp_frame_parse(
	const uint8_t *data, uint32_t contiguous, uint32_t frame_len, struct bp_frame *f)
{
	const enum bp_frame_kind kind = bp_frame_link(data, contiguous, f);
	bool ip6;

	f->n_more = 0;
	f->port = f->network = 0;
	f->more = NULL;
	if (kind != BP_FRAME_TCP)
		return kind;
	ip6 = f->ip6;
	f->ip6 = false; /* until the whole header is present */
	return ip6 ? parse_ip6(f, frame_len - f->l3) : parse_ip4(f, frame_len - f->l3);
}

bool bp_frame_checksum_ok(const struct bp_frame *f)
{
	uint32_t header = (uint32_t)(f->payload - f->l4);
	uint32_t here = f->contiguous - f->payload;
	uint64_t sum;

	if (!f->ip6) {
		const uint8_t *ip = f->data + f->l3;

		if (bp_sum_fold(bp_sum(ip, (size_t)(ip[0] & 0x0f) * 4, 0)) != 0xffff)
			return false;
	}
	if (here > f->payload_len)
		here = f->payload_len;
	sum = bp_sum(f->data + f->l4, header + here, bp_tcp_pseudo_sum(f));
	if (f->n_more != 0) {
		uint32_t at = here;

		for (unsigned i = 0; i < f->n_more; i++) {
			uint64_t part = bp_sum_fold(bp_sum(f->more[i].data, f->more[i].len, 0));

			/* a piece that begins at an odd offset sums byte-swapped (RFC 1071) */
			sum += (at + header) & 1 ? __builtin_bswap16((uint16_t)part) : part;
			sum += sum < part;
			at += f->more[i].len;
		}
	}
	return bp_sum_fold(sum) == 0xffff;
}
