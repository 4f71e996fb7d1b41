/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_FORWARDING_MAC_TABLE_H
#define BP_DATAPLANE_FORWARDING_MAC_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Which MAC address is behind which port, shared by all workers: one 64-bit word per address, read
 * and written whole, so that no lock is needed. A word is written only when something changed: a
 * new address, another port, or a new step of age.
 *
 * Bounded, and fair to the ports: each port has an equal share of the table to itself, and may take
 * more while the whole is not used up. An entry within its port's share is never given up for
 * another port's: at its bound a port loses its own oldest. Addresses are placed by a hash with a
 * key that is drawn at each start, so that nobody can choose addresses that collide.
 *
 * Moves: the port on which a station has been is its home until it has been silent there for the
 * ageing time. An address moves to another port at once, and back home at once; but when it was
 * claimed by two ports in turn, a port that is not its home gets it only after a silence of
 * BP_MAC_QUIET steps: one spoofed address does not keep a live station's traffic.
 *
 * Age is counted in steps of a power of two of nanoseconds, so that the hot path needs no division.
 * An address is forgotten between `ageing` and 17/16 of it after it last sent.
 *
 * The same address may be known in several bridges at once: bridges are separate worlds.
 */
#define BP_MAC_WAYS 8 /* one cache line */
#define BP_MAC_PORTS 256
#define BP_MAC_UNKNOWN 0xff
#define BP_MAC_QUIET 2u /* steps, each between 1/64 and 1/32 of the ageing time */

struct bp_mac_table {
	uint64_t mask;             /* buckets - 1 */
	uint64_t key[2];           /* of the hash */
	uint64_t entries;          /* the most that one port may have */
	uint64_t share;            /* what every port may have, whatever the others have */
	unsigned n_ports;          /* in bridges */
	unsigned shift;            /* a step of age is 2^shift ns */
	uint8_t lifetime;          /* steps that an address lives */
	uint64_t swept;            /* sweeper: step of the last sweep */
	uint64_t n_swept;          /* sweeper: buckets done of the sweep under way */
	_Atomic uint64_t borrowed; /* entries of ports beyond their share */
	_Atomic uint32_t held[BP_MAC_PORTS]; /* entries, by port */
	_Atomic uint32_t hand[BP_MAC_PORTS]; /* by port: where its oldest is looked for next */
	uint8_t bridge_of[BP_MAC_PORTS];     /* by port */
	_Atomic uint32_t *home;              /* by entry: see mac_table.c */
	_Atomic uint64_t entry[] __attribute__((aligned(64)));
};

enum bp_mac_change {
	BP_MAC_SAME,
	BP_MAC_NEW,
	BP_MAC_MOVED,
	BP_MAC_EVICTED, /* new, and another was given up */
	BP_MAC_REFUSED, /* not moved: its station has just sent from where it is */
	BP_MAC_FULL,    /* not learned: no entry for this port */
};

/* For at least `entries` addresses, each living ageing_ns after it last sent. NULL: no memory.
 */
struct bp_mac_table *bp_mac_table_create(uint32_t entries, uint64_t ageing_ns);
void bp_mac_table_free(struct bp_mac_table *t);
/* Before use: the bridge that a port is in. */
void bp_mac_table_set_bridge(struct bp_mac_table *t, uint8_t port, uint8_t bridge);

/* The six octets at p (of which eight must be readable) as the low 48 bits. */
static inline uint64_t bp_mac_load(const void *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v & 0xffffffffffffull;
}

/* Port on which `mac` was last seen in `bridge`, or BP_MAC_UNKNOWN. mono_ns: never goes back. */
uint8_t bp_mac_lookup(const struct bp_mac_table *t, uint64_t mac, uint8_t bridge, uint64_t mono_ns);
/* `mac` was seen on `port` (of a bridge set before). */
enum bp_mac_change bp_mac_learn(
	struct bp_mac_table *t, uint64_t mac, uint8_t port, uint64_t mono_ns);
/* One thread, now and then: removes what is too old, a bounded number of buckets a call. Must be
 * called at least once in three times `ageing`, since steps are counted modulo 256. */
void bp_mac_table_tick(struct bp_mac_table *t, uint64_t mono_ns);
/* Addresses that are not too old. */
uint64_t bp_mac_table_count(const struct bp_mac_table *t, uint64_t mono_ns);

#endif
