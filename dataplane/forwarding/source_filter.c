/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/forwarding/source_filter.h"

#include <endian.h>

#include "biplane/counters/general.h"
#include "proto/net/ip.h"
#include "shm/fib/fib_tables.h"
#include "shm/fib/lpm/lpm.h"

static void add(struct bp_source_filter *s, uint32_t hash)
{
	s->own[hash] = 1;
}

/* An address, and the broadcast addresses of its subnet (RFC 919, and the older form of RFC 1812
 * 5.3.5.2). */
static void add_address(struct bp_source_filter *s, const struct bp_interface_address *a)
{
	uint32_t address, host;

	if (a->address.family == 6) {
		add(s, bp_local_hash6(a->address.bytes));
		return;
	}
	memcpy(&address, a->address.bytes, sizeof(address));
	add(s, bp_local_hash4(address));
	if (a->length >= 31)
		return;
	host = UINT32_MAX >> a->length;
	add(s, bp_local_hash4(htobe32(be32toh(address) | host)));
	add(s, bp_local_hash4(htobe32(be32toh(address) & ~host)));
}

/* A value that changes with every change of an interface. */
static uint64_t version(const struct bp_fib *f)
{
	uint64_t v = 1;

	for (unsigned i = 0; i < bp_fib_interfaces(f); i++)
		v = v * 31 + atomic_load_explicit(&f->interfaces[i].seq, memory_order_acquire);
	return v;
}

void bp_source_filter_refresh(struct bp_source_filter *s, const struct bp_fib *f)
{
	const uint64_t now = version(f);

	if (now == s->known)
		return;
	memset(s->own, 0, sizeof(s->own));
	for (unsigned i = 0; i < bp_fib_interfaces(f); i++) {
		struct bp_interface_info info;

		if (!bp_fib_interface(f, i, &info))
			continue;
		for (unsigned k = 0; k < info.n_addresses && k < BP_ADDRESSES_MAX; k++)
			add_address(s, &info.address[k]);
	}
	s->known = now;
}

static uint64_t link_of(const struct bp_fib *f, uint32_t nexthop)
{
	return nexthop < f->max_nexthops
		       ? atomic_load_explicit(&f->nexthops[nexthop].link, memory_order_acquire)
		       : 0;
}

/* Whether the two are the same, or in the same VRF: as the kernel, which receives by its device. */
static bool is_same_side(const struct bp_fib *f, unsigned out, unsigned in)
{
	uint32_t vrf;

	if (out == in)
		return true;
	if (out >= BP_ALL_INTERFACES)
		return false;
	vrf = atomic_load_explicit(&f->interfaces[in].vrf, memory_order_relaxed);
	return vrf != BP_VRF_MAIN &&
	       atomic_load_explicit(&f->interfaces[out].vrf, memory_order_relaxed) == vrf;
}

static bool egresses_on(const struct bp_fib *f, uint64_t link, unsigned interface)
{
	switch (bp_link_kind(link)) {
	case BP_LINK_RESOLVED:
	case BP_LINK_CONNECTED:
	case BP_LINK_UNRESOLVED:
		return is_same_side(f, bp_link_interface(link), interface);
	default:
		return false;
	}
}

static bool member_egresses_on(const struct bp_fib *f, uint64_t link, unsigned interface)
{
	const struct bp_nexthop_group *g = &f->groups[(uint32_t)link];
	uint32_t n;

	if ((uint32_t)link >= f->max_groups)
		return false;
	n = __atomic_load_n(&g->n, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < n && i < BP_HOPS_MAX; i++)
		if (egresses_on(f, link_of(f, __atomic_load_n(&g->member[i], __ATOMIC_RELAXED)),
			    interface))
			return true;
	return false;
}

bp_counter_t bp_source_verdict(
	const struct bp_fib *f, uint32_t nexthop, unsigned in, enum bp_rpf rpf)
{
	const uint64_t link = link_of(f, nexthop);
	bool ok = true;

	if (bp_link_kind(link) == BP_LINK_LOCAL)
		return BP_C_DROP_SOURCE_LOCAL;
	switch (bp_link_kind(link)) {
	case BP_LINK_RESOLVED:
	case BP_LINK_CONNECTED:
	case BP_LINK_UNRESOLVED:
		ok = rpf == BP_RPF_LOOSE || egresses_on(f, link, in);
		break;
	case BP_LINK_GROUP:
		ok = rpf == BP_RPF_LOOSE || member_egresses_on(f, link, in);
		break;
	case BP_LINK_PUNT: /* by an interface that is not ours */
		ok = rpf == BP_RPF_LOOSE;
		break;
	default: /* no route, or an invalid one */
		ok = false;
	}
	return ok || rpf == BP_RPF_OFF ? BP_C_COUNT : BP_C_DROP_REVERSE_PATH;
}

bp_counter_t bp_source4(const struct bp_source_filter *s, const struct bp_fib *f, unsigned in,
	const uint8_t *source)
{
	uint32_t address;

	memcpy(&address, source, sizeof(address));
	if (s->rpf4[in] == BP_RPF_OFF && !bp_local_maybe(s, bp_local_hash4(address)))
		return BP_C_COUNT;
	return bp_source_verdict(f, bp_lpm4_lookup_in(f, s->vrf[in], source), in, s->rpf4[in]);
}

bp_counter_t bp_source6(const struct bp_source_filter *s, const struct bp_fib *f, unsigned in,
	const uint8_t *source)
{
	if (s->rpf6[in] == BP_RPF_OFF && !bp_local_maybe(s, bp_local_hash6(source)))
		return BP_C_COUNT;
	/* always valid on its link, and no route contains it */
	if (bp_ip6_is_link_local(source))
		return BP_C_COUNT;
	return bp_source_verdict(f, bp_lpm6_lookup_in(f, s->vrf[in], source), in, s->rpf6[in]);
}
