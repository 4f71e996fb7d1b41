/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_ROUTES_ROUTE_MIX_H
#define BP_BENCH_ROUTES_ROUTE_MIX_H

#include "biplane/fib.h"

/*
 * The next prefix of a routing table like the internet's, from a seed (not 0): lengths in the
 * shares that the tables of 2024 have them, IPv6 within some ten thousand blocks of a /32 each.
 * May give a prefix again.
 */
struct bp_prefix bp_route_mix(uint64_t *seed, uint8_t family);

/* n of them, all different. */
void bp_route_mix_distinct(uint64_t *seed, uint8_t family, uint32_t n, struct bp_prefix *out);

/* An address in the prefix. */
struct bp_address bp_route_mix_inside(uint64_t *seed, const struct bp_prefix *p);

#endif
