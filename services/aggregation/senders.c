/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/senders.h"

static struct bp_agg_senders_prefix prefix_of(const struct bp_prefix *from)
{
	const unsigned bits = bp_address_bits(from->family);
	uint8_t mask[16] = {0};
	struct bp_agg_senders_prefix p;

	for (unsigned i = 0; i < from->length && i < bits; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> i % 8);
	bp_agg_match_words(from->family, mask, p.mask);
	bp_agg_match_words(from->family, from->bytes, p.value);
	for (unsigned i = 0; i < 2; i++)
		p.value[i] &= p.mask[i];
	return p;
}

void bp_agg_senders_set(
	struct bp_agg_senders *s, unsigned family, const struct bp_prefix *prefix, uint32_t n)
{
	*s = (struct bp_agg_senders){0};
	for (uint32_t i = 0; i < n && i < BP_AGG_SENDERS_MAX; i++)
		if (prefix[i].family == family)
			s->prefix[s->n++] = prefix_of(&prefix[i]);
	if (s->n != 0)
		return;
	s->prefix[0].value[0] = 1; /* no bits of an address are that */
	s->n = 1;
}

void bp_agg_senders_set_all(struct bp_agg_senders *s)
{
	*s = (struct bp_agg_senders){.n = 1};
}

bool bp_agg_senders_further(const struct bp_agg_senders *s, const uint64_t address[2])
{
	for (unsigned i = 1; i < s->n; i++)
		if (bp_agg_senders_prefix_has(&s->prefix[i], address))
			return true;
	return false;
}

uint32_t bp_agg_senders_mask4(const struct bp_agg_senders *s, const uint8_t *address)
{
	uint64_t word[2];

	bp_agg_match_words(4, address, word);
	for (unsigned i = 0; i < s->n; i++)
		if (bp_agg_senders_prefix_has(&s->prefix[i], word))
			return (uint32_t)s->prefix[i].mask[0];
	return UINT32_MAX;
}
