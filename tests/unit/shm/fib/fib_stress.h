/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_FIB_FIB_STRESS_H
#define BP_TESTS_UNIT_SHM_FIB_FIB_STRESS_H

#include "shm/fib/fib_writer.h"

/*
 * A writer that changes the tables at random, readers that check every result, and a journal in
 * shared memory with the allowed results: for each item the former version and the next one. The
 * content of a version follows from its number (item_apply()), so that a result shows which
 * versions it can be of.
 */
#define ROUTES4 96
#define ROUTES6 48
#define NEIGHBORS 24
#define OBJECTS 24
#define ITEMS (ROUTES4 + ROUTES6 + NEIGHBORS + OBJECTS)
#define GATEWAYS 1024 /* of a version's number modulo this; they do not change */
#define READERS 2

struct journal {
	/* version before << 32 | version after; the writer's, before and after each change */
	_Atomic uint64_t item[ITEMS];
	_Atomic uint32_t ready;   /* writers that have taken over and checked */
	_Atomic uint32_t stop;    /* readers are to end */
	_Atomic uint64_t changes; /* made */
	_Atomic uint64_t lookups[READERS], wrong[READERS], unsure[READERS];
	_Atomic uint32_t reading[READERS];
};

struct stress {
	struct bp_fib *f;
	struct journal *j;
	uint64_t rnd;
};

/* Writes what is wrong to stderr and returns false. */
bool stress_take_over(struct stress *s, struct bp_fib_writer *w);
bool stress_change(struct stress *s, struct bp_fib_writer *w);
/* One round over the items, as a worker that has begun a walk. Counts in the journal. */
void stress_read(struct stress *s, unsigned reader);

#endif
