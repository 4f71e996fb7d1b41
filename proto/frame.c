/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/frame.h"

#define IP_PROTO_HOPOPTS 0
#define IP_PROTO_TCP 6
#define IP_PROTO_ROUTING 43
#define IP_PROTO_FRAGMENT 44
#define IP_PROTO_DSTOPTS 60
/* A chain of extension headers longer than this is nobody's honest traffic. */
#define IP6_EXT_MAX 8

static enum bp_frame_kind parse_ip4(struct bp_frame *f, uint32_t l3_len)
{
	const uint8_t *ip = f->data + f->l3;
	uint32_t header, total;

	if (l3_len < 20 || f->l3 + 20u > f->contiguous)
		return BP_FRAME_BAD;
	header = (uint32_t)(ip[0] & 0x0f) * 4;
	total = bp_be16(ip + 2);
	if (ip[0] >> 4 != 4)
		return BP_FRAME_BAD;
	if (ip[9] != IP_PROTO_TCP)
		return BP_FRAME_OTHER;
	if (header < 20 || total < header || total > l3_len)
		return BP_FRAME_BAD;
	if (bp_be16(ip + 6) & 0x3fff)
		return BP_FRAME_FRAGMENT;
	if (total - header < 20 || f->l3 + header + 20 > f->contiguous)
		return BP_FRAME_BAD;
	f->l4 = (uint16_t)(f->l3 + header);
	return bp_frame_tcp(f, total - header);
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
		if (next != IP_PROTO_HOPOPTS && next != IP_PROTO_ROUTING &&
			next != IP_PROTO_DSTOPTS && next != IP_PROTO_FRAGMENT)
			return BP_FRAME_OTHER;
		if (i == IP6_EXT_MAX || total > l3_len || at + 8 > total ||
			f->l3 + at + 8 > f->contiguous)
			return BP_FRAME_BAD;
		if (next == IP_PROTO_FRAGMENT) {
			/* an atomic fragment (RFC 6946) is a whole datagram */
			if (bp_be16(ip + at + 2) & 0xfff9)
				return BP_FRAME_FRAGMENT;
			next = ip[at];
			at += 8;
			continue;
		}
		next = ip[at];
		at += 8 + (uint32_t)ip[at + 1] * 8;
	}
	if (total > l3_len || at + 20 > total || f->l3 + at + 20 > f->contiguous)
		return BP_FRAME_BAD;
	f->ip6 = true;
	f->l4 = (uint16_t)(f->l3 + at);
	return bp_frame_tcp(f, total - at);
}

enum bp_frame_kind bp_frame_parse(
	const uint8_t *data, uint32_t contiguous, uint32_t frame_len, struct bp_frame *f)
{
	uint32_t at = 12;
	uint16_t type;

	f->data = data;
	f->contiguous = contiguous;
	f->vlan_outer = f->vlan_inner = 0;
	f->ip6 = false;
	f->n_more = 0;
	f->more = NULL;
	if (contiguous < BP_ETHER_HDR)
		return BP_FRAME_OTHER;
	type = bp_be16(data + at);
	for (unsigned tags = 0;
		type == BP_ETHER_VLAN || type == BP_ETHER_QINQ || type == BP_ETHER_QINQ_OLD;
		tags++) {
		if (tags == 2 || at + 6 > contiguous)
			return BP_FRAME_OTHER;
		if (tags == 0)
			f->vlan_outer = bp_be16(data + at + 2) & 0x0fff;
		else
			f->vlan_inner = bp_be16(data + at + 2) & 0x0fff;
		at += 4;
		type = bp_be16(data + at);
	}
	f->l3 = (uint16_t)(at + 2);
	if (type == BP_ETHER_IP4)
		return parse_ip4(f, frame_len - f->l3);
	if (type == BP_ETHER_IP6)
		return parse_ip6(f, frame_len - f->l3);
	return BP_FRAME_OTHER;
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
