/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/transform/transform.h"

#include "shm/hash.h"

#define ROW_ALIGN 128u

static uint64_t aligned(uint64_t at)
{
	return (at + ROW_ALIGN - 1) & ~(uint64_t)(ROW_ALIGN - 1);
}

struct bp_transform_places bp_transform_places(uint32_t matrices)
{
	struct bp_transform_places p = {.buckets = 1};

	/* Half of the slots are free when all sources are there, so that one bucket in 45
	 * overflows. */
	while ((uint64_t)p.buckets * BP_TRANSFORM_WAYS < 2 * (uint64_t)matrices)
		p.buckets *= 2;
	p.rows = aligned(sizeof(struct bp_transform_bank));
	p.sources = p.rows +
		    ((uint64_t)matrices + BP_TRANSFORM_RULES_MAX) * sizeof(struct bp_transform_row);
	p.slots = aligned(p.sources + (uint64_t)matrices * sizeof(struct bp_transform_source_row));
	p.size = aligned(
		p.slots + (uint64_t)p.buckets * BP_TRANSFORM_WAYS * sizeof(bp_transform_slot));
	return p;
}

struct bp_transform_view bp_transform_view_at(
	const struct bp_transform_bank *bank, uint32_t matrices)
{
	const struct bp_transform_places p = bp_transform_places(matrices);
	uint8_t *at = (uint8_t *)(uintptr_t)bank;

	return (struct bp_transform_view){
		.bank = bank,
		.row = (struct bp_transform_row *)(void *)(at + p.rows),
		.source = (struct bp_transform_source_row *)(void *)(at + p.sources),
		.slot = (bp_transform_slot *)(void *)(at + p.slots),
		.bucket_mask = p.buckets - 1,
		.sources = matrices,
		.rows = matrices + BP_TRANSFORM_RULES_MAX,
		.key = bank->key,
	};
}

struct bp_transform_view bp_transform_view_of(const struct bp_transform_tables *t, uint64_t active)
{
	if (t->head == NULL || active == 0)
		return (struct bp_transform_view){.bank = NULL};
	return bp_transform_view_at(bp_transform_bank_at(t, active), t->matrices);
}

uint32_t bp_transform_find(
	const struct bp_transform_view *v, unsigned rule, const struct bp_prefix *p)
{
	uint64_t word[2];

	bp_transform_words(p->family, p->length, p->bytes, word);
	return bp_transform_lookup_one(v,
		bp_transform_hash(v->key, rule, p->family, p->length, word), rule, p->family,
		p->length, word);
}

uint32_t bp_transform_lookup(
	const struct bp_transform_view *v, unsigned rule, unsigned family, const uint8_t *address)
{
	const struct bp_transform_rule_row *r = &v->bank->rule[rule];
	const unsigned f = family == 6;

	for (unsigned i = 0; i < atomic_load_explicit(&r->n_lengths[f], memory_order_acquire);
		i++) {
		const unsigned length =
			atomic_load_explicit(&r->length[f][i], memory_order_acquire);
		uint64_t word[2];
		uint32_t s;

		bp_transform_words(family, length, address, word);
		s = bp_transform_lookup_one(v,
			bp_transform_hash(v->key, rule, family, length, word), rule, family, length,
			word);
		if (s != UINT32_MAX)
			return s;
	}
	return UINT32_MAX;
}
