/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_FIB_FIB_FIXTURE_H
#define BP_TESTS_UNIT_SHM_FIB_FIB_FIXTURE_H

#include "shm/fib/fib.h"

/* Capacities of the tables; 0 takes a small one that is enough for most tests. */
struct fib_size {
	uint32_t max_routes4, max_routes6, max_nexthops, max_groups, max_neighbors, max_lines;
};

/*
 * Forwarding tables but for records and neighbors in memory of their own, all zero as in a fresh
 * segment, for fib_free(). Exits without memory.
 */
struct bp_fib *fib_new(const struct fib_size *size);
void fib_free(struct bp_fib *f);

/* Initialises a new control table as bp_fib_writer_new() does: epoch 1, no worker runs. For tests
 * of a part of the tables. */
void fib_start(struct bp_fib *f);

#endif
