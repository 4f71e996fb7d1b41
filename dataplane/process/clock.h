/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_CLOCK_H
#define BP_DATAPLANE_PROCESS_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Unix time and monotonic time (CLOCK_MONOTONIC, so that other processes can compare) from the
 * time-stamp counter, without a system call on a worker. One thread synchronises it with the clocks
 * of the system; any number of threads read it, without a lock, under a sequence counter.
 */
struct bp_clock {
	_Atomic uint32_t seq;                   /* odd while it changes */
	_Atomic uint64_t tsc, real_ns, mono_ns; /* the same moment on three clocks */
	_Atomic uint64_t mult;                  /* ns per cycle, times 2^32 */
	/* used by the synchronising thread only */
	uint64_t first_tsc, first_mono_ns;
} __attribute__((aligned(64)));

void bp_clock_init(struct bp_clock *c);
/* Called a few times a second. */
void bp_clock_sync(struct bp_clock *c);
/*
 * Returns both clocks at the counter value `tsc`, ns. mono may decrease by less than a microsecond
 * over a synchronisation: a caller that needs a monotonic value keeps the maximum.
 */
void bp_clock_read(const struct bp_clock *c, uint64_t tsc, uint64_t *real_ns, uint64_t *mono_ns);

#endif
