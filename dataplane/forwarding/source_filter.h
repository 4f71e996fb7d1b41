/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_FORWARDING_SOURCE_FILTER_H
#define BP_DATAPLANE_FORWARDING_SOURCE_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "biplane/counters.h"
#include "shm/fib/fib.h"

/*
 * Which source addresses a routed interface believes (RFC 1812 5.3.7 and 5.3.8, RFC 3704). Without
 * a reverse path filter only the gateway's own addresses and its subnets' broadcast addresses are
 * refused: a table says of nearly all others that they are none of these, and the routing tables
 * say it for certain. With one, each source costs a lookup of its own.
 */
enum bp_rpf { BP_RPF_OFF, BP_RPF_STRICT, BP_RPF_LOOSE };

#define BP_LOCAL_HASHES 4096u

struct bp_source_filter {
	/* 1: maybe an own address, of both families, by bp_local_hash4() and bp_local_hash6().
	 * Bytes, as a bit takes a shift of every packet. */
	uint8_t own[BP_LOCAL_HASHES];
	uint64_t known; /* of what the interfaces said when it was made */
	uint8_t rpf4[BP_MAX_INTERFACES], rpf6[BP_MAX_INTERFACES]; /* enum bp_rpf */
	bool any4, any6;                                          /* one of them is not off */
};

/* As it lies in the packet. */
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

/* Renews the table when an interface has changed. */
void bp_source_filter_refresh(struct bp_source_filter *s, const struct bp_fib *f);

/* Why a packet from a source whose route has this next hop is dropped that came in on `in`;
 * BP_C_COUNT: it is not. */
bp_counter_t bp_source_verdict(
	const struct bp_fib *f, uint32_t nexthop, unsigned in, enum bp_rpf rpf);

/* The same of one packet; `source` as it lies in the packet. */
bp_counter_t bp_source4(const struct bp_source_filter *s, const struct bp_fib *f, unsigned in,
	const uint8_t *source);
bp_counter_t bp_source6(const struct bp_source_filter *s, const struct bp_fib *f, unsigned in,
	const uint8_t *source);

#endif
