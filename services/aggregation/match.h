/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_MATCH_H
#define BP_SERVICES_AGGREGATION_MATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "biplane/aggregation.h"
#include "biplane/limits.h"
#include "proto/net/frame.h"

/*
 * Finds the rule of a datagram by its input port and its destination: the first match among the
 * rules of that port, in the order of the configuration. The rules of a port are adjacent, by
 * family, with prefixes as two words and a mask, so that a single rule, as most ports have, costs
 * three comparisons.
 */
#define BP_AGG_MATCH_MAX (2 * BP_AGG_RULES_MAX) /* a rule may be for both IP versions */

struct bp_agg_match_entry {
	uint64_t value[2], mask[2]; /* of the destination address, as bp_agg_match_words() reads it
				     */
	uint16_t udp_first, udp_span; /* ports udp_first .. udp_first + udp_span */
	uint8_t rule;
};

struct bp_agg_match {
	struct bp_agg_match_entry entry[BP_AGG_MATCH_MAX];
	uint8_t begin[BP_MAX_PORTS][2], n[BP_MAX_PORTS][2]; /* [port][family == 6] */
};

#define BP_AGG_NO_RULE 0xffu

static inline void bp_agg_match_words(unsigned family, const uint8_t *address, uint64_t word[2])
{
	uint32_t four;

	if (family == 4) {
		memcpy(&four, address, 4);
		word[0] = four;
		word[1] = 0;
	} else {
		word[0] = bp_sum_word(address);
		word[1] = bp_sum_word(address + 8);
	}
}

/* Empties *m. */
void bp_agg_match_clear(struct bp_agg_match *m);
/* Adds rule number `rule` after the rules added before; at most BP_AGG_MATCH_MAX calls. A rule with
 * an invalid port, family or range is added nowhere. */
void bp_agg_match_enter(
	struct bp_agg_match *m, unsigned rule, unsigned port, const struct bp_agg_to *to);

static inline bool bp_agg_match_uses_port(const struct bp_agg_match *m, unsigned port)
{
	return port < BP_MAX_PORTS && (m->n[port][0] | m->n[port][1]) != 0;
}

/* The rule's number, or BP_AGG_NO_RULE. `port` is below BP_MAX_PORTS, `udp` in host byte order. */
static inline unsigned bp_agg_match_find(const struct bp_agg_match *m, unsigned port,
	unsigned family, const uint64_t word[2], unsigned udp)
{
	const unsigned n = m->n[port][family == 6];
	const struct bp_agg_match_entry *e = m->entry + m->begin[port][family == 6];

	for (unsigned i = 0; i < n; i++, e++)
		if ((((word[0] & e->mask[0]) ^ e->value[0]) |
			    ((word[1] & e->mask[1]) ^ e->value[1])) == 0 &&
			(uint16_t)(udp - e->udp_first) <= e->udp_span)
			return e->rule;
	return BP_AGG_NO_RULE;
}

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
	uint8_t n; /* at least 1: an empty list is one prefix that matches no address */
};

/* Sets *s to the senders of these n prefixes. Prefixes of a family other than `family` and those
 * after the first BP_AGG_SENDERS_MAX are ignored. With 0 prefixes *s matches no sender. */
void bp_agg_senders_set(
	struct bp_agg_senders *s, unsigned family, const struct bp_prefix *prefix, uint32_t n);
/* Sets *s to match every sender. */
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

/* As above, for an IPv4 address in network byte order. */
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
