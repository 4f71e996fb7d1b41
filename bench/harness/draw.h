/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_DRAW_H
#define BP_BENCH_HARNESS_DRAW_H

#include <stdint.h>

/* A random number below `n`. */
static inline uint32_t bench_draw(uint64_t *seed, uint32_t n)
{
	/* Knuth's LCG; its upper half is more random */
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 32) * n >> 32);
}

#endif
