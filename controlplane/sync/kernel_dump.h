/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_KERNEL_DUMP_H
#define BP_CONTROLPLANE_SYNC_KERNEL_DUMP_H

#include "biplane/fib.h"

struct bp_config;
struct bp_fib;

/*
 * The expected contents of forwarding tables for the current state of the kernel, by the
 * translation of the sync manager, without tables and without a control plane. For `show ...
 * --diff`.
 */
struct bp_kernel_state {
	/* By number; flags 0: not in the kernel (not configured, host_interface.backend: off, or
	 * missing now). */
	struct bp_interface_info interface[BP_ALL_INTERFACES];
	/* Sorted by family, prefix and length; one route per prefix, origin kernel. A route that
	 * uses an object has the hops of the object. */
	uint32_t n_routes;
	struct bp_route *route;
	/* Sorted by interface, family and address; used_s is 0. */
	uint32_t n_neighbors;
	struct bp_neighbor_info *neighbor;
	/* Prefixes with type punt because the tables cannot represent them:
	 * controlplane/sync/nl_cache.h. */
	uint32_t punted;
};

/*
 * Reads links, addresses, neighbors, next-hop objects and routes from the kernel of this network
 * namespace, which must be that of the control plane. Needs no privileges. Blocks for the time of
 * the dump (one second for a million routes). Returns 0, or -1 with a sentence in `err`; nothing
 * must be freed then.
 */
int bp_kernel_dump(const struct bp_config *c, const struct bp_fib *f, struct bp_kernel_state *out,
	char *err, size_t err_size);
void bp_kernel_state_free(struct bp_kernel_state *s);

/* The order of the arrays above: returns like memcmp(). */
int bp_kernel_route_order(const struct bp_route *a, const struct bp_route *b);
int bp_kernel_neighbor_order(const struct bp_neighbor_info *a, const struct bp_neighbor_info *b);

#endif
