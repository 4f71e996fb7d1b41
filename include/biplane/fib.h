/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_FIB_H
#define BIPLANE_FIB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "biplane/limits.h"

/*
 * Input of forwarding: interfaces, neighbors, routes and next hops, as the control plane sets them
 * and `biplane show` prints them. Their layout in the segment: shm/fib/fib.h.
 */

/*
 * Interface numbers are biplane's own: p < BP_MAX_PORTS is port p, BP_MAX_PORTS + b is the host
 * interface of bridge b. Each is one network interface of the kernel, with a number of its own.
 */
#define BP_MAX_INTERFACES (BP_MAX_PORTS + BP_MAX_BRIDGES)
#define BP_NO_INTERFACE 0xff
/*
 * VLAN subinterfaces of routed ports follow: interfaces of the kernel that an operator creates. The
 * control plane assigns their numbers.
 */
#define BP_MAX_SUBINTERFACES 128
#define BP_ALL_INTERFACES (BP_MAX_INTERFACES + BP_MAX_SUBINTERFACES)
_Static_assert(BP_ALL_INTERFACES <= BP_NO_INTERFACE, "8 bits in a link word");
/*
 * VRFs have numbers from 1 on, which the control plane assigns: each is one routing table of the
 * kernel with its own longest-prefix match.
 */
#define BP_MAX_VRFS 32
#define BP_VRF_MAIN 0        /* netlink.route_table, with the kernel's local table */
#define BP_VRF_KERNEL 0xff   /* a VRF without a number: its interfaces have no routes here */
#define BP_VRF_NAME_MAX 15   /* of its device */
#define BP_VLAN_ID_MAX 4094u /* IEEE 802.1Q 9.6: 0 is priority-tagged, 4095 reserved */
#define BP_ADDRESSES_MAX 16  /* of one interface */
#define BP_HOPS_MAX 32       /* of one route or next-hop group */

/* An address of either family: 16 bytes in network byte order, of which IPv4 uses the first 4. */
struct bp_address {
	uint8_t bytes[16];
	uint8_t family; /* 4 or 6; 0: none */
};

/* The bits beyond `length` are 0. */
struct bp_prefix {
	uint8_t bytes[16];
	uint8_t family; /* 4 or 6 */
	uint8_t length; /* 0..32 or 0..128 */
	uint8_t vrf;    /* whose table it is in */
};

enum bp_route_type {
	BP_ROUTE_UNICAST,   /* through its hops */
	BP_ROUTE_LOCAL,     /* an address of this machine, or a broadcast address: to the kernel */
	BP_ROUTE_BLACKHOLE, /* dropped */
	BP_ROUTE_UNREACHABLE, /* the kernel answers with ICMP */
	BP_ROUTE_PROHIBIT,    /* the kernel answers with ICMP */
	BP_ROUTE_PUNT,        /* through an interface that is not ours: the kernel forwards */
	BP_ROUTE_TYPES,
};
/* "unicast", ...; indexed by enum bp_route_type. In shm/fib/fib.c. */
extern const char *const bp_route_type_name[BP_ROUTE_TYPES];

/* Origin of a route. A static route is preferred to the kernel's route of the same prefix. */
enum bp_origin { BP_ORIGIN_KERNEL, BP_ORIGIN_STATIC };

/* One next hop: out of `interface` to `gateway`, or, without one, to the destination itself. */
struct bp_hop {
	struct bp_address gateway; /* family 0: the destination is a neighbor */
	uint8_t interface;
	uint16_t weight; /* 1..256; among the hops of a route */
};

struct bp_route {
	struct bp_prefix prefix;
	uint8_t type;     /* enum bp_route_type */
	uint8_t origin;   /* enum bp_origin */
	uint8_t protocol; /* RTPROT_* of the kernel; 0: none */
	uint32_t metric;
	uint32_t object; /* next-hop object of the kernel; 0: none, and the hops are the route's own
			  */
	uint32_t n_hops;
	struct bp_hop hop[BP_HOPS_MAX];
};

enum bp_neighbor_state {
	BP_NEIGHBOR_ABSENT,
	BP_NEIGHBOR_REACHABLE, /* has a MAC that is in use: reachable, stale, delay, probe */
	BP_NEIGHBOR_PERMANENT, /* static */
	BP_NEIGHBOR_FAILED,    /* the kernel asked in vain */
};

struct bp_neighbor_info {
	struct bp_address address;
	uint8_t interface;
	uint8_t state; /* enum bp_neighbor_state */
	uint8_t mac[6];
	uint32_t used_s; /* CLOCK_MONOTONIC second at which a worker last used it; 0: never */
};

#define BP_IF_PRESENT 0x1u /* configured */
#define BP_IF_UP 0x2u      /* administratively up */
#define BP_IF_CARRIER 0x4u
#define BP_IF_KERNEL 0x8u /* has a kernel interface */
/* what an operator has set on it (sysctl) */
#define BP_IF_NO_FORWARD4 0x10u
#define BP_IF_NO_FORWARD6 0x20u
#define BP_IF_RPF_STRICT 0x40u /* IPv4 */
#define BP_IF_RPF_LOOSE 0x80u  /* IPv4 */
#define BP_IF_REDIRECTS4 0x100u
#define BP_IF_REDIRECTS6 0x200u
#define BP_IF_SYSCTLS 0x400u /* the control plane has set what a router needs */

struct bp_interface_address {
	struct bp_address address;
	uint8_t length; /* prefix length */
};

struct bp_interface_info {
	char name[BP_NAME_MAX + 1];
	uint32_t flags;   /* BP_IF_* */
	uint32_t ifindex; /* in the kernel; 0: none */
	uint32_t mtu;     /* bytes of an IP packet */
	uint8_t mac[6];
	uint8_t n_addresses;
	uint8_t parent;   /* of a subinterface: number of its port */
	uint16_t vlan_id; /* of a subinterface; 0: it is none */
	uint8_t vrf;      /* in which received packets are looked up: a number, or BP_VRF_KERNEL */
	uint8_t pad;
	uint32_t vrf_table; /* of the kernel; 0: it is in the main VRF */
	struct bp_interface_address address[BP_ADDRESSES_MAX];
};

struct bp_vrf_info {
	uint32_t table;                 /* of the kernel; 0: the number is free */
	char name[BP_VRF_NAME_MAX + 1]; /* of a VRF device; "": none */
};

static inline bool bp_is_subinterface(unsigned interface)
{
	return interface >= BP_MAX_INTERFACES && interface < BP_ALL_INTERFACES;
}

static inline struct bp_address bp_address4(const uint8_t *p)
{
	struct bp_address a = {.family = 4};

	memcpy(a.bytes, p, 4);
	return a;
}

static inline struct bp_address bp_address6(const uint8_t *p)
{
	struct bp_address a = {.family = 6};

	memcpy(a.bytes, p, 16);
	return a;
}

static inline unsigned bp_address_bits(uint8_t family)
{
	return family == 4 ? 32 : 128;
}

/* The prefix of `length` bits that an address is in, of the main VRF; length is at most the
 * family's. */
static inline struct bp_prefix bp_prefix_of(struct bp_address a, unsigned length)
{
	struct bp_prefix p = {.family = a.family, .length = (uint8_t)length};

	for (unsigned i = 0; i < bp_address_bits(a.family) / 8; i++) {
		unsigned bits = length > 8 * i ? length - 8 * i : 0;

		p.bytes[i] =
			bits >= 8 ? a.bytes[i] : (uint8_t)(a.bytes[i] & (uint8_t)(0xff00u >> bits));
	}
	return p;
}

/* Whether the prefix contains the address: same family, same first bits. */
static inline bool bp_prefix_contains(const struct bp_prefix *p, const struct bp_address *a)
{
	const struct bp_prefix of = bp_prefix_of(*a, p->length);

	return p->family == a->family && memcmp(of.bytes, p->bytes, sizeof(of.bytes)) == 0;
}

#endif
