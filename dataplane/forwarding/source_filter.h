/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_FORWARDING_SOURCE_FILTER_H
#define BP_DATAPLANE_FORWARDING_SOURCE_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "biplane/counters.h"
#include "shm/fib/fib.h"

/*
 * Validates the source addresses of packets on a routed interface (RFC 1812 5.3.7 and 5.3.8, RFC
 * 3704). Without a reverse path filter, only the addresses of the gateway and the broadcast
 * addresses of its subnets are rejected: a table excludes almost all other addresses, and the
 * routing tables decide the rest exactly. With a filter, each source address needs one lookup.
 */
enum bp_rpf { BP_RPF_OFF, BP_RPF_STRICT, BP_RPF_LOOSE };

#define BP_LOCAL_HASHES 4096u

struct bp_source_filter {
	/*
	 * 1: possibly an own address, for both IP versions, by bp_local_hash4() and
	 * bp_local_hash6(). Bytes, since bits would need a shift for every packet.
	 */
	uint8_t own[BP_LOCAL_HASHES];
	uint64_t known; /* version of the interfaces when the table was built */
	uint8_t rpf4[BP_ALL_INTERFACES], rpf6[BP_ALL_INTERFACES]; /* enum bp_rpf */
	uint8_t vrf[BP_ALL_INTERFACES]; /* in which sources and destinations are looked up */
	/* at least one interface is in a VRF */
	bool any_vrf;
	/* at least one filter is not off */
	bool any4, any6;
};

/* `address` is in the byte order of the packet. */
static inline uint32_t bp_local_hash4(uint32_t address)
{
	return address * 0x9e3779b1u >> 20;
}

static inline uint32_t bp_local_hash6(const uint8_t *address)
{
	uint64_t half[2];

	memcpy(half, address, sizeof(half));
	return (uint32_t)(((half[0] ^ half[1] * 0xa0761d6478bd642full) * 0x9e3779b97f4a7c15ull) >>
			  52);
}

static inline uint64_t bp_local_maybe(const struct bp_source_filter *s, uint32_t hash)
{
	return s->own[hash];
}

/* Rebuilds the table after an interface has changed. */
void bp_source_filter_refresh(struct bp_source_filter *s, const struct bp_fib *f);

/*
 * Returns the drop reason of a packet received on `in` whose source has a route with this next hop;
 * BP_C_COUNT: the packet is not dropped.
 */
bp_counter_t bp_source_verdict(
	const struct bp_fib *f, uint32_t nexthop, unsigned in, enum bp_rpf rpf);

/* The same for one packet; `source` is in the byte order of the packet. */
bp_counter_t bp_source4(const struct bp_source_filter *s, const struct bp_fib *f, unsigned in,
	const uint8_t *source);
bp_counter_t bp_source6(const struct bp_source_filter *s, const struct bp_fib *f, unsigned in,
	const uint8_t *source);

#endif
