/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/match.h"

void bp_agg_match_clear(struct bp_agg_match *m)
{
	memset(m, 0, sizeof(*m));
}

/* Inserts an entry at the end of this list, before the following lists. */
static struct bp_agg_match_entry *make_room(struct bp_agg_match *m, unsigned port, unsigned six)
{
	unsigned at = m->begin[port][six] + m->n[port][six], behind = 0;

	if (m->n[port][six] == 0) {
		/* a new list, after all others */
		at = 0;
		for (unsigned p = 0; p < BP_MAX_PORTS; p++)
			at += m->n[p][0] + m->n[p][1];
		m->begin[port][six] = (uint8_t)at;
	}
	for (unsigned p = 0; p < BP_MAX_PORTS; p++) {
		for (unsigned s = 0; s < 2; s++) {
			if (m->n[p][s] == 0 || m->begin[p][s] < at)
				continue;
			behind += m->n[p][s];
			m->begin[p][s]++;
		}
	}
	memmove(&m->entry[at + 1], &m->entry[at], behind * sizeof(m->entry[0]));
	m->n[port][six]++;
	return &m->entry[at];
}

void bp_agg_match_enter(
	struct bp_agg_match *m, unsigned rule, unsigned port, const struct bp_agg_to *to)
{
	const unsigned family = to->address.family;
	uint8_t mask[16] = {0};
	struct bp_agg_match_entry *e;

	if (port >= BP_MAX_PORTS || (family != 4 && family != 6) || to->udp_first > to->udp_last)
		return;
	for (unsigned i = 0; i < to->address.length && i < (family == 4 ? 32 : 128); i++)
		mask[i / 8] |= (uint8_t)(0x80 >> i % 8);
	e = make_room(m, port, family == 6);
	bp_agg_match_words(family, to->address.bytes, e->value);
	bp_agg_match_words(family, mask, e->mask);
	for (unsigned i = 0; i < 2; i++)
		e->value[i] &= e->mask[i];
	e->udp_first = to->udp_first;
	e->udp_span = (uint16_t)(to->udp_last - to->udp_first);
	e->rule = (uint8_t)rule;
}

/* ---- senders ---- */

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
