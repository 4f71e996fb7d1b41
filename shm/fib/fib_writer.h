/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_FIB_WRITER_H
#define BP_SHM_FIB_FIB_WRITER_H

#include "shm/fib/fib.h"

/*
 * The only writer of the forwarding tables. All functions are for one thread of one process at a
 * time; the writer's other state (a trie of all routes, the users of each next hop, free lists) is
 * in its own memory.
 */
struct bp_fib_writer;

enum bp_fib_result {
	BP_FIB_DONE,    /* the tables changed */
	BP_FIB_SAME,    /* they said so already */
	BP_FIB_FULL,    /* table full: counted in the control table; its traffic is punted to the
			   kernel */
	BP_FIB_ABSENT,  /* there is none to delete */
	BP_FIB_INVALID, /* no such interface, prefix length, family, type or hop */
	BP_FIB_NO_MEMORY,
};

/*
 * Adopts the tables: initialises new ones, or reads existing ones and repairs changes that an
 * earlier writer left incomplete (counted in control->repairs). `readers_gone`: whether no worker
 * can be running (the data plane is dead), so that the writer need not wait for its epochs; may be
 * NULL. Returns NULL with a sentence in err.
 */
struct bp_fib_writer *bp_fib_writer_new(
	struct bp_fib *f, bool (*readers_gone)(void *arg), void *arg, char *err, size_t err_size);
void bp_fib_writer_free(struct bp_fib_writer *w); /* the tables stay */

/* Everything about interface `i`; info->flags without BP_IF_PRESENT removes it. */
enum bp_fib_result bp_fib_interface_set(
	struct bp_fib_writer *w, unsigned i, const struct bp_interface_info *info);

/*
 * What is known about VRF `vrf` (1..BP_MAX_VRFS); info->table 0 frees the number, which its routes
 * keep until they are deleted. Before the first call, routes in it are invalid.
 */
enum bp_fib_result bp_fib_vrf_set(
	struct bp_fib_writer *w, unsigned vrf, const struct bp_vrf_info *info);

/*
 * The next hops with this gateway change immediately. `state`: REACHABLE, PERMANENT or FAILED (mac
 * is ignored; the neighbor is then absent). A permanent neighbor is unchanged until it is set
 * again as permanent or deleted: the other states come from the kernel, and return SAME.
 */
enum bp_fib_result bp_fib_neighbor_set(struct bp_fib_writer *w, unsigned interface,
	const struct bp_address *a, const uint8_t mac[6], enum bp_neighbor_state state);
enum bp_fib_result bp_fib_neighbor_delete(
	struct bp_fib_writer *w, unsigned interface, const struct bp_address *a);
/* As bp_fib_neighbor_used(), without looking through all next hops. */
uint32_t bp_fib_writer_neighbor_used(
	const struct bp_fib_writer *w, unsigned interface, const struct bp_address *a);

/*
 * A next-hop object of the kernel, alone or a group (RTM_NEWNEXTHOP), by its id: routes that name
 * it follow a change by one store. type: enum bp_route_type (blackhole or punt, else unicast).
 * Deleting one that routes still name leaves them dropped as blackhole until they are set again.
 */
enum bp_fib_result bp_fib_object_set(struct bp_fib_writer *w, uint32_t object, uint8_t type,
	const struct bp_hop *hop, uint32_t n_hops);
enum bp_fib_result bp_fib_object_delete(struct bp_fib_writer *w, uint32_t object);

/*
 * Adds the route, or replaces the one of the same prefix and origin. There is at most one per
 * prefix and origin: a caller that has several with different metrics passes the best. With
 * r->object set, the hops are those of the object, which must have been set before, and r->hop is
 * ignored.
 */
enum bp_fib_result bp_fib_route_set(struct bp_fib_writer *w, const struct bp_route *r);
enum bp_fib_result bp_fib_route_delete(
	struct bp_fib_writer *w, const struct bp_prefix *p, enum bp_origin origin);

/*
 * Mark and sweep: after bp_fib_mark() everything counts as old until it is set again (also when
 * that changes nothing); bp_fib_sweep() deletes routes of `origin`, neighbors that are not
 * permanent (origin kernel) or are (origin static), and objects (origin kernel) that are still old.
 * Returns how many.
 */
void bp_fib_mark(struct bp_fib_writer *w, enum bp_origin origin);
uint32_t bp_fib_sweep(struct bp_fib_writer *w, enum bp_origin origin);

/*
 * Periodic work outside of changes: frees memory that all workers have left, and retries routes and
 * neighbors that did not fit. To be called periodically (every 10 ms is enough) and after a batch
 * of changes. Returns whether work remains.
 */
bool bp_fib_settle(struct bp_fib_writer *w);

#endif
