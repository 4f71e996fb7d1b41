/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_FOLLOW_H
#define BP_DATAPLANE_EXCEPTION_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/exception/kernel_ifs.h"
#include "dataplane/workers/pools.h"
#include "dataplane/ports/ports.h"
#include "shm/fib/fib.h"

struct bp_config;

/*
 * Kernel interfaces and their ports are one interface to the operator, so what changes on one side
 * is brought to the other: a port's link becomes the kernel interface's carrier, and MAC and MTU
 * that are set in the kernel (`ip link set lan mtu 9000`), which the control plane writes to the
 * interface table, become the port's. At start the port is right, and the kernel interface gets its
 * values; so what the table holds from before counts only when it changes.
 *
 * For the main thread; it asks drivers and the kernel, which may take a while.
 */

/* What of the kernel's side has been seen. */
struct bp_followed {
	uint64_t mac; /* bp_mac_word() */
	uint32_t mtu;
	bool carrier, carrier_known;
};

#define BP_FOLLOW_MAC 1u
#define BP_FOLLOW_MTU 2u
/*
 * Which of both the port must be given, now that the table says so: what has changed there, is
 * other than the port's, and can be (a unicast MAC, an MTU of at least 68, RFC 791). Remembers it.
 */
unsigned bp_follow_decide(struct bp_followed *f, const struct bp_interface *table,
	uint64_t port_mac, uint32_t port_mtu);

struct bp_follow {
	const struct bp_config *config;
	struct bp_port *ports;
	const struct bp_pools *pools;
	const struct bp_kernel_ifs *ifs;
	const struct bp_interface *table; /* BP_MAX_INTERFACES */
	struct bp_followed of[BP_MAX_INTERFACES];
};

/* After the kernel interfaces were opened. All stay the caller's. */
void bp_follow_init(struct bp_follow *f, const struct bp_config *c, struct bp_port *ports,
	const struct bp_pools *pools, const struct bp_kernel_ifs *ifs,
	const struct bp_interface *table);
/* A few times a second; asks the links itself (bp_link_poll()). Returns the ports whose MAC or MTU
 * is another now, a bit each; ports[].mtu is kept up to date. What a driver refuses is said on
 * stderr, once. */
uint32_t bp_follow_poll(struct bp_follow *f);

#endif
