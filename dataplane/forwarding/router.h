/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_FORWARDING_ROUTER_H
#define BP_DATAPLANE_FORWARDING_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/fib.h"
#include "dataplane/forwarding/source_filter.h"
#include "proto/net/ip4_four.h"
#include "shm/fib/fib.h"

struct bp_config;
struct bp_config_punt;

/*
 * The routing state of a worker, in the form needed per packet. The tables are in the segment; the
 * interfaces are a copy that is refreshed every few walks, so that one comparison checks whether a
 * packet is addressed to this router, and one checks the MTU of its output interface.
 */
#define BP_RX_MAC_DOWN UINT64_MAX /* no MAC: its upper 16 bits are not 0 */

struct bp_worker;

struct bp_router {
	bool enabled;
	/*
	 * Bit per interface for which the tables are known to describe the configuration: the
	 * tables persist over a restart, after which a number may belong to another port. Until the
	 * control plane confirms an interface, it is down.
	 */
	uint64_t confirmed;
	const char *name[BP_MAX_INTERFACES]; /* in the configuration; NULL: no such interface */
	const struct bp_fib *fib;
	const struct bp_config_punt *classes;
	uint64_t epoch;         /* see bp_fib_quiesce() */
	uint8_t nodes4;         /* of bp_lpm4_lookup_retry() */
	bool prefetch_nexthops; /* there are many, so they are prefetched */
	uint32_t now_s;         /* CLOCK_MONOTONIC second, for the tables' marks of use */
	uint64_t rx_mac[BP_ALL_INTERFACES]; /* bp_mac_word() of the interface, or BP_RX_MAC_DOWN */
	uint64_t tx_mac[BP_ALL_INTERFACES]; /* the same, also while it is down */
	/*
	 * first bytes of an IPv4 frame for this router; no frame matches if rx_mac is
	 * BP_RX_MAC_DOWN
	 */
	bp_v16 rx_head[BP_ALL_INTERFACES];
	/*
	 * Maximum IP packet, bytes; 0: down, or no interface. The array covers every number that a
	 * link word can hold, so that a damaged number has no effect: a caller that checks this
	 * array first may index the others.
	 */
	uint32_t tx_mtu[UINT8_MAX + 1];
	/* Edge for frames that leave by it. Below BP_EDGE_PORT, the node behind it reads the
	 * interface: bp_mark_output(). */
	uint8_t edge[BP_ALL_INTERFACES];
	/*
	 * BP_IF_*. BP_IF_NO_FORWARD4 and 6: packets received on it are not forwarded, according to
	 * its sysctl; BP_IF_REDIRECTS4 and 6: packets that leave by their input interface are also
	 * sent to the kernel, which sends a redirect.
	 */
	uint32_t flags[BP_ALL_INTERFACES];
	bool any_no_forward6;
	uint8_t rpf6; /* enum bp_rpf of the configuration, for all interfaces */
	/* called by bp_router_refresh() after a change of vrf_table; NULL: not needed */
	void (*vrf_tables_changed)(struct bp_worker *w);
	/* time of the last packet sent to the kernel for a redirect */
	uint64_t redirect_ns[BP_ALL_INTERFACES];
	struct bp_source_filter source;
	uint32_t vrf_table[BP_ALL_INTERFACES]; /* routing table of its VRF; 0: the main VRF */
	unsigned n_interfaces;                 /* whose entries in the table were ever read */
	/* Subinterfaces, from BP_MAX_INTERFACES on: port << 16 | VLAN identifier; 0: none. */
	uint32_t tag[BP_MAX_SUBINTERFACES];
	/* Number of the subinterface of a port and a VLAN; 0: none. Read for tagged frames only. */
	uint8_t vlan[BP_MAX_PORTS][BP_VLAN_ID_MAX + 2];
};

static inline uint8_t bp_tag_port(uint32_t tag)
{
	return (uint8_t)(tag >> 16);
}

/* The port of an interface: that of a subinterface, or the number itself. BP_NO_INTERFACE: none. */
static inline uint16_t bp_router_port(const struct bp_router *r, unsigned interface)
{
	uint32_t tag;

	if (!bp_is_subinterface(interface))
		return (uint16_t)interface;
	tag = r->tag[interface - BP_MAX_INTERFACES];
	return (uint16_t)(tag != 0 ? bp_tag_port(tag) : BP_NO_INTERFACE);
}

/*
 * The interface of frames with this tag on a port: the port itself for a priority tag (VLAN 0).
 * BP_NO_INTERFACE: none.
 */
static inline uint8_t bp_router_vlan(const struct bp_router *r, uint8_t port, uint16_t tci)
{
	const uint16_t id = tci & 0xfff;
	const uint8_t of_id = r->vlan[port][id];

	if (id == 0)
		return port;
	return of_id != 0 ? of_id : BP_NO_INTERFACE;
}

/* The VRF in which packets of an interface are looked up. */
static inline uint8_t bp_router_vrf(const struct bp_router *r, unsigned in)
{
	return r->source.vrf[in];
}

struct rte_mbuf;

/*
 * Looks up each dst[i] in the VRF of the interface that received m[i]: for the case that one is in
 * a VRF. n is at most 64. IPv4 addresses are in host byte order.
 */
void bp_router_lookup4(const struct bp_router *r, struct rte_mbuf *const *m, const uint32_t *dst,
	uint32_t *nexthop, unsigned n);
void bp_router_lookup6(const struct bp_router *r, struct rte_mbuf *const *m,
	const uint8_t *const *dst, uint32_t *nexthop, unsigned n);

/* Called once, before the first walk. `shm` and `index` of the worker are set. */
void bp_router_init(struct bp_worker *w, const struct bp_config *c);
/*
 * Whether a packet that leaves by its input interface is sent to the kernel, which forwards it and
 * may send a redirect: at a limited rate, since the traffic must not use the slow path.
 * `redirects`: BP_IF_REDIRECTS4 or 6.
 */
bool bp_router_redirects(struct bp_worker *w, uint32_t redirects, unsigned interface);
/* Called every few walks: refreshes interfaces and time. */
void bp_router_refresh(struct bp_worker *w);

#endif
