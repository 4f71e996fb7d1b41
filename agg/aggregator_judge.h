/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_AGG_AGGREGATOR_JUDGE_H
#define BP_AGG_AGGREGATOR_JUDGE_H

#include "agg/aggregator_parts.h"
#include "proto/agg_paper.h"

/* Whether a frame is for this port: on one that routes, for its MAC address; else for any single
 * station. */
static inline bool bp_aggregator_for_us(const struct bp_agg_input *in)
{
	const uint64_t to = bp_load_le64(in->frame);

	return in->routed ? ((to ^ in->mac) << 16) == 0 : (to & 1) == 0;
}

/* Whether a datagram of rule r can be aggregated; if not, *pass says why. *sum: of its payload. */
BP_DATAGRAM_INLINE bool bp_aggregator_judge(const struct bp_aggregator_rule *r,
	const struct bp_datagram *d, bool routed, uint64_t *sum, uint8_t *pass)
{
	const uint8_t *src = bp_datagram_src(d);
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
	if (r->format == BP_AGG_FORMAT_PAPER &&
		(len != BP_AGG_PAPER_LEN(1) || bp_datagram_payload(d)[0] != BP_AGG_PAPER_MESSAGE)) {
		*pass = BP_AGG_PASS_FORMAT;
		return false;
	}
	if ((int32_t)len > r->longest) {
		*pass = BP_AGG_PASS_LENGTH;
		return false;
	}
	/* what must not leave its link (RFC 4291 2.5.6) is the router's to judge */
	if (!bp_datagram_sender_possible(d->family, src, d->sport, d->hops) ||
		(routed && d->family == 6 && bp_ip6_is_link_local(src))) {
		*pass = BP_AGG_PASS_SENDER;
		return false;
	}
	return true;
}

#endif
