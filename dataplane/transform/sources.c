/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose readings those of a burst are. Steps over all of them, so that what one waits for from the
 * tables is filled by the others, and without branches that depend on where in a bucket a source
 * happens to lie: a processor would guess half of those wrongly.
 */
#include "dataplane/transform/transformer.h"

static inline bool same_source(const struct bp_reading *a, const struct bp_reading *b)
{
	return a->from[0] == b->from[0] && a->from[1] == b->from[1] &&
	       a->kind.rule == b->kind.rule && a->kind.family == b->kind.family;
}

static inline uint64_t hash_of(const struct bp_transform_worker *t, const struct bp_reading *r,
	unsigned length, uint64_t word[2])
{
	word[0] = r->from[0] & t->prefix[length][0];
	word[1] = r->from[1] & t->prefix[length][1];
	return bp_transform_hash(t->view.key, r->kind.rule, r->kind.family, length, word);
}

static inline unsigned longest(const struct bp_transform_worker *t, const struct bp_reading *r)
{
	return atomic_load_explicit(
		&t->view.bank->rule[r->kind.rule].length[r->kind.family == 6][0],
		memory_order_acquire);
}

/* Hashes with the longest prefix, which is mostly the one that holds it, and fetches its bucket. */
static void fetch_buckets(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_reading *r = &b->reading[j];
		uint64_t word[2];

		b->hash[j] = hash_of(t, r, longest(t, r), word);
		rte_prefetch0(bp_transform_bucket(&t->view, b->hash[j]));
	}
}

/* A source in the hash's first bucket that may be the one, or UINT32_MAX. */
static inline uint32_t guess(const struct bp_transform_worker *t, uint64_t hash)
{
	const bp_transform_slot *s = bp_transform_bucket(&t->view, hash);
	unsigned hits = 0;
	uint32_t source;

#pragma GCC unroll 8
	for (unsigned i = 0; i < BP_TRANSFORM_WAYS; i++)
		hits |= (unsigned)(atomic_load_explicit(&s[i], memory_order_relaxed) >> 32 ==
				   hash >> 32)
			<< i;
	/* without a hit the first: who looks sees that it is another */
	source = (uint32_t)atomic_load_explicit(
			 &s[__builtin_ctz(hits | 1u << BP_TRANSFORM_WAYS) % BP_TRANSFORM_WAYS],
			 memory_order_acquire) -
		 1;
	return source < t->view.sources ? source : UINT32_MAX;
}

static void fetch_sources(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	for (unsigned j = 0; j < b->n; j++) {
		b->source[j] = guess(t, b->hash[j]);
		if (likely(b->source[j] != UINT32_MAX))
			rte_prefetch0(&t->view.source[b->source[j]]);
	}
}

/* The source with the longest prefix that holds the reading's, or UINT32_MAX. */
static __rte_noinline uint32_t find(const struct bp_transform_worker *t, const struct bp_reading *r)
{
	const struct bp_transform_rule_row *rule = &t->view.bank->rule[r->kind.rule];
	const unsigned f = r->kind.family == 6;

	for (unsigned i = 0; i < BP_TRANSFORM_LENGTHS_MAX &&
			     i < atomic_load_explicit(&rule->n_lengths[f], memory_order_acquire);
		i++) {
		const unsigned length =
			atomic_load_explicit(&rule->length[f][i], memory_order_acquire);
		uint64_t word[2], hash = hash_of(t, r, length, word);
		const uint32_t source = bp_transform_lookup_one(
			&t->view, hash, r->kind.rule, r->kind.family, length, word);

		if (source != UINT32_MAX)
			return source;
	}
	return UINT32_MAX;
}

/* Whether the source is the reading's with the rule's longest prefix, so that none is longer. */
static inline bool is_longest(
	const struct bp_transform_worker *t, const struct bp_reading *r, uint32_t source)
{
	const struct bp_transform_source_row *s;
	const unsigned length = longest(t, r);
	uint64_t word[2];

	if (unlikely(source == UINT32_MAX))
		return false;
	s = &t->view.source[source];
	memcpy(word, s->address, sizeof(word));
	return ((word[0] ^ (r->from[0] & t->prefix[length][0])) |
		       (word[1] ^ (r->from[1] & t->prefix[length][1]))) == 0 &&
	       s->length == length && s->family == r->kind.family && s->rule == r->kind.rule;
}

static inline void fetch_rows(const struct bp_transform_worker *t, uint32_t source, uint32_t first)
{
	const struct bp_transform_row *row = &t->view.row[first];

	for (unsigned i = 0; i < sizeof(*row) / RTE_CACHE_LINE_SIZE; i++)
		rte_prefetch0((const uint8_t *)row + (size_t)i * RTE_CACHE_LINE_SIZE);
	rte_prefetch0(&t->source_stats[source]);
}

/* Enters the source of reading j: who gets it. */
static inline void enter(struct bp_transform_worker *t, unsigned j, uint32_t source)
{
	struct bp_transform_burst *b = &t->burst;

	b->source[j] = source;
	if (likely(source != UINT32_MAX)) {
		const struct bp_transform_source_row *s = &t->view.source[source];

		/* each read once; a damaged one leads nowhere */
		const uint32_t first = __atomic_load_n(&s->first, __ATOMIC_RELAXED);
		const uint32_t n = __atomic_load_n(&s->n, __ATOMIC_RELAXED);
		const bool there = n <= BP_TRANSFORM_RECEIVERS_MAX && first <= t->view.rows - n;

		b->row[j] = there ? first : 0;
		b->n_rows[j] = (uint8_t)(there ? n : 0);
		fetch_rows(t, source, b->row[j]);
	} else {
		const struct bp_transform_worker_rule *rule = &t->rule[b->reading[j].kind.rule];

		b->row[j] = rule->otherwise;
		b->n_rows[j] = !rule->drop_unknown;
	}
}

static void find_each(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;

	fetch_buckets(t);
	fetch_sources(t);
	for (unsigned j = 0; j < b->n; j++) {
		const struct bp_reading *r = &b->reading[j];
		uint32_t source = b->source[j];

		if (unlikely(!is_longest(t, r, source)))
			source = j != 0 && same_source(r, r - 1) ? b->source[j - 1] : find(t, r);
		enter(t, j, source);
	}
}

/* Readings of nobody that is known leave the list. */
static __rte_noinline void drop_unknown(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	const bool usual = b->n_usual == b->n;
	unsigned kept = 0;

	for (unsigned j = 0; j < b->n; j++) {
		const unsigned at = b->at[j];

		if (b->n_rows[j] == 0) {
			b->edge[at] = bp_transform_refuse(
				t, b->m[at], b->reading[j].kind.rule, BP_C_DROP_TRANSFORM_SOURCE);
			continue;
		}
		b->reading[kept] = b->reading[j];
		b->payload[kept] = b->payload[j];
		b->at[kept] = b->at[j];
		b->source[kept] = b->source[j];
		b->row[kept] = b->row[j];
		b->n_rows[kept++] = b->n_rows[j];
	}
	b->n = kept;
	/* which of them left is not known, and the number must be that of no others */
	b->n_usual = usual ? kept : 0;
}

void bp_transform_find_source(struct bp_transform_worker *t)
{
	enter(t, 0, find(t, &t->burst.reading[0]));
}

static void find_one(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	uint32_t source, row;

	bp_transform_find_source(t);
	source = b->source[0];
	row = b->row[0];
	for (unsigned j = 1; j < b->n; j++)
		b->source[j] = source;
	for (unsigned j = 1; j < b->n; j++)
		b->row[j] = row;
	memset(b->n_rows, b->n_rows[0], b->n);
	b->alone = b->n_rows[0] == 1;
	if (unlikely(b->n_rows[0] == 0))
		drop_unknown(t);
}

void bp_transform_find_sources(struct bp_transform_worker *t)
{
	struct bp_transform_burst *b = &t->burst;
	unsigned none = 0, several = 0;

	b->one_source &= b->n_usual == b->n;
	if (b->one_source) {
		find_one(t);
		return;
	}
	find_each(t);
	for (unsigned j = 0; j < b->n; j++) {
		none |= b->n_rows[j] == 0;
		several |= b->n_rows[j] > 1;
	}
	b->alone = !several;
	if (unlikely(none))
		drop_unknown(t);
}
