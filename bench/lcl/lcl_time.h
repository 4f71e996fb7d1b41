/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_LCL_LCL_TIME_H
#define BP_BENCH_LCL_LCL_TIME_H

#include <stdint.h>

#include <rte_cycles.h>

/* Nanoseconds of the timestamp counter with an arbitrary origin and a constant factor for the whole
 * run, unlike dataplane/process/clock.h, which follows the system's clock. */
static inline uint64_t bench_lcl_now_ns(void)
{
	static uint64_t mult; /* ns per cycle, times 2^32 */

	if (__builtin_expect(mult == 0, 0))
		mult = (1000000000ull << 32) / rte_get_tsc_hz();
	return (uint64_t)((unsigned __int128)rte_rdtsc() * mult >> 32);
}

#endif
