/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/lcl/check_lcl.h"

/* Matches of the entries of lcl.flows. */

#define IPV4 0x0800
#define IPV6 0x86dd

/* Returns the IP version that the match requires; 0: none. */
static unsigned family_of(const struct bp_match *m)
{
	return m->ethertype == IPV4         ? 4
	       : m->ethertype == IPV6       ? 6
	       : m->destination.family != 0 ? m->destination.family
					    : m->source.family;
}

static bool matches_ip_fields(const struct bp_match *m)
{
	return m->source.family != 0 || m->destination.family != 0 || m->udp_last != 0 ||
	       m->tcp_last != 0 || m->dscp != BP_MATCH_ANY_DSCP;
}

static void check_ip(struct bp_reader *r, const struct bp_lcl_entry *e)
{
	const struct bp_match *m = &e->flow->match;
	const unsigned family = family_of(m);

	if (m->ethertype != 0 && m->ethertype != IPV4 && m->ethertype != IPV6 &&
		matches_ip_fields(m))
		BP_AT_ERROR(r, bp_place(e->node, "match.ethertype"),
			"lcl.flows[%u].match.ethertype: 0x%04x is not IP, and other conditions "
			"match IP; expected 0x0800, 0x86dd or any",
			e->i, m->ethertype);
	else if (m->source.family != 0 && m->source.family != family)
		BP_AT_ERROR(r, bp_place(e->node, "match.source"),
			"lcl.flows[%u].match.source: other conditions match IPv%u; expected an "
			"IPv%u address",
			e->i, family, family);
	else if (m->destination.family != 0 && m->destination.family != family)
		BP_AT_ERROR(r, bp_place(e->node, "match.destination"),
			"lcl.flows[%u].match.destination: other conditions match IPv%u; expected "
			"an IPv%u address",
			e->i, family, family);
	if (m->udp_last != 0 && m->tcp_last != 0)
		BP_AT_ERROR(r, bp_place(e->node, "match.tcp_port"),
			"lcl.flows[%u].match.tcp_port: no frame has both udp_port and tcp_port; "
			"expected one of them, or two entries",
			e->i);
}

static void check_tags(struct bp_reader *r, const struct bp_lcl_entry *e)
{
	const struct bp_match *m = &e->flow->match;

	if (m->ethertype == 0x8100 || m->ethertype == 0x88a8)
		BP_AT_ERROR(r, bp_place(e->node, "match.ethertype"),
			"lcl.flows[%u].match.ethertype: 0x%04x is a VLAN tag's; expected the "
			"EtherType behind the tags (vlan matches the tag)",
			e->i, m->ethertype);
	if (m->ethertype == bp_config_lcl(r->config)->ethertype)
		BP_AT_ERROR(r, bp_place(e->node, "match.ethertype"),
			"lcl.flows[%u].match.ethertype: 0x%04x is the label's, which is removed "
			"before frames are matched; expected another EtherType",
			e->i, m->ethertype);
	if (m->vlan == BP_MATCH_UNTAGGED && m->pcp != BP_MATCH_ANY_PCP)
		BP_AT_ERROR(r, bp_place(e->node, "match.pcp"),
			"lcl.flows[%u].match.pcp: a frame without a VLAN tag has no priority; "
			"expected another vlan than none, or no pcp",
			e->i);
}

static bool prefix_covers(const struct bp_prefix *a, const struct bp_prefix *b)
{
	struct bp_address first = {.family = b->family};

	memcpy(first.bytes, b->bytes, sizeof(first.bytes));
	return a->family == 0 ||
	       (a->family == b->family && a->length <= b->length && bp_prefix_contains(a, &first));
}

static bool ports_cover(uint16_t a_first, uint16_t a_last, uint16_t b_first, uint16_t b_last)
{
	return a_last == 0 || (b_last != 0 && a_first <= b_first && b_last <= a_last);
}

/* Returns whether flow_a matches every frame that flow_b matches. */
static bool covers(const struct bp_lcl_flow *flow_a, const struct bp_lcl_flow *flow_b)
{
	const struct bp_match *a = &flow_a->match, *b = &flow_b->match;

	return flow_a->out == flow_b->out && a->port == b->port &&
	       prefix_covers(&a->source, &b->source) &&
	       prefix_covers(&a->destination, &b->destination) &&
	       ports_cover(a->udp_first, a->udp_last, b->udp_first, b->udp_last) &&
	       ports_cover(a->tcp_first, a->tcp_last, b->tcp_first, b->tcp_last) &&
	       (a->ethertype == 0 || a->ethertype == b->ethertype) &&
	       (a->vlan == BP_MATCH_ANY || a->vlan == b->vlan) &&
	       (a->pcp == BP_MATCH_ANY_PCP || a->pcp == b->pcp) &&
	       (a->dscp == BP_MATCH_ANY_DSCP || a->dscp == b->dscp);
}

/* First match wins, so an entry behind one that covers it on the same port never matches. */
static void check_covered(struct bp_reader *r, const struct bp_lcl_entry *all, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint32_t k = 0;

		while (k < i && !covers(all[k].flow, all[i].flow))
			k++;
		if (k == i)
			continue;
		BP_AT_ERROR(r, bp_place(all[i].node, "match"),
			"lcl.flows[%u].match: lcl.flows[%u] on line %u already matches all of "
			"these "
			"frames; expected %s",
			all[i].i, all[k].i, bp_messages_line(r->messages, all[k].node->line),
			covers(all[i].flow, all[k].flow)
				? "other conditions"
				: "this entry before that one, or other conditions");
	}
}

void bp_check_lcl_matches(struct bp_reader *r, const struct bp_lcl_entry *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		check_ip(r, &all[i]);
		check_tags(r, &all[i]);
	}
	check_covered(r, all, n);
}
