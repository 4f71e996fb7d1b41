/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_FIB_FAKE_FIB_FAKE_H
#define BP_TESTS_UNIT_FIB_FAKE_FIB_FAKE_H

#include "shm/fib/fib_writer.h"

/*
 * A fake writer of forwarding tables that only records the calls of shm/fib/fib_writer.h, for tests
 * of its callers. Ends the process on calls that are not allowed.
 */

/* A writer without tables; bp_fib_writer_free() ends it. */
struct bp_fib_writer *fib_fake_new(void);

/* The current entry, or NULL. Valid until the next change. */
const struct bp_route *fib_fake_route(
	const struct bp_fib_writer *w, const struct bp_prefix *p, enum bp_origin origin);
const struct bp_neighbor_info *fib_fake_neighbor(
	const struct bp_fib_writer *w, unsigned interface, const struct bp_address *a);
const struct bp_interface_info *fib_fake_interface(const struct bp_fib_writer *w, unsigned i);
const struct bp_vrf_info *fib_fake_vrf(const struct bp_fib_writer *w, unsigned vrf);
/* An object's hops and type in a route's fields. */
const struct bp_route *fib_fake_object(const struct bp_fib_writer *w, uint32_t object);

unsigned fib_fake_routes(const struct bp_fib_writer *w);
unsigned fib_fake_neighbors(const struct bp_fib_writer *w);
/* Changes without repetitions; and the minimum number of routes since the last call of
 * fib_fake_watch(). */
uint64_t fib_fake_changes(const struct bp_fib_writer *w);
void fib_fake_watch(struct bp_fib_writer *w);
unsigned fib_fake_least(const struct bp_fib_writer *w);
/* The result of bp_fib_writer_neighbor_used() for all neighbors. */
extern uint32_t fib_fake_used_s;
/* From now on, BP_FIB_FULL for new routes above this number. */
void fib_fake_limit(struct bp_fib_writer *w, unsigned routes);

/* Whether two are equal, member by member. */
bool fib_fake_same_interface(const struct bp_interface_info *a, const struct bp_interface_info *b);
bool fib_fake_same_neighbor(const struct bp_neighbor_info *a, const struct bp_neighbor_info *b);
bool fib_fake_same_route(const struct bp_route *a, const struct bp_route *b);

#endif
