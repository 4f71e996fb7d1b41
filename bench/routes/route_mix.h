/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_ROUTE_MIX_H
#define BP_BENCH_ROUTES_ROUTE_MIX_H

#include "biplane/fib.h"

/*
 * The next random prefix of a routing table like that of the Internet, from a seed (not 0): prefix
 * lengths are distributed as in the tables of 2024; IPv6 prefixes are in some ten thousand /32
 * blocks. A prefix may be returned again.
 */
struct bp_prefix bp_route_mix(uint64_t *seed, uint8_t family);

/* n different prefixes. */
void bp_route_mix_distinct(uint64_t *seed, uint8_t family, uint32_t n, struct bp_prefix *out);

/* A random address in the prefix. */
struct bp_address bp_route_mix_inside(uint64_t *seed, const struct bp_prefix *p);

#endif
