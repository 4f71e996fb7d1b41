/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/ingress.h"

#include "dataplane/nodes/next_hop.h"
#include "proto/net/ip.h"
#include "shm/fib/lpm/lpm.h"

/* Whether the next hop forwards. *local: it is the host itself. */
static bool has_route(const struct bp_router *r, uint32_t nexthop, bool *local)
{
	const uint64_t link =
		atomic_load_explicit(&bp_next_hop(r, nexthop)->link, memory_order_acquire);

	*local = bp_link_kind(link) == BP_LINK_LOCAL;
	switch (bp_link_kind(link)) {
	case BP_LINK_LOCAL:
	case BP_LINK_RESOLVED:
	case BP_LINK_UNRESOLVED:
	case BP_LINK_CONNECTED:
	case BP_LINK_GROUP:
	case BP_LINK_PUNT:
		return true;
	default:
		return false;
	}
}

static bool ip4(const struct bp_router *r, uint16_t port, const uint8_t *h)
{
	bool local;

	if (!bp_sum_ok(bp_sum(h, (h[0] & 0xfu) * 4, 0)) ||
		bp_ip4_kind(h[BP_IP4_SRC]) != BP_IP4_UNICAST ||
		bp_ip4_kind(h[BP_IP4_DST]) != BP_IP4_UNICAST ||
		bp_source4(&r->source, r->fib, port, h + BP_IP4_SRC) != BP_C_COUNT)
		return false;
	if (!has_route(
		    r, bp_lpm4_lookup_in(r->fib, bp_router_vrf(r, port), h + BP_IP4_DST), &local))
		return false;
	return local || (h[BP_IP4_TTL] > 1 && !(r->flags[port] & BP_IF_NO_FORWARD4) &&
				!bp_ip4_is_link_local(h + BP_IP4_SRC) &&
				!bp_ip4_is_link_local(h + BP_IP4_DST));
}

static bool ip6(const struct bp_router *r, uint16_t port, const uint8_t *h)
{
	const uint8_t *src = h + BP_IP6_SRC, *dst = h + BP_IP6_DST;
	uint32_t nexthop = BP_NH_LOCAL;
	bool local;

	if (bp_ip6_is_multicast(src) || bp_ip6_is_martian(src) || bp_ip6_is_multicast(dst) ||
		bp_ip6_is_martian(dst) || bp_source6(&r->source, r->fib, port, src) != BP_C_COUNT)
		return false;
	if (!bp_ip6_is_link_local(dst))
		nexthop = bp_lpm6_lookup_in(r->fib, bp_router_vrf(r, port), dst);
	if (!has_route(r, nexthop, &local))
		return false;
	return local || (h[BP_IP6_HOPS] > 1 && !(r->flags[port] & BP_IF_NO_FORWARD6) &&
				!bp_ip6_is_link_local(src));
}

bool bp_ingress_is_forwarded(const struct bp_worker *w, uint16_t port, const struct bp_frame *f)
{
	const struct bp_router *r = &w->router;

	if (f->l3 == BP_ETHER_HDR + BP_VLAN_TAG && bp_be16(f->data + 12) == BP_ETHER_VLAN)
		port = bp_router_vlan(r, (uint8_t)port, bp_be16(f->data + BP_ETHER_HDR));
	else if (f->l3 != BP_ETHER_HDR)
		return false;
	/* BP_RX_MAC_DOWN equals no frame's MAC address */
	if (port == BP_NO_INTERFACE || bp_mac_word(f->data) != r->rx_mac[port])
		return false;
	return f->ip6 ? ip6(r, port, f->data + f->l3) : ip4(r, port, f->data + f->l3);
}
