/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_KERNEL_DUMP_H
#define BP_CONTROLPLANE_SYNC_KERNEL_DUMP_H

#include "biplane/fib.h"

struct bp_config;

/*
 * What the forwarding tables must say when they mirror the kernel as it is now: by the sync
 * manager's own translation, without tables and without a control plane. For `show ... --diff`.
 */
struct bp_kernel_state {
	/* By number; flags 0: not in the kernel (none such, host_interface.backend: off, or not
	 * there now). */
	struct bp_interface_info interface[BP_MAX_INTERFACES];
	/* Sorted by family, prefix and length; one of each prefix, origin kernel. A route that
	 * names an object has the hops of the object. */
	uint32_t n_routes;
	struct bp_route *route;
	/* Sorted by interface, family and address; used_s is 0. */
	uint32_t n_neighbours;
	struct bp_neighbour_info *neighbour;
	/* Prefixes that stand as punt because the tables can't say them:
	 * controlplane/sync/mirror.h. */
	uint32_t not_mirrored;
};

/*
 * Reads links, addresses, neighbours, next-hop objects and routes from the kernel of this network
 * namespace, which must be the control plane's. Needs no rights. Blocks for as long as the dump
 * takes (a second for a million routes). Returns 0, or -1 with a sentence; then nothing is to be
 * freed.
 */
int bp_kernel_dump(
	const struct bp_config *c, struct bp_kernel_state *out, char *err, size_t err_size);
void bp_kernel_state_free(struct bp_kernel_state *s);

/* The order of the arrays above: as memcmp() returns. */
int bp_kernel_route_order(const struct bp_route *a, const struct bp_route *b);
int bp_kernel_neighbour_order(const struct bp_neighbour_info *a, const struct bp_neighbour_info *b);

#endif
