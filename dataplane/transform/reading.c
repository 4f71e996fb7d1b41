/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/transform/reading.h"

/* RFC 8200 4 */
#define IP6_HOP_BY_HOP 0
#define IP6_ROUTING 43
#define IP6_FRAGMENT 44
#define IP6_DESTINATION 60
#define IP6_FRAGMENT_OFFSET 0xfff8u
/* A chain longer than this is nobody's honest traffic, and no host's that we would keep from it. */
#define IP6_CHAIN_MAX 8u

/* Finds UDP behind extension headers of an IPv6 header whose place is known. */
static bool behind_extensions(struct bp_datagram *d)
{
	const uint8_t *ip = d->frame + d->l3;
	uint32_t at = d->l3 + BP_IP6_HDR;
	uint8_t next;

	if (at > d->len || ip[0] >> 4 != 6)
		return false;
	next = ip[BP_IP6_NEXT];
	for (unsigned i = 0; next != BP_PROTO_UDP; i++) {
		const uint8_t *h = d->frame + at;

		if (i == IP6_CHAIN_MAX || at + 8 > d->len ||
			(next != IP6_HOP_BY_HOP && next != IP6_ROUTING && next != IP6_FRAGMENT &&
				next != IP6_DESTINATION))
			return false;
		if (next == IP6_FRAGMENT && (bp_be16(h + 2) & IP6_FRAGMENT_OFFSET) != 0)
			return false;
		at += next == IP6_FRAGMENT ? 8u : 8u + h[1] * 8u;
		next = h[0];
	}
	if (at + BP_UDP_HDR > d->len)
		return false;
	d->l4 = (uint16_t)at;
	d->family = 6;
	d->sport = bp_be16(d->frame + at);
	d->dport = bp_be16(d->frame + at + 2);
	return true;
}

bool bp_reading_parse_hidden(
	const uint8_t *frame, uint32_t len, uint32_t frame_len, struct bp_datagram *d)
{
	uint32_t at = 12;

	if (bp_datagram_parse_fragment(frame, len, frame_len, d))
		return true;
	if (len < BP_ETHER_HDR)
		return false;
	for (unsigned tags = 0; bp_be16(frame + at) != BP_ETHER_IP6; tags++) {
		const uint16_t type = bp_be16(frame + at);

		if (tags == 2 || at + 6 > len ||
			(type != BP_ETHER_VLAN && type != BP_ETHER_QINQ &&
				type != BP_ETHER_QINQ_OLD))
			return false;
		at += 4;
	}
	d->l3 = (uint16_t)(at + 2);
	return behind_extensions(d);
}

/* Where neither receivers nor who answers them can be led astray. Its port may be 0, which says
 * that nobody answers (RFC 768). */
static bool sender_possible(const struct bp_datagram *d)
{
	return (d->frame[6] & 1) == 0 &&
	       bp_datagram_sender_possible(d->family, bp_datagram_src(d), 1, 1);
}

enum bp_reading_verdict bp_reading_judge(
	const struct bp_datagram *d, const struct bp_transform_layout *l, struct bp_reading *r)
{
	uint64_t sum, rest;

	if (!bp_datagram_ip_ok(d))
		return BP_READING_CHECKSUM;
	if (!bp_datagram_lengths_ok(d) || bp_datagram_payload_len(d) < l->length)
		return BP_READING_LENGTH;
	sum = bp_datagram_pseudo_sum(d->family, bp_datagram_src(d), d->l4_len);
	sum = bp_sum_add(sum, bp_sum_word(d->frame + d->l4));
	sum = bp_sum_add(sum, bp_datagram_payload_sum(d));
	rest = bp_sum_add(sum, ~bp_reading_outputs(l, bp_datagram_payload(d)));
	if (__builtin_expect(bp_datagram_has_checksum(d), 1)) {
		uint16_t check;

		if (!bp_sum_ok(sum))
			return BP_READING_CHECKSUM;
		memcpy(&check, d->frame + d->l4 + BP_UDP_CHECKSUM, sizeof(check));
		rest = bp_sum_add(rest, ~(uint64_t)check);
	} else if (d->family == 6) {
		return BP_READING_CHECKSUM;
	}
	if (!sender_possible(d))
		return BP_READING_SOURCE;
	r->frame = (uint8_t *)(uintptr_t)d->frame;
	r->kind = (struct bp_reading_kind){.l3 = d->l3, .l4 = d->l4, .family = d->family};
	bp_transform_words(d->family, d->family == 4 ? 32 : 128, bp_datagram_src(d), r->from);
	r->rest = rest;
	return BP_READING_TAKEN;
}

bool bp_reading_answerable(const struct bp_reading *r)
{
	const bool four = r->kind.family == 4;
	const uint8_t *ip = r->frame + r->kind.l3;

	return ip[four ? BP_IP4_TTL : BP_IP6_HOPS] >= 2 &&
	       bp_datagram_sender_possible(
		       r->kind.family, ip + (four ? BP_IP4_DST : BP_IP6_DST), 1, 1);
}
