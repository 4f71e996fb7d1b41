/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/forwarding/router.h"

#include <string.h>

#include "config/config.h"
#include "dataplane/workers/worker.h"

#define NS_PER_SECOND 1000000000ull
#define FEW_NEXTHOPS 128 /* their cache lines stay in the L1 cache */
#define FORWARDS (BP_IF_PRESENT | BP_IF_UP)
#define REDIRECT_EVERY_NS (NS_PER_SECOND / 10)

void bp_router_init(struct bp_worker *w, const struct bp_config *c)
{
	struct bp_router *r = &w->router;

	memset(r, 0, sizeof(*r));
	r->enabled = bp_config_routes(c);
	r->fib = &w->shm->fib;
	r->classes = &c->punt;
	r->rpf6 = c->ipv6_rp_filter;
	for (unsigned i = 0; i < BP_ALL_INTERFACES; i++) {
		r->source.rpf6[i] = r->rpf6;
		r->rx_mac[i] = BP_RX_MAC_DOWN;
		r->rx_head[i] = bp_ip4_expect_none();
		r->edge[i] = bp_is_subinterface(i) ? BP_EDGE_VLAN
			     : i < c->n_ports      ? (uint8_t)(BP_EDGE_PORT + i)
						   : BP_EDGE_BRIDGE;
	}
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		bp_config_interface(c, i, &r->name[i]);
}

/* Names do not change while a data plane runs: one successful comparison is enough. */
static bool is_confirmed(struct bp_router *r, unsigned i)
{
	const uint64_t bit = 1ull << i;

	if (unlikely(!(r->confirmed & bit)) && r->name[i] != NULL &&
		strncmp(r->name[i], r->fib->interfaces[i].info.name, BP_NAME_MAX + 1) == 0)
		r->confirmed |= bit;
	return r->confirmed & bit;
}

/* The kernel routes and filters the packets of a VRF that has no number, and knows whether it
 * forwards there. */
static void follow_vrf(struct bp_router *r, unsigned i)
{
	const uint32_t vrf = atomic_load_explicit(&r->fib->interfaces[i].vrf, memory_order_relaxed);

	r->source.vrf[i] = (uint8_t)(vrf <= BP_MAX_VRFS ? vrf : BP_VRF_KERNEL);
	r->source.any_vrf |= vrf != BP_VRF_MAIN;
	r->source.rpf6[i] = r->source.vrf[i] == BP_VRF_KERNEL ? BP_RPF_OFF : r->rpf6;
	if (r->source.vrf[i] == BP_VRF_KERNEL) {
		r->source.rpf4[i] = BP_RPF_OFF;
		r->flags[i] &= ~(BP_IF_NO_FORWARD4 | BP_IF_NO_FORWARD6);
	}
}

/* Whether it has changed. Which VRF it was in is not known of an interface that the kernel does not
 * have at present. */
static bool follow_vrf_table(struct bp_router *r, unsigned i, uint32_t flags)
{
	const uint32_t table =
		atomic_load_explicit(&r->fib->interfaces[i].vrf_table, memory_order_relaxed);

	if (likely(table == r->vrf_table[i]) || (table == 0 && !(flags & BP_IF_KERNEL)))
		return false;
	r->vrf_table[i] = table;
	return true;
}

/* Applies the settings of the operator to interface i. */
static void follow_settings(struct bp_router *r, unsigned i, uint32_t flags)
{
	r->flags[i] = flags;
	r->source.rpf4[i] = flags & BP_IF_RPF_STRICT  ? BP_RPF_STRICT
			    : flags & BP_IF_RPF_LOOSE ? BP_RPF_LOOSE
						      : BP_RPF_OFF;
	follow_vrf(r, i);
	r->any_no_forward6 |= (r->flags[i] & BP_IF_NO_FORWARD6) != 0;
	r->source.any4 |= r->source.rpf4[i] != BP_RPF_OFF;
	r->source.any6 |= r->source.rpf6[i] != BP_RPF_OFF;
}

bool bp_router_redirects(struct bp_worker *w, uint32_t redirects, unsigned interface)
{
	struct bp_router *r = &w->router;

	if (!(r->flags[interface] & redirects) ||
		w->mono_ns - r->redirect_ns[interface] < REDIRECT_EVERY_NS)
		return false;
	r->redirect_ns[interface] = w->mono_ns;
	return true;
}

/* Applies the port and VLAN of subinterface i. Returns whether it can be up: its port is. */
static bool follow_tag(struct bp_router *r, unsigned i, bool present)
{
	uint32_t *const tag = &r->tag[i - BP_MAX_INTERFACES];
	uint32_t now = atomic_load_explicit(&r->fib->interfaces[i].vlan, memory_order_relaxed);
	const uint32_t id = now & UINT16_MAX;

	if (!present || now >> 16 >= BP_MAX_PORTS || id == 0 || id > BP_VLAN_ID_MAX)
		now = 0;
	if (now != *tag && *tag != 0 && r->vlan[bp_tag_port(*tag)][*tag & UINT16_MAX] == i)
		r->vlan[bp_tag_port(*tag)][*tag & UINT16_MAX] = 0;
	*tag = now;
	if (now == 0)
		return false;
	r->vlan[bp_tag_port(now)][id] = (uint8_t)i;
	return r->rx_mac[bp_tag_port(now)] != BP_RX_MAC_DOWN;
}

void bp_router_refresh(struct bp_worker *w)
{
	struct bp_router *r = &w->router;
	bool vrf_tables_changed = false;

	if (!r->enabled)
		return;
	r->now_s = (uint32_t)(w->mono_ns / NS_PER_SECOND);
	r->prefetch_nexthops = atomic_load_explicit(&r->fib->control->nexthops,
				       memory_order_relaxed) > FEW_NEXTHOPS;
	bp_source_filter_refresh(&r->source, r->fib);
	r->source.any4 = r->source.any6 = r->any_no_forward6 = r->source.any_vrf = false;
	r->n_interfaces = RTE_MAX(r->n_interfaces, bp_fib_interfaces(r->fib));
	for (unsigned i = 0; i < r->n_interfaces; i++) {
		const struct bp_interface *f = &r->fib->interfaces[i];
		/* stored last: an interface that is up has its MAC and MTU */
		uint32_t flags = atomic_load_explicit(&f->flags, memory_order_acquire);
		uint64_t mac = atomic_load_explicit(&f->mac, memory_order_relaxed);
		bool present = flags & BP_IF_PRESENT;
		bool up = (flags & FORWARDS) == FORWARDS;

		if (bp_is_subinterface(i))
			up &= follow_tag(r, i, present);
		else
			up &= is_confirmed(r, i);

		r->rx_mac[i] = up ? mac : BP_RX_MAC_DOWN;
		/* frames that must not be forwarded take the slow path */
		r->rx_head[i] = up && !(flags & BP_IF_NO_FORWARD4) ? bp_ip4_expect(mac)
								   : bp_ip4_expect_none();
		follow_settings(r, i, flags);
		vrf_tables_changed |= follow_vrf_table(r, i, flags);
		r->tx_mac[i] = mac;
		r->tx_mtu[i] = up ? atomic_load_explicit(&f->mtu, memory_order_relaxed) : 0;
	}
	if (unlikely(vrf_tables_changed && r->vrf_tables_changed != NULL))
		r->vrf_tables_changed(w);
}
