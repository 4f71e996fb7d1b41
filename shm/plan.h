/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_PLAN_H
#define BP_SHM_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Rules in the segment that one process writes whole and others copy while they may be rewritten:
 * `generation` stands before them, odd while they are written and 0 until they first were. `n`: of
 * the rules, in bytes, a multiple of 8; both sides are 8-byte aligned.
 */

/* One writer. */
void bp_plan_write(_Atomic uint64_t *generation, void *plan, const void *rules, size_t n);
/* The writer: whether these are in force already, octet by octet. False, too, when they were never
 * written, or not to the end. */
bool bp_plan_says(
	const _Atomic uint64_t *generation, const void *plan, const void *rules, size_t n);
/* Anybody: copies them to *out when their generation is none of 0 and *seen, which it sets. False:
 * nothing new, or just being written (ask again), and then *out may hold parts of both. */
bool bp_plan_take(
	const _Atomic uint64_t *generation, const void *plan, uint64_t *seen, void *out, size_t n);

#endif
