/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_CLOCK_H
#define BP_DATAPLANE_PROCESS_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Unix time and monotonic time (CLOCK_MONOTONIC, so that other processes can compare) from the
 * time-stamp counter: no system call on a worker. One thread keeps it in line with the system's
 * clocks; any number of threads read it, without a lock, under a sequence counter.
 */
struct bp_clock {
	_Atomic uint32_t seq;                   /* odd while it changes */
	_Atomic uint64_t tsc, real_ns, mono_ns; /* one moment, on three clocks */
	_Atomic uint64_t mult;                  /* ns per cycle, times 2^32 */
	/* of the thread that keeps it */
	uint64_t first_tsc, first_mono_ns;
} __attribute__((aligned(64)));

void bp_clock_init(struct bp_clock *c);
/* To be called a few times a second. */
void bp_clock_sync(struct bp_clock *c);
/* Either clock at the counter's value `tsc`. mono may seem to go back by less than a microsecond
 * over a sync: whoever needs it monotonic keeps the greatest. */
void bp_clock_read(const struct bp_clock *c, uint64_t tsc, uint64_t *real_ns, uint64_t *mono_ns);

#endif
