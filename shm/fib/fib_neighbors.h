/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_FIB_NEIGHBORS_H
#define BP_SHM_FIB_FIB_NEIGHBORS_H

#include "shm/fib/fib_writer.h"
#include "shm/index.h"
#include "shm/fib/neighbors.h"
#include "shm/fib/reuse.h"

/* The writer of the neighbor table. Called only by shm/fib/fib_writer.c. */

/* A neighbor that did not fit; in private memory, since the kernel still has it. */
struct bp_neighbor_waiting {
	struct bp_address address;
	uint8_t interface, state, mac[6];
	uint32_t generation;
};

struct bp_neighbors {
	struct bp_fib *f;
	struct bp_epoch *epoch;
	uint32_t count;
	uint32_t *generation; /* of entry line * BP_NEIGHBOR_WAYS + i */
	uint32_t now[2];      /* present generation of kernel's and static ones */
	struct bp_reuse retired;
	struct bp_neighbor_waiting *waiting;
	uint32_t n_waiting, max_waiting;
	struct bp_index waiting_index;
};

bool bp_neighbors_init(struct bp_neighbors *n, struct bp_fib *f, struct bp_epoch *e);
void bp_neighbors_free(struct bp_neighbors *n);
/* Adopts the existing entries; returns the number of repairs. */
uint64_t bp_neighbors_load(struct bp_neighbors *n);

/* As bp_fib_neighbor_set() and bp_fib_neighbor_delete(). After DONE the caller updates the next
 * hops. */
enum bp_fib_result bp_neighbors_set(struct bp_neighbors *n, uint8_t interface,
	const struct bp_address *a, const uint8_t mac[6], enum bp_neighbor_state state);
enum bp_fib_result bp_neighbors_delete(
	struct bp_neighbors *n, uint8_t interface, const struct bp_address *a);
/* The link word for next hops with this gateway. */
uint64_t bp_neighbors_link(const struct bp_fib *f, uint8_t interface, const struct bp_address *a);

/* Finds one of `origin` that is still old, from *cursor (0 at first) on. */
bool bp_neighbors_old(struct bp_neighbors *n, enum bp_origin origin, uint32_t *cursor,
	uint8_t *interface, struct bp_address *a);

/* Gives entries back that all workers have left. */
void bp_neighbors_settle(struct bp_neighbors *n);
/* Whether something waits for that or for room. */
static inline bool bp_neighbors_waiting(const struct bp_neighbors *n)
{
	return n->retired.n_waiting > 0 || n->n_waiting > 0;
}
/* Enters one that waited, if there is room now: next hops are to follow. */
bool bp_neighbors_retry(struct bp_neighbors *n, uint8_t *interface, struct bp_address *a);

/* The address that the words of an entry encode. */
struct bp_address bp_neighbor_address(struct bp_neighbor_key k);

/* ---- between shm/fib/neighbors.c and shm/fib/neighbors_load.c ---- */

static inline uint32_t bp_neighbor_entries(const struct bp_fib *f)
{
	return f->neighbor_lines * BP_NEIGHBOR_WAYS;
}

static inline struct bp_neighbor_entry *bp_neighbor_at(const struct bp_fib *f, uint32_t slot)
{
	return &f->neighbors[slot / BP_NEIGHBOR_WAYS].entry[slot % BP_NEIGHBOR_WAYS];
}

static inline struct bp_neighbor_key bp_neighbor_entry_key(const struct bp_neighbor_entry *e)
{
	return (struct bp_neighbor_key){atomic_load_explicit(&e->lo, memory_order_relaxed),
		atomic_load_explicit(&e->hi, memory_order_relaxed)};
}

static inline uint8_t bp_neighbor_state(const struct bp_neighbor_entry *e)
{
	return (uint8_t)atomic_load_explicit(&e->meta, memory_order_relaxed);
}

static inline void bp_neighbor_state_set(struct bp_neighbor_entry *e, uint8_t state)
{
	const uint32_t meta = atomic_load_explicit(&e->meta, memory_order_relaxed);

	atomic_store_explicit(&e->meta, (meta & ~0xffu) | state, memory_order_release);
}

/* The hash of an address in the private indexes. */
uint64_t bp_neighbor_hash(const struct bp_fib *f, uint8_t interface, struct bp_neighbor_key k);
void bp_neighbors_figures(struct bp_neighbors *n);

#endif
