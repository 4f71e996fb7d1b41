/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_FIB_LPM_RIG_H
#define BP_TESTS_UNIT_SHM_FIB_LPM_RIG_H

#include "tests/unit/shm/fib/fib_fixture.h"
#include "tests/unit/shm/fib/lpm_model.h"

/* Tables, their writer, and the model with the expected results. A difference fails the test.
 */
struct lpm_rig {
	struct bp_fib *fib;
	struct bp_epoch epoch;
	struct bp_lpm_writer *w;
	struct lpm_model *model;
	struct bp_prefix *prefix; /* that were set at some time */
	uint32_t n, max;
	uint64_t seed;
};

/* At most `max` different prefixes; max_lines 0: enough. */
void rig_start(struct lpm_rig *b, uint32_t max, uint32_t max_lines);
void rig_end(struct lpm_rig *b);

/* Both in the tables, where they must succeed, and in the model. */
void rig_set(struct lpm_rig *b, const struct bp_prefix *p, uint32_t nexthop);
void rig_remove(struct lpm_rig *b, const struct bp_prefix *p);

void rig_check(struct lpm_rig *b, const struct bp_address *a);
/* Addresses in and next to prefixes that were set at some time. */
void rig_check_near(struct lpm_rig *b, uint32_t times);

/* Deletes all: no line may be left in use and no way in the roots. */
void rig_empty(struct lpm_rig *b);
/* Another writer with the routes of the model. Returns the number of repaired entries. */
uint64_t rig_take_over(struct lpm_rig *b);

#endif
