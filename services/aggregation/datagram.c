/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/datagram.h"

/* RFC 8200 4.5 */
#define IP6_FRAGMENT 44u
#define IP6_FRAGMENT_HDR 8u
#define IP6_FRAGMENT_OFFSET 0xfff8u

/* fragment: a first fragment is looked for, instead of a whole datagram. */
static bool parse_ip4(struct bp_datagram *d, bool fragment)
{
	const uint8_t *ip = d->frame + d->l3;
	uint32_t header, total;

	if (d->l3 + BP_IP4_HDR > d->len || ip[0] >> 4 != 4 || ip[BP_IP4_PROTOCOL] != BP_PROTO_UDP ||
		(bp_be16(ip + BP_IP4_FRAGMENT) & BP_IP4_MF_OFFSET) != (fragment ? BP_IP4_MF : 0))
		return false;
	header = (uint32_t)(ip[0] & 0x0f) * 4;
	if (header < BP_IP4_HDR)
		return false;
	total = bp_be16(ip + BP_IP4_TOTAL);
	d->l4 = (uint16_t)(d->l3 + header);
	d->l4_len = (uint16_t)(total > header ? total - header : 0);
	d->family = 4;
	d->tos = ip[1];
	d->hops = ip[BP_IP4_TTL];
	d->dont_fragment = (ip[BP_IP4_FRAGMENT] & BP_IP4_DF >> 8) != 0;
	return true;
}

static bool parse_ip6(struct bp_datagram *d, bool fragment)
{
	const uint8_t *ip = d->frame + d->l3, *more = ip + BP_IP6_HDR;
	const unsigned headers = BP_IP6_HDR + (fragment ? IP6_FRAGMENT_HDR : 0);

	if (d->l3 + headers > d->len || ip[0] >> 4 != 6 ||
		ip[BP_IP6_NEXT] != (fragment ? IP6_FRAGMENT : BP_PROTO_UDP))
		return false;
	if (fragment && (more[0] != BP_PROTO_UDP || (bp_be16(more + 2) & IP6_FRAGMENT_OFFSET) != 0))
		return false;
	d->l4 = (uint16_t)(d->l3 + headers);
	d->l4_len = bp_be16(ip + BP_IP6_PAYLOAD);
	d->family = 6;
	d->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
	d->hops = ip[BP_IP6_HOPS];
	d->dont_fragment = false;
	return true;
}

static bool parse(const uint8_t *frame, uint32_t len, uint32_t frame_len, bool fragment,
	struct bp_datagram *d)
{
	uint32_t at = 12;
	uint16_t type;

	d->frame = frame;
	d->len = len;
	d->frame_len = frame_len;
	if (len < BP_ETHER_HDR)
		return false;
	type = bp_be16(frame + at);
	for (unsigned tags = 0;
		type == BP_ETHER_VLAN || type == BP_ETHER_QINQ || type == BP_ETHER_QINQ_OLD;
		tags++) {
		if (tags == 2 || at + 6 > len)
			return false;
		at += 4;
		type = bp_be16(frame + at);
	}
	d->l3 = (uint16_t)(at + 2);
	if (type == BP_ETHER_IP4 ? !parse_ip4(d, fragment)
				 : type != BP_ETHER_IP6 || !parse_ip6(d, fragment))
		return false;
	if (d->l4 + BP_UDP_HDR > len)
		return false;
	d->sport = bp_be16(frame + d->l4);
	d->dport = bp_be16(frame + d->l4 + 2);
	return true;
}

bool bp_datagram_parse_general(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d)
{
	return parse(frame, len, frame_len, false, d);
}

bool bp_datagram_parse_fragment(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d)
{
	if (!parse(frame, len, frame_len, true, d))
		return false;
	d->l4_len = 0;
	return true;
}
