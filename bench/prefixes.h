/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_PREFIXES_H
#define BP_BENCH_PREFIXES_H

#include <stdint.h>

#include "biplane/fib.h"

/*
 * Prefixes shaped like the Internet's routing tables: their lengths in the shares that they have
 * there, IPv6 below the blocks from which addresses are given out. All different, the same ones in
 * every run. `n` of them are written to `out`.
 */
void bench_prefixes4(uint32_t n, struct bp_prefix *out);
void bench_prefixes6(uint32_t n, struct bp_prefix *out);

/* An address in each of them, in a random order; the rest of its bits is random. */
void bench_addresses(const struct bp_prefix *prefix, uint32_t n, struct bp_address *out);

#endif
