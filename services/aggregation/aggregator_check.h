/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_CHECK_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_CHECK_H

#include "services/aggregation/aggregator_state.h"
#include "proto/aggregation/agg_lin2018.h"

/* Whether a frame is for this port: on one that routes, for its MAC address; else for any single
 * station. */
static inline bool bp_aggregator_for_us(const struct bp_agg_input *in)
{
	const uint64_t to = bp_load_le64(in->frame);

	return in->routed ? ((to ^ in->mac) << 16) == 0 : (to & 1) == 0;
}

/* Whether a datagram of rule r can be aggregated; if not, *pass says why. *sum: of its payload. */
BP_DATAGRAM_INLINE bool bp_aggregator_check(const struct bp_aggregator_rule *r,
	const struct bp_datagram *d, bool routed, uint64_t *sum, uint8_t *pass)
{
	const uint8_t *src = bp_datagram_src(d);
	uint64_t from[2];
	unsigned len;

	if (!bp_datagram_ip_ok(d)) {
		*pass = BP_AGG_PASS_CHECKSUM;
		return false;
	}
	if (!bp_datagram_lengths_ok(d) || bp_datagram_has_options(d)) {
		*pass = BP_AGG_PASS_SHAPE;
		return false;
	}
	*sum = bp_datagram_payload_sum(d);
	if (bp_datagram_has_checksum(d) ? !bp_datagram_udp_ok(d, *sum) : d->family == 6) {
		*pass = BP_AGG_PASS_CHECKSUM;
		return false;
	}
	len = bp_datagram_payload_len(d);
	if (r->format == BP_AGG_FORMAT_LIN2018 &&
		(len != BP_AGG_LIN2018_LEN(1) ||
			bp_datagram_payload(d)[0] != BP_AGG_LIN2018_MESSAGE)) {
		*pass = BP_AGG_PASS_FORMAT;
		return false;
	}
	if ((int32_t)len > r->longest) {
		*pass = BP_AGG_PASS_LENGTH;
		return false;
	}
	/* what must not leave its link (RFC 4291 2.5.6) is the router's to check */
	bp_agg_match_words(d->family, src, from);
	if (!bp_datagram_sender_possible(d->family, src, d->sport, d->hops) ||
		!bp_agg_senders_has(&r->senders, from) ||
		(routed && d->family == 6 && bp_ip6_is_link_local(src))) {
		*pass = BP_AGG_PASS_SENDER;
		return false;
	}
	return true;
}

/* bp_sum() of a payload; most have 16 to 24 bytes. */
static inline uint64_t bp_aggregator_sum(const uint8_t *p, unsigned len)
{
	uint64_t sum, tail;

	if (__builtin_expect(len - 16 > 8, 0))
		return bp_sum(p, len, 0);
	sum = bp_sum_add(bp_sum_word(p), bp_sum_word(p + 8));
	if (len == 16)
		return sum;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	tail = bp_sum_word(p + len - 8) >> 8 * (24 - len);
#else
	tail = bp_sum_tail(p + 16, len - 16);
#endif
	return bp_sum_add(sum, tail);
}

/*
 * Whether the datagram in a frame without tags, with IPv4 and no options, can be aggregated, as
 * bp_aggregator_check() has it; if not, that one says why. *len and *sum: of its payload.
 */
BP_DATAGRAM_INLINE bool bp_aggregator_check_simple_ip4(const struct bp_aggregator_rule *r,
	const struct bp_agg_input *in, bool paper, unsigned *len, uint64_t *sum)
{
	const uint8_t *f = in->frame, *ip = f + BP_ETHER_HDR, *udp = ip + BP_IP4_HDR;
	const unsigned l4_len = bp_be16(udp + BP_UDP_LEN);
	uint64_t all;
	uint16_t check, sport;

	*len = l4_len - BP_UDP_HDR;
	if (l4_len < BP_UDP_HDR || (paper && *len != BP_AGG_LIN2018_LEN(1)) ||
		(int32_t)*len > r->longest)
		return false;
	if (bp_be16(ip + BP_IP4_TOTAL) != BP_IP4_HDR + l4_len ||
		BP_ETHER_HDR + BP_IP4_HDR + l4_len > in->len || in->len < in->frame_len ||
		(paper && udp[BP_UDP_HDR] != BP_AGG_LIN2018_MESSAGE))
		return false;
	*sum = bp_aggregator_sum(udp + BP_UDP_HDR, *len);
	all = (uint64_t)__builtin_bswap16((uint16_t)l4_len) + ((uint64_t)BP_PROTO_UDP << 8);
	all = bp_sum_add(bp_sum_add(all, bp_sum_word(ip + BP_IP4_SRC)), bp_sum_word(udp));
	memcpy(&check, udp + BP_UDP_CHECKSUM, 2);
	memcpy(&sport, udp, 2);
	return bp_ip4_checksum_ok20(ip) && (check == 0 || bp_sum_ok(bp_sum_add(all, *sum))) &&
	       sport != 0 && ip[BP_IP4_TTL] != 0 && bp_ip4_kind(ip[BP_IP4_SRC]) == BP_IP4_UNICAST &&
	       bp_agg_senders_has4(&r->senders, ip + BP_IP4_SRC);
}

#endif
