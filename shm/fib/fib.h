/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_FIB_H
#define BP_SHM_FIB_FIB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "biplane/fib.h"

/*
 * The forwarding tables in the segment. One writer (the control plane; replay for itself), any
 * number of readers. A reader takes no lock and never waits; each value that it reads is the one
 * before or after a change, never a mixture:
 *
 *   - one word decides the forwarding of a packet: an LPM entry (uint32_t, the next hop's
 *     number), or the link word of a next hop or neighbor (uint64_t: MAC, interface and action);
 *   - memory that a reader may still use is reused only after every worker has passed a quiescent
 *     point (the beginning of a graph walk): shm/fib/epoch.h;
 *   - the route records are authoritative, and each is committed by one word; LPM nodes are derived
 *     from them. A writer that dies leaves, at every instruction, tables that readers can use; the
 *     next writer derives the nodes again and repairs differences (bp_fib_writer_new).
 *
 *   table        element                    lookup
 *   fib          struct bp_fib_control      epochs, figures
 *   fib_readers  struct bp_fib_readers      the epochs that workers have seen
 *   interfaces   struct bp_interface        by number
 *   neighbors   struct bp_neighbor_line   hash of (interface, address): shm/fib/neighbors.h
 *   nexthops     struct bp_nexthop          by number
 *   nh_groups    struct bp_nexthop_group    by number
 *   routes4      struct bp_route_record     only by the writer and `show`
 *   routes6      struct bp_route_record     only by the writer and `show`
 *   lpm4_root    uint32_t[1 << 24]          by the address's first 24 bits: shm/fib/lpm/lpm.h
 *   lpm6_root    uint32_t[1 << 16]          by the address's first 16 bits: shm/fib/lpm/lpm.h
 *   vrfs         struct bp_vrf              by number
 *   vrf_roots    uint32_t[1 << 16] a family by the address's first 16 bits: shm/fib/lpm/lpm.h
 *   lpm_lines    64-byte lines              nodes of all: shm/fib/lpm/lpm_node.h
 */

/* The action of a link word: its highest 8 bits. */
enum bp_link_kind {
	BP_LINK_NONE,       /* no route */
	BP_LINK_RESOLVED,   /* out of the interface to the MAC */
	BP_LINK_CONNECTED,  /* the destination is a neighbor on the interface: look it up */
	BP_LINK_UNRESOLVED, /* the gateway's MAC is not known: the kernel finds it */
	BP_LINK_LOCAL,
	BP_LINK_BLACKHOLE,
	BP_LINK_UNREACHABLE,
	BP_LINK_PROHIBIT,
	BP_LINK_PUNT,
	BP_LINK_GROUP, /* the low 32 bits are the number of a group */
	BP_LINK_KINDS,
};

#define BP_LINK_MAC_MASK 0xffffffffffffull

/* Link word: MAC in the low 48 bits (first byte lowest), interface in bits 48..55, kind above. */
static inline uint64_t bp_link_make(enum bp_link_kind kind, uint8_t interface, uint64_t low)
{
	return (uint64_t)kind << 56 | (uint64_t)interface << 48 | low;
}
static inline enum bp_link_kind bp_link_kind(uint64_t link)
{
	return (enum bp_link_kind)(link >> 56);
}
static inline uint8_t bp_link_interface(uint64_t link)
{
	return (uint8_t)(link >> 48);
}
static inline uint64_t bp_link_mac(uint64_t link)
{
	return link & BP_LINK_MAC_MASK;
}
static inline uint64_t bp_mac_word(const uint8_t mac[6])
{
	return (uint64_t)mac[0] | (uint64_t)mac[1] << 8 | (uint64_t)mac[2] << 16 |
	       (uint64_t)mac[3] << 24 | (uint64_t)mac[4] << 32 | (uint64_t)mac[5] << 40;
}

/* Next hops 0..BP_NH_FIXED-1 are always there: number BP_NH_x has the link word of kind x. */
enum {
	BP_NH_NONE,
	BP_NH_PUNT,
	BP_NH_LOCAL,
	BP_NH_BLACKHOLE,
	BP_NH_UNREACHABLE,
	BP_NH_PROHIBIT,
	BP_NH_FIXED,
};

/* A worker reads only the first 16 bytes of a next hop. */
struct bp_nexthop {
	_Atomic uint64_t link;   /* the writer's */
	_Atomic uint32_t used_s; /* workers: CLOCK_MONOTONIC second of the last use, stored when it
				    changes */
	uint32_t reserved;
	/* the writer's own, by which the next writer finds it again */
	_Atomic uint32_t state; /* 0: free */
	uint32_t object;        /* next-hop object of the kernel; 0: none */
	struct bp_hop hop;      /* when it is a single hop */
	uint8_t pad[64 - 24 - sizeof(struct bp_hop)];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_nexthop) == 64, "one line");

/* ECMP: a flow's hash, its highest 8 bits, chooses one of 256 entries; weights are shares of them.
 */
#define BP_GROUP_SHARES 256
struct bp_nexthop_group {
	_Atomic uint32_t nexthop[BP_GROUP_SHARES];
	_Atomic uint32_t state; /* 0: free */
	uint32_t n;
	uint32_t member[BP_HOPS_MAX]; /* next hops, and their weights: the writer's own */
	uint16_t weight[BP_HOPS_MAX];
} __attribute__((aligned(64)));

/* A worker reads only the first 32 bytes of an interface. */
struct bp_interface {
	_Atomic uint64_t mac;   /* bp_mac_word() */
	_Atomic uint32_t flags; /* BP_IF_* */
	_Atomic uint32_t mtu;   /* bytes of an IP packet */
	_Atomic uint32_t seq;   /* odd while the writer changes `info` */
	_Atomic uint32_t vlan;  /* of a subinterface: port << 16 | VLAN identifier; otherwise 0 */
	_Atomic uint32_t vrf, vrf_table; /* as in `info` */
	uint32_t pad[8];
	struct bp_interface_info info;
} __attribute__((aligned(64)));

struct bp_vrf {
	_Atomic uint32_t seq; /* odd while the writer changes `info` */
	struct bp_vrf_info info;
};

struct bp_fib_control {
	/* the writer's: the present epoch, from 1 */
	_Atomic uint64_t epoch;
	_Atomic uint64_t writer_pid;
	/* current numbers of elements */
	_Atomic uint32_t routes4, routes6, neighbors, nexthops, groups, lines;
	/* routes and neighbors that did not fit (their traffic is punted to the kernel): current
	 * numbers, and the total of all times */
	_Atomic uint32_t routes4_refused, routes6_refused, neighbors_refused, nexthops_refused;
	/* entries of table interfaces for subinterfaces that were ever used: readers need no
	 * others; and the current number of subinterfaces that did not fit */
	_Atomic uint32_t subinterfaces, subinterfaces_refused;
	/* the highest number of a VRF that was ever used, and the current number of interfaces in
	 * VRFs that did not fit */
	_Atomic uint32_t vrfs, vrfs_refused;
	_Atomic uint64_t rejected_total;
	_Atomic uint64_t changes; /* changes of any kind, total */
	_Atomic uint64_t
		repairs; /* entries that a new writer found inconsistent and repaired, total */
} __attribute__((aligned(64)));

/* The workers' own. */
struct bp_fib_readers {
	/* worker w: the epoch with which it began its walk; UINT64_MAX: not running */
	_Atomic uint64_t seen[BP_MAX_WORKERS] __attribute__((aligned(64)));
};

/* One route, as the writer keeps it and `show` reads it. Written field by field while state is odd
 * or 0; the store of an even state that is not 0 commits it. */
struct bp_route_record {
	_Atomic uint32_t state;   /* 0: free; else a number that grows with every change */
	_Atomic uint32_t nexthop; /* number of its next hop */
	uint32_t metric;
	uint32_t generation; /* of mark and sweep */
	uint8_t bytes[16];   /* these are as in struct bp_prefix and struct bp_route */
	uint8_t family, length, type, origin, protocol, vrf, pad[2];
	uint64_t pad2;
};
_Static_assert(sizeof(struct bp_route_record) == 48, "route record");

#define BP_LPM4_ROOT (1u << 24)
#define BP_LPM6_ROOT (1u << 16)
#define BP_VRF_ROOT (1u << 16)
#define BP_LPM_LINE_SIZE 64

struct bp_neighbor_line;
struct bp_lpm_line;

/* Every table at its address; part of struct bp_shm. */
struct bp_fib {
	struct bp_fib_control *control;
	struct bp_fib_readers *readers;
	struct bp_interface *interfaces; /* BP_ALL_INTERFACES */
	struct bp_neighbor_line *neighbors;
	uint32_t neighbor_lines; /* two for each neighbor, of two entries: a quarter full at most
				  */
	uint32_t max_neighbors;
	struct bp_nexthop *nexthops;
	uint32_t max_nexthops;
	struct bp_nexthop_group *groups;
	uint32_t max_groups;
	/* one record more than there may be routes: a route that changes has two for a moment */
	struct bp_route_record *routes4, *routes6;
	uint32_t max_routes4, max_routes6;
	uint32_t max_routes; /* of both; 0: nothing routes, and the tables are not to be used */
	_Atomic uint32_t *lpm4_root;
	_Atomic uint32_t *lpm6_root;
	struct bp_vrf *vrfs;         /* BP_MAX_VRFS: VRF 1 is the first */
	_Atomic uint32_t *vrf_roots; /* VRF 1 of IPv4, then of IPv6, VRF 2 ... */
	struct bp_lpm_line *lines;
	uint32_t max_lines;
	uint64_t hash_key[2];
};

/* Number of entries of table interfaces that may be in use, at most BP_ALL_INTERFACES. */
static inline unsigned bp_fib_interfaces(const struct bp_fib *f)
{
	const uint32_t n = atomic_load_explicit(&f->control->subinterfaces, memory_order_acquire);

	return BP_MAX_INTERFACES + (n < BP_MAX_SUBINTERFACES ? n : BP_MAX_SUBINTERFACES);
}

/* The highest number of a VRF that may be in use. */
static inline unsigned bp_fib_vrfs(const struct bp_fib *f)
{
	const uint32_t n = atomic_load_explicit(&f->control->vrfs, memory_order_acquire);

	return n < BP_MAX_VRFS ? n : BP_MAX_VRFS;
}

/* Whether an interface of the kernel is in table interfaces. For the process of the writer. */
bool bp_fib_has_ifindex(const struct bp_fib *f, uint32_t ifindex);

/* ---- for workers ---- */

/* Before a worker's walk: it holds nothing of the walk before. `*known` is the worker's own copy of
 * what it said last, 0 at first. */
static inline void bp_fib_quiesce(const struct bp_fib *f, unsigned worker, uint64_t *known)
{
	uint64_t now = atomic_load_explicit(&f->control->epoch, memory_order_acquire);

	if (__builtin_expect(now == *known, 1))
		return;
	if (*known == 0) { /* begins: until this is seen, the writer does not wait for us */
		uint64_t again = now;
		unsigned tries =
			64; /* bounded: a writer that never stops does not wait for readers */

		do {
			now = again;
			atomic_store_explicit(&f->readers->seen[worker], now, memory_order_relaxed);
			atomic_thread_fence(memory_order_seq_cst);
			again = atomic_load_explicit(&f->control->epoch, memory_order_acquire);
		} while (again != now && --tries != 0);
	} else {
		atomic_store_explicit(&f->readers->seen[worker], now, memory_order_release);
	}
	*known = now;
}

/* A worker that ends. */
static inline void bp_fib_read_end(const struct bp_fib *f, unsigned worker, uint64_t *known)
{
	atomic_store_explicit(&f->readers->seen[worker], UINT64_MAX, memory_order_release);
	*known = 0;
}

/* ---- for `show`: copies, each true as of one instant ---- */

/* False: no such interface. */
bool bp_fib_interface(const struct bp_fib *f, unsigned interface, struct bp_interface_info *out);
/* False: the number is free. */
bool bp_fib_vrf(const struct bp_fib *f, unsigned vrf, struct bp_vrf_info *out);
/* The next element from *cursor (0 at first) on; false: no more. */
bool bp_fib_next_route(const struct bp_fib *f, uint32_t *cursor, struct bp_route *out);
/* used_s is that of its own entry: where the neighbor is a gateway, bp_fib_next_hop() has the
 * later use. */
bool bp_fib_next_neighbor(const struct bp_fib *f, uint32_t *cursor, struct bp_neighbor_info *out);
/* A hop that routes refer to, and the time of its last use by a worker (as in struct
 * bp_neighbor_info). */
bool bp_fib_next_hop(
	const struct bp_fib *f, uint32_t *cursor, struct bp_hop *out, uint32_t *used_s);
/* Number of the next hop for an address in a VRF, as a worker finds it. */
uint32_t bp_fib_lookup(const struct bp_fib *f, unsigned vrf, const struct bp_address *a);
/* When a worker last used a next hop towards this gateway or the neighbor itself: second of
 * CLOCK_MONOTONIC, 0: never. */
uint32_t bp_fib_neighbor_used(
	const struct bp_fib *f, unsigned interface, const struct bp_address *a);

#endif
