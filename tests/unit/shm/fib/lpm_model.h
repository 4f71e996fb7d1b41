/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_FIB_LPM_MODEL_H
#define BP_TESTS_UNIT_SHM_FIB_LPM_MODEL_H

#include "shm/fib/lpm/lpm.h"
#include "shm/fib/lpm/lpm_writer.h"

/*
 * A simple model of longest prefix match: a hash of prefixes, in which a lookup tries every length
 * from the longest on.
 */
struct lpm_model;

struct lpm_model *model_new(uint32_t max_prefixes);
void model_free(struct lpm_model *m);

/* nexthop 0 deletes. */
void model_set(struct lpm_model *m, const struct bp_prefix *p, uint32_t nexthop);
/* 0: no such prefix. */
uint32_t model_get(const struct lpm_model *m, const struct bp_prefix *p);
uint32_t model_lookup(const struct lpm_model *m, const struct bp_address *a);

/* Prefixes for tests, from a seed: random ones, and lengths as in a routing table of the internet.
 */
struct bp_prefix random_prefix(uint64_t *seed, uint8_t family);
/* An address in the prefix; first, last, just outside of it, or any. */
struct bp_address address_near(uint64_t *seed, const struct bp_prefix *p);

/* Results of the tables under test. */
uint32_t fib_way(const struct bp_fib *f, const struct bp_address *a);

#endif
