/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_LPM_LPM_WRITER_H
#define BP_SHM_FIB_LPM_LPM_WRITER_H

#include "shm/fib/epoch.h"
#include "shm/fib/fib_writer.h"

/*
 * The longest-prefix-match structures of both families, for the writer: a trie of all prefixes in
 * its own memory (shm/fib/lpm/rib.h), from which the content of the segment is derived. Called only
 * by shm/fib/fib_writer.c.
 */
struct bp_lpm_writer;

/* NULL without memory. Nothing in the segment changes before the first bp_lpm_repair(). */
struct bp_lpm_writer *bp_lpm_writer_new(struct bp_fib *f, struct bp_epoch *e);
void bp_lpm_writer_free(struct bp_lpm_writer *w);
/* Adds a VRF, which may have had a number already; in the order of their numbers. False without
 * memory. Before it, changes in the VRF are invalid. */
bool bp_lpm_vrf_add(struct bp_lpm_writer *w, unsigned vrf);

/* Says what the route records have, before bp_lpm_repair(). */
enum bp_fib_result bp_lpm_load(
	struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nexthop);
/*
 * Makes the segment agree with the loaded routes, whatever an earlier writer left there (also
 * garbage: every index is checked before it is used), and determines the free lines. Returns the
 * number of repaired entries.
 */
uint64_t bp_lpm_repair(struct bp_lpm_writer *w);

/*
 * Sets the next hop of the prefix to `nexthop` (not 0). BP_FIB_FULL: no lines were free for its
 * nodes; it is recorded as refused, see below.
 */
enum bp_fib_result bp_lpm_set(struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nexthop);
enum bp_fib_result bp_lpm_delete(struct bp_lpm_writer *w, const struct bp_prefix *p);

/*
 * Sets a prefix that does not fit in the tables: the addresses that it covers, except those of
 * existing longer prefixes, get BP_NH_PUNT until it is set or deleted, so that the kernel, which
 * has the route, forwards them. The result may be coarser: the complete longest prefix that covers
 * it may get BP_NH_PUNT (and, where none does, the default of the family).
 */
enum bp_fib_result bp_lpm_refuse(struct bp_lpm_writer *w, const struct bp_prefix *p);

/* Gives retired lines back that all workers have left. Returns whether some still wait. */
bool bp_lpm_settle(struct bp_lpm_writer *w);
/* Lines that could be taken now. */
uint32_t bp_lpm_free_lines(const struct bp_lpm_writer *w);

#endif
