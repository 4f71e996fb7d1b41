/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_FIB_FIB_RIG_H
#define BP_TESTS_UNIT_SHM_FIB_FIB_RIG_H

#include "config/config.h"
#include "shm/fib/fib_writer.h"
#include "shm/layout.h"
#include "tests/unit/shm/test.h"

/* Forwarding tables in anonymous memory, and their writer. */
struct fib_rig {
	struct bp_shm shm;
	struct bp_fib *f;
	struct bp_fib_writer *w;
};

void fib_open(struct fib_rig *x, uint32_t routes4, uint32_t routes6, uint32_t neighbors,
	uint32_t nexthops, uint32_t groups);
void fib_close(struct fib_rig *x);
/* Another writer on the same tables. */
void fib_take_over(struct fib_rig *x);
/* A configuration in which one port routes, with these capacities. */
void fib_config(struct bp_config *c, uint32_t routes4, uint32_t routes6, uint32_t neighbors,
	uint32_t nexthops, uint32_t groups);

/* "10.1.2.3" or "fd00::1"; "" is no address. "10.0.0.0/8": a prefix. */
struct bp_address fib_address(const char *text);
struct bp_prefix fib_prefix(const char *text);
struct bp_hop fib_hop(unsigned interface, const char *gateway, unsigned weight);
/* Kernel's unicast route of one hop. */
struct bp_route fib_route(const char *prefix, unsigned interface, const char *gateway);
/* The link word to which a lookup of `address` leads, by the group's share `share`. */
uint64_t fib_link(const struct bp_fib *f, const char *address, unsigned share);
/* A MAC that ends in n. */
const uint8_t *fib_mac(unsigned n);
uint64_t fib_resolved(unsigned interface, unsigned mac);

#endif
