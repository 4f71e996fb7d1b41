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
 * Synchronises kernel interfaces and their ports, which are one interface to the operator: the link
 * of a port becomes the carrier of the kernel interface, and a MAC or MTU that is set in the kernel
 * (`ip link set lan mtu 9000`), which the control plane writes to the interface table, becomes that
 * of the port. At the start the values of the port apply, and the kernel interface gets them; older
 * values in the table apply only after they change. Called by the main thread; it calls drivers and
 * the kernel, which may take some time.
 */

/* The last values read from the kernel side. */
struct bp_followed {
	uint64_t mac; /* bp_mac_word() */
	uint32_t mtu;
	uint32_t ifindex; /* of the kernel interface that is followed */
	bool carrier, carrier_known;
	/* Polls in which the table may not have the values yet that a new kernel interface got
	 * from its port; 0: what it has is the operator's. */
	uint8_t new_polls;
};

#define BP_FOLLOW_MAC 1u
#define BP_FOLLOW_MTU 2u
/*
 * Returns which of MAC and MTU the port must be given according to the table: a value that has
 * changed there, differs from that of the port, and is valid (a unicast MAC, an MTU of at least 68,
 * RFC 791). Records the values.
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

/* Called after the kernel interfaces are opened. The caller keeps ownership of all arguments. */
void bp_follow_init(struct bp_follow *f, const struct bp_config *c, struct bp_port *ports,
	const struct bp_pools *pools, const struct bp_kernel_ifs *ifs,
	const struct bp_interface *table);
/*
 * Called a few times a second; polls the links itself (bp_link_poll()). Returns a bit for each port
 * whose MAC or MTU has changed; ports[].mtu is updated. A value that a driver rejects is logged
 * once.
 */
uint32_t bp_follow_poll(struct bp_follow *f);

#endif
