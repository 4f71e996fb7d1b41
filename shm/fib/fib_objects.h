/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_FIB_OBJECTS_H
#define BP_SHM_FIB_FIB_OBJECTS_H

#include "shm/fib/fib_writer.h"
#include "shm/index.h"
#include "shm/fib/nexthops.h"

/* Next-hop objects of the kernel, by id. Called by shm/fib_*.c alone. */

struct bp_object {
	uint32_t id;
	uint32_t nexthop; /* its element, with a reference; 0: the table was full */
	uint32_t generation;
	uint32_t n_hops; /* kept while it waits for space */
	struct bp_hop *hop;
	uint8_t type;
	bool live;       /* set, and not deleted since: otherwise routes still refer to it */
	bool waiting;    /* its next hop did not fit */
	uint32_t routes; /* number of routes that refer to it */
	uint32_t next_free;
};

struct bp_objects {
	struct bp_nexthops *nexthops;
	struct bp_object *object;
	uint32_t n, capacity; /* used up to n; the free ones among them are a list */
	uint32_t free, waiting;
	struct bp_index index;
	uint32_t now; /* present generation */
};

bool bp_objects_init(struct bp_objects *o, struct bp_nexthops *nexthops);
void bp_objects_free(struct bp_objects *o);
/* Takes over those of another writer, after the next hops. False without memory. */
bool bp_objects_load(struct bp_objects *o);

enum bp_fib_result bp_object_set(
	struct bp_objects *o, uint32_t id, uint8_t type, const struct bp_hop *hop, uint32_t n_hops);
enum bp_fib_result bp_object_delete(struct bp_objects *o, uint32_t id);

/* For a route that names it, until bp_object_unlink(): its number, or BP_INDEX_END: no such object.
 */
uint32_t bp_object_join(struct bp_objects *o, uint32_t id);
void bp_object_unlink(struct bp_objects *o, uint32_t number);

/* Deletes what is still old. */
uint32_t bp_objects_sweep(struct bp_objects *o);
/* Retries the objects that did not fit; returns whether any of them fits now. */
bool bp_objects_retry(struct bp_objects *o);

#endif
