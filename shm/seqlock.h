/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_SEQLOCK_H
#define BP_SHM_SEQLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A value of fixed size in the segment that one process writes as a whole and others copy while it
 * may be rewritten. The value follows this word without padding. `n`, of all functions: its size in
 * bytes, a multiple of 8; both sides are 8-byte aligned.
 */
struct bp_seqlock {
	_Atomic uint64_t generation; /* odd while the value is written; 0: it never was */
};

/* One writer. A predecessor that was killed during a write has no effect. */
void bp_seqlock_write(struct bp_seqlock *lock, const void *value, size_t n);
/* Writer: makes the readers of the value read it again. No effect when there is no value. */
void bp_seqlock_republish(struct bp_seqlock *lock);
/* The writer: whether it is this value, byte by byte. False, too, when it was never written, or not
 * to the end. */
bool bp_seqlock_equals(const struct bp_seqlock *lock, const void *value, size_t n);
/* Any process: copies the value to *out when its generation is neither 0 nor *seen, and sets *seen.
 * False: no new value, or it is being written (try again), and then *out may be inconsistent. The
 * copy is only as trustworthy as the writer: validate it. */
bool bp_seqlock_read(const struct bp_seqlock *lock, uint64_t *seen, void *out, size_t n);

#endif
