/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_PERCENTILES_H
#define BP_BENCH_HARNESS_PERCENTILES_H

#include <stdint.h>

/* Sorts `n` (at least 1) times in ns, and prints the members "median_us", "p99_us", "p999_us",
 * "max_us", "mean_us" and "percentiles_us", an array from minimum to maximum in steps of one
 * percent; without braces. */
void bench_percentiles(uint64_t *ns, unsigned n);

#endif
