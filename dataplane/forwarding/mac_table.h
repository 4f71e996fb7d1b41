/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_FORWARDING_MAC_TABLE_H
#define BP_DATAPLANE_FORWARDING_MAC_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Maps each MAC address to a port; shared by all workers. Each address is one 64-bit word, read and
 * written atomically, so that no lock is needed. A word is written only after a change: a new
 * address, another port, or a new aging step.
 *
 * The table is bounded, and fair to the ports: each port has an equal share of the table, and may
 * use more while the table is not full. An entry within the share of its port is never evicted for
 * another port: at its limit a port loses its own oldest entry. Addresses are placed by a hash with
 * a random key of each start, so that an attacker cannot choose addresses that collide.
 *
 * Moves: the port of a station is its home until the station has been silent there for the aging
 * time. An address moves to another port immediately, and back home immediately; but after two
 * ports have claimed it alternately, a port that is not its home gets it only after a silence of
 * BP_MAC_QUIET steps: one spoofed address does not attract the traffic of an active station.
 *
 * Age is counted in steps of a power of two of nanoseconds, so that the hot path needs no division.
 * An address is removed between `ageing` and 17/16 of it after its last frame. The same address may
 * be known in several bridges: bridges are independent.
 */
#define BP_MAC_WAYS 8 /* one cache line */
#define BP_MAC_PORTS 256
#define BP_MAC_UNKNOWN 0xff
#define BP_MAC_QUIET 2u /* steps, each between 1/64 and 1/32 of the aging time */

struct bp_mac_table {
	uint64_t mask;                       /* buckets - 1 */
	uint64_t key[2];                     /* of the hash */
	uint64_t entries;                    /* maximum entries of one port */
	uint64_t share;                      /* entries guaranteed to each port */
	unsigned n_ports;                    /* in bridges */
	unsigned shift;                      /* a step of age is 2^shift ns */
	uint8_t lifetime;                    /* lifetime of an address, steps */
	uint64_t swept;                      /* sweeper: step of the last sweep */
	uint64_t n_swept;                    /* sweeper: buckets done in the current sweep */
	_Atomic uint64_t borrowed;           /* entries of ports beyond their share */
	_Atomic uint32_t held[BP_MAC_PORTS]; /* entries, by port */
	/* by port: position at which the search for its oldest entry continues */
	_Atomic uint32_t hand[BP_MAC_PORTS];
	uint8_t bridge_of[BP_MAC_PORTS]; /* by port */
	_Atomic uint32_t *home;          /* by entry: see mac_table.c */
	_Atomic uint64_t entry[] __attribute__((aligned(64)));
};

enum bp_mac_change {
	BP_MAC_SAME,
	BP_MAC_NEW,
	BP_MAC_MOVED,
	BP_MAC_EVICTED, /* new, and another entry was evicted */
	BP_MAC_REFUSED, /* not moved: its station has just sent from its current port */
	BP_MAC_FULL,    /* not learned: no entry available for this port */
};

/*
 * Creates a table for at least `entries` addresses, each kept for ageing_ns after its last frame.
 * The caller frees it. NULL: no memory.
 */
struct bp_mac_table *bp_mac_table_create(uint32_t entries, uint64_t ageing_ns);
void bp_mac_table_free(struct bp_mac_table *t);
/* Called before use: sets the bridge of a port. */
void bp_mac_table_set_bridge(struct bp_mac_table *t, uint8_t port, uint8_t bridge);

/* Loads the six bytes at p (of which eight must be readable) as the low 48 bits. */
static inline uint64_t bp_mac_load(const void *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v & 0xffffffffffffull;
}

/*
 * Returns the port on which `mac` was last seen in `bridge`, or BP_MAC_UNKNOWN. mono_ns never
 * decreases.
 */
uint8_t bp_mac_lookup(const struct bp_mac_table *t, uint64_t mac, uint8_t bridge, uint64_t mono_ns);
/* Records that `mac` was seen on `port` (whose bridge is set). */
enum bp_mac_change bp_mac_learn(
	struct bp_mac_table *t, uint64_t mac, uint8_t port, uint64_t mono_ns);
/*
 * For one thread, periodically: removes expired entries, a bounded number of buckets per call. Must
 * be called at least once in three times `ageing`, since steps are counted modulo 256.
 */
void bp_mac_table_tick(struct bp_mac_table *t, uint64_t mono_ns);
/* Returns the number of addresses that are not expired. */
uint64_t bp_mac_table_count(const struct bp_mac_table *t, uint64_t mono_ns);
/* Entries in use, expired ones that are not swept yet included, and the number that it is created
 * for. Any thread. */
void bp_mac_table_usage(const struct bp_mac_table *t, uint64_t *entries, uint64_t *capacity);

#endif
