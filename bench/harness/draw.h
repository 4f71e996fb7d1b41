/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_DRAW_H
#define BP_BENCH_HARNESS_DRAW_H

#include <stdint.h>

/* A number below `n`, any of them. */
static inline uint32_t bench_draw(uint64_t *seed, uint32_t n)
{
	/* Knuth's; its upper half is the better one */
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 32) * n >> 32);
}

#endif
