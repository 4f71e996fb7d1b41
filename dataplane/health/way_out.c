/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/health/way_out.h"

#include "dataplane/nodes/next_hop.h"
#include "proto/ip.h"
#include "shm/hash.h"
#include "shm/fib/lpm/lpm.h"
#include "shm/fib/neighbours.h"

/* Which member of a group an address gets: the same one always. */
static uint32_t hash_of(const uint8_t address[16])
{
	return (uint32_t)(bp_mix64(bp_load64(address) ^ bp_load64(address + 8)) >> 32);
}

bool bp_way_out(const struct bp_router *r, uint32_t nexthop, const uint8_t address[16], bool ip6,
	struct bp_way_out *out)
{
	uint64_t link = bp_next_hop_use(r, nexthop);

	if (bp_link_kind(link) == BP_LINK_GROUP)
		link = bp_next_hop_of_group(r, link, hash_of(address));
	if (bp_link_kind(link) == BP_LINK_CONNECTED) {
		uint32_t dst;

		memcpy(&dst, address + 12, sizeof(dst));
		link = ip6 ? bp_neighbour6_use(r->fib, bp_link_interface(link), address, r->now_s)
			   : bp_neighbour4_use(r->fib, bp_link_interface(link), dst, r->now_s);
	}
	out->link = link;
	out->interface = bp_link_interface(link);
	out->mtu = r->tx_mtu[out->interface];
	if (bp_link_kind(link) != BP_LINK_RESOLVED || out->mtu == 0)
		return false;
	out->edge = r->edge[out->interface];
	return true;
}

bool bp_way_out_to(
	const struct bp_router *r, const uint8_t address[16], bool ip6, struct bp_way_out *out)
{
	const uint32_t dst4 = bp_be32(address + 12);
	uint32_t nexthop;

	if (ip6)
		bp_lpm6_lookup(r->fib, &address, &nexthop, 1);
	else
		bp_lpm4_lookup(r->fib, &dst4, &nexthop, 1);
	return bp_way_out(r, nexthop, address, ip6, out);
}
