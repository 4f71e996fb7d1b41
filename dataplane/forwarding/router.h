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
 * What a worker knows for routing, in the form in which it needs it per packet. The tables are the
 * segment's; of the interfaces it keeps a copy that is renewed every few walks, so that a packet
 * costs one comparison to see that it came to us, and one to see that it fits where it leaves.
 */
#define BP_RX_MAC_DOWN UINT64_MAX /* no MAC: its upper 16 bits are not 0 */

struct bp_router {
	bool enabled;
	/* Bit per interface of which the tables are known to mean what the configuration means: the
	 * tables outlive a restart, after which a number may be another port's. Until the control
	 * plane has said so, such an interface is down. */
	uint64_t confirmed;
	const char *name[BP_MAX_INTERFACES]; /* in the configuration; NULL: it has none such */
	const struct bp_fib *fib;
	const struct bp_config_punt *classes;
	uint64_t epoch;         /* see bp_fib_quiesce() */
	uint8_t nodes4;         /* of bp_lpm4_lookup_retry() */
	bool prefetch_nexthops; /* so that they must be fetched ahead */
	uint32_t now_s;         /* CLOCK_MONOTONIC second, for the tables' marks of use */
	uint64_t rx_mac[BP_MAX_INTERFACES]; /* bp_mac_word() of the interface, or BP_RX_MAC_DOWN */
	uint64_t tx_mac[BP_MAX_INTERFACES]; /* the same, also while it is down */
	/* what an IPv4 frame for us begins with; nothing does where rx_mac is BP_RX_MAC_DOWN */
	bp_v16 rx_head[BP_MAX_INTERFACES];
	/* bytes of an IP packet; 0: down, or no interface. Of every number that a link word can
	 * name, so that a damaged one leads nowhere: who asks here first may use the other arrays.
	 */
	uint32_t tx_mtu[UINT8_MAX + 1];
	uint8_t edge[BP_MAX_INTERFACES]; /* where node forward sends what leaves by it */
	/* Bit per interface: what came in on it is not forwarded, as its sysctl says; and a packet
	 * that leaves by it again is of use to the kernel, which sends a redirect. */
	uint64_t no_forward4, no_forward6, redirects4, redirects6;
	uint64_t redirect_ns[BP_MAX_INTERFACES]; /* when the kernel was given one last */
	struct bp_source_filter source;
};

struct bp_worker;

/* Once, before the first walk. `shm` and `index` of the worker are set. */
void bp_router_init(struct bp_worker *w, const struct bp_config *c);
/* Whether a packet that leaves by the interface it came in on goes to the kernel, which forwards it
 * and may send a redirect: now and then, since the traffic is not to take that way. `redirects`:
 * those of its family. */
bool bp_router_redirects(struct bp_worker *w, uint64_t redirects, unsigned interface);
/* Every few walks: interfaces and time. */
void bp_router_refresh(struct bp_worker *w);

#endif
