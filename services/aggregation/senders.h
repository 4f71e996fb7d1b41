/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_SENDERS_H
#define BP_SERVICES_AGGREGATION_SENDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "services/aggregation/match.h"

/*
 * Whose messages a rule is for: prefixes of one family, as two words and a mask, of addresses as
 * bp_agg_match_words() reads them. What the first holds, or all senders where it has no bits, costs
 * one comparison; name first what most are from.
 */
struct bp_agg_senders_prefix {
	uint64_t value[2], mask[2]; /* (address & mask) == value */
};

struct bp_agg_senders {
	struct bp_agg_senders_prefix prefix[BP_AGG_SENDERS_MAX];
	uint8_t n; /* at least 1: where there is none, one that holds nobody */
};

/* *s: the senders of these n prefixes; those of another family than `family` and those behind the
 * first BP_AGG_SENDERS_MAX are none of them. Of 0 prefixes: nobody. */
void bp_agg_senders_set(
	struct bp_agg_senders *s, unsigned family, const struct bp_prefix *prefix, uint32_t n);
/* *s: everybody. */
void bp_agg_senders_set_all(struct bp_agg_senders *s);

static inline bool bp_agg_senders_prefix_has(
	const struct bp_agg_senders_prefix *p, const uint64_t address[2])
{
	return (((address[0] & p->mask[0]) ^ p->value[0]) |
		       ((address[1] & p->mask[1]) ^ p->value[1])) == 0;
}

/* Whether one behind the first has it. */
bool bp_agg_senders_further(const struct bp_agg_senders *s, const uint64_t address[2]);

/* `address` by bp_agg_match_words(), of the family that was given. */
static inline bool bp_agg_senders_has(const struct bp_agg_senders *s, const uint64_t address[2])
{
	return __builtin_expect(bp_agg_senders_prefix_has(&s->prefix[0], address), 1) ||
	       bp_agg_senders_further(s, address);
}

/* The same of an IPv4 address in network byte order. */
static inline bool bp_agg_senders_has4(const struct bp_agg_senders *s, const uint8_t *address)
{
	uint64_t word[2];

	bp_agg_match_words(4, address, word);
	return __builtin_expect((word[0] & s->prefix[0].mask[0]) == s->prefix[0].value[0], 1) ||
	       bp_agg_senders_further(s, word);
}

/* Bits of an IPv4 address, in network byte order: senders that have them all as `address`, which is
 * one of the senders, are so, too. */
uint32_t bp_agg_senders_mask4(const struct bp_agg_senders *s, const uint8_t *address);

#endif
