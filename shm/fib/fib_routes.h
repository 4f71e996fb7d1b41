/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_FIB_ROUTES_H
#define BP_SHM_FIB_FIB_ROUTES_H

#include "shm/fib/fib_objects.h"
#include "shm/fib/lpm/lpm_writer.h"
#include "shm/fib/route_records.h"

/*
 * All routes that the writer received, in its own memory. Of two routes with the same prefix the
 * static one is active: it has the record and the entry in the longest-prefix match. Routes that
 * did not fit wait here. Called only by shm/fib/fib_writer.c.
 */
struct bp_route_entry {
	struct bp_prefix prefix;
	uint8_t type, origin, protocol;
	uint8_t wants; /* BP_WANTS_* */
	bool placed;   /* the longest-prefix match maps the prefix to `nexthop` */
	uint32_t metric;
	uint32_t object;  /* number in bp_objects, joined; BP_INDEX_END: none */
	uint32_t nexthop; /* taken */
	uint32_t record;  /* BP_INDEX_END: none */
	uint32_t generation;
	uint32_t before, after; /* in the list of those that wait, or `after` in the free list */
	uint32_t n_hops;        /* its hops, kept while it waits for next hops */
	struct bp_hop *hop;
};
#define BP_WANTS_ROOM 0x1u /* a record, or lines */
#define BP_WANTS_HOPS 0x2u

/* The queues of routes that wait. */
enum bp_route_queue { BP_WAIT_ROOM4, BP_WAIT_ROOM6, BP_WAIT_HOPS, BP_WAIT_QUEUES };

struct bp_routes {
	struct bp_fib *f;
	struct bp_lpm_writer *lpm;
	struct bp_nexthops *nexthops;
	struct bp_objects *objects;
	struct bp_route_records records;
	struct bp_route_entry *entry;
	uint32_t n, capacity, free;
	struct bp_index index;
	uint32_t now[2]; /* present generation of each origin */
	struct bp_route_list {
		uint32_t first, last, n;
	} waiting[BP_WAIT_QUEUES];
};

bool bp_routes_init(struct bp_routes *t, struct bp_fib *f, struct bp_lpm_writer *lpm,
	struct bp_nexthops *nexthops, struct bp_objects *objects);
void bp_routes_free(struct bp_routes *t);
/* Takes over the records of another writer, and says them to the longest-prefix match. */
bool bp_routes_load(struct bp_routes *t, uint64_t *repaired);

enum bp_fib_result bp_routes_set(struct bp_routes *t, const struct bp_route *r);
enum bp_fib_result bp_routes_delete(
	struct bp_routes *t, const struct bp_prefix *p, enum bp_origin origin);
uint32_t bp_routes_sweep(struct bp_routes *t, enum bp_origin origin);
/* Tries again some of those that wait. */
void bp_routes_retry(struct bp_routes *t);
bool bp_routes_waiting(const struct bp_routes *t);

/* ---- between the files of this table: shm/fib/route_entries.c, shm/fib/fib_routes.c ---- */

struct bp_route_entry *bp_route_find(
	const struct bp_routes *t, const struct bp_prefix *p, uint8_t origin);
/* The next route of the same prefix; NULL: there is none. */
struct bp_route_entry *bp_route_other_origin(
	const struct bp_routes *t, const struct bp_route_entry *e);
bool bp_route_is_active(const struct bp_routes *t, const struct bp_route_entry *e);
/* Empty; NULL without memory. Other entries may have moved. */
struct bp_route_entry *bp_route_entry_new(
	struct bp_routes *t, const struct bp_prefix *p, uint8_t origin);
/* Also drops its references. */
void bp_route_entry_discard(struct bp_routes *t, struct bp_route_entry *e);
void bp_route_object_unlink(struct bp_routes *t, uint32_t object);

void bp_route_wants_add(struct bp_routes *t, struct bp_route_entry *e, uint8_t want);
void bp_route_wants_no_more(struct bp_routes *t, struct bp_route_entry *e, uint8_t want);
/* Remove it from, and add it to, the queue of the resource that it waits for. */
void bp_route_dequeue(struct bp_routes *t, struct bp_route_entry *e);
void bp_route_join_queue(struct bp_routes *t, struct bp_route_entry *e);
void bp_routes_figures(struct bp_routes *t);

/* The fixed next hop of a route type without hops; 0: the type has hops. */
uint32_t bp_route_fixed_nexthop(uint8_t type);

#endif
