/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_CLOCK_H
#define BP_CONTROLPLANE_PROCESS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that never goes back: for waiting and measuring. */
static inline uint64_t bp_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds of Unix time: for what people and other processes read. */
static inline uint64_t bp_unix_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
