/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_PERCENTILES_H
#define BP_BENCH_HARNESS_PERCENTILES_H

#include <stdint.h>

/* Sorts `n` times in ns, n from 1, and prints the members "median_us", "p99_us", "p999_us",
 * "max_us", "mean_us" and "percentiles_us", an array from the least to the most in steps of one
 * percent; without braces. */
void bench_percentiles(uint64_t *ns, unsigned n);

#endif
