/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "shm/transform/transform_edit.h"
#include "shm/transform/transform_writer.h"
#include "proto/transform/transform_matrix.h"

#define NO_RULE UINT32_MAX

struct build {
	const struct bp_transform_config *c;
	struct bp_transform_view next;
	struct bp_transform_bank *bank;
	const struct bp_transform_view *old;   /* bank NULL: none */
	uint32_t into[BP_TRANSFORM_RULES_MAX]; /* rule of `old` to rule of the file, or NO_RULE */
	_Atomic uint32_t *next_uid;
	const char *full; /* the table that is full */
};

/* The same readings in the same format: a matrix for one is valid for the other. */
static bool same_rule(const struct bp_transform_rule *a, const struct bp_transform_rule *b)
{
	return a->port == b->port && a->udp == b->udp &&
	       memcmp(&a->to, &b->to, sizeof(a->to)) == 0 &&
	       memcmp(&a->layout, &b->layout, sizeof(a->layout)) == 0;
}

static void pair_rules(struct build *b)
{
	const struct bp_transform_bank *old = b->old != NULL ? b->old->bank : NULL;

	for (uint32_t i = 0; i < BP_TRANSFORM_RULES_MAX; i++)
		b->into[i] = NO_RULE;
	/* port numbers mean other ports */
	if (old == NULL || old->generation == 0 || old->ports != b->bank->ports)
		return;
	for (uint32_t i = 0; i < old->n_rules; i++) {
		for (uint32_t k = 0; k < b->c->n_rules && b->into[i] == NO_RULE; k++) {
			if (same_rule(&old->rule[i].rule, &b->c->rule[k]))
				b->into[i] = k;
		}
	}
}

static void build_rules(struct build *b)
{
	b->bank->n_rules = b->c->n_rules;
	for (uint32_t i = 0; i < b->c->n_rules; i++) {
		struct bp_transform_rule_row *r = &b->bank->rule[i];

		r->rule = b->c->rule[i];
		r->otherwise = i;
		bp_transform_row_fill(&b->next.row[i], &r->rule.otherwise, NULL);
	}
	atomic_store_explicit(&b->bank->n_rows, b->c->n_rules, memory_order_relaxed);
}

static bool build_source(struct build *b, const struct bp_transform_source *s)
{
	const struct bp_transform_receiver *receivers =
		s->n == 0 ? NULL : &b->c->receiver[s->first];

	return bp_transform_append(
		       &b->next, s->rule, &s->address, receivers, s->n, 0, 0, &b->full) != NULL;
}

/* The matrix of an old row, if it was set at run time and its new rule allows it. */
static bool was_set(
	const struct bp_transform_row *row, const struct bp_transform_rule *rule, double m[12])
{
	const uint64_t flags = bp_transform_row_read(row, m);
	enum bp_transform_matrix_fault fault;

	if ((flags & BP_TRANSFORM_SET) == 0)
		return false;
	fault = bp_transform_matrix_check(m);
	return fault == BP_TRANSFORM_MATRIX_OK ||
	       (fault == BP_TRANSFORM_MATRIX_SINGULAR && rule->allow_singular);
}

static uint32_t count_set(
	const struct bp_transform_view *v, const struct bp_transform_source_row *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += (atomic_load_explicit(&v->row[s->first + i].state, memory_order_relaxed) &
			     BP_TRANSFORM_SET) != 0;
	return n;
}

static struct bp_transform_source_row *counterpart(struct build *b,
	const struct bp_transform_source_row *s, uint32_t rule, const struct bp_prefix *p)
{
	const struct bp_transform_receiver bare = {.flags = 0};
	const uint32_t at = bp_transform_find(&b->next, rule, p);
	double m[12];

	if (at != UINT32_MAX)
		return &b->next.source[at];
	/* it is not in the configuration: it is kept for its matrix */
	if ((s->flags & BP_TRANSFORM_ADDED) == 0 || (s->flags & BP_TRANSFORM_GONE) ||
		!was_set(&b->old->row[s->first], &b->c->rule[rule], m))
		return NULL;
	return bp_transform_append(
		&b->next, rule, p, &bare, 1, BP_TRANSFORM_ADDED, s->uid, &b->full);
}

/* Copies one source of the active bank. False: the bank is full. */
static bool take_over(struct build *b, const struct bp_transform_source_row *s)
{
	const uint32_t rule = b->into[s->rule];
	struct bp_prefix p = {.family = s->family, .length = s->length};
	struct bp_transform_source_row *to;
	uint32_t taken = 0;
	double m[12];

	memcpy(p.bytes, s->address, sizeof(p.bytes));
	to = rule == NO_RULE ? NULL : counterpart(b, s, rule, &p);
	if (b->full != NULL)
		return false;
	if (to != NULL)
		to->uid = s->uid; /* the counters of a configured source continue */
	if (s->flags & BP_TRANSFORM_GONE)
		return true;
	for (uint32_t i = 0; to != NULL && i < s->n && i < to->n; i++) {
		if (!was_set(&b->old->row[s->first + i], &b->c->rule[rule], m))
			continue;
		bp_transform_row_set(&b->next.row[to->first + i], m, BP_TRANSFORM_SET);
		taken++;
	}
	b->bank->taken += taken;
	b->bank->missed += count_set(b->old, s) - taken;
	return true;
}

static bool take_over_all(struct build *b)
{
	const struct bp_transform_bank *old = b->old != NULL ? b->old->bank : NULL;
	const uint32_t n = old == NULL || old->generation == 0
				   ? 0
				   : atomic_load_explicit(&old->n_sources, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++) {
		if (!take_over(b, &b->old->source[i]))
			return false;
	}
	return true;
}

static void number(struct build *b)
{
	const uint32_t n = atomic_load_explicit(&b->bank->n_sources, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++) {
		if (b->next.source[i].uid == 0)
			b->next.source[i].uid = bp_transform_new_uid(b->next_uid);
	}
}

static int no_room(const struct build *b, uint32_t done, char *err, size_t err_size)
{
	const bool file = done < b->c->n_sources;
	const uint32_t n =
		b->c->n_receivers > b->c->n_sources ? b->c->n_receivers : b->c->n_sources;

	snprintf(err, err_size,
		"section transform has %u receivers%s: no entry left for %s; raise "
		"transform.max_matrices (now %u) and restart%s",
		n, file ? "" : ", and there are matrices that were set at run time", b->full,
		b->bank->sources, file ? "" : ", or clear some of those");
	return -1;
}

int bp_transform_build(struct bp_transform_bank *bank, uint32_t matrices,
	const struct bp_transform_config *c, uint64_t ports, const struct bp_transform_view *old,
	uint64_t generation, uint64_t key, _Atomic uint32_t *next_uid, uint64_t unix_ns, char *err,
	size_t err_size)
{
	const struct bp_transform_places places = bp_transform_places(matrices);
	struct build b = {.c = c, .bank = bank, .old = old, .next_uid = next_uid};
	uint32_t done = 0;

	memset(bank, 0, sizeof(*bank));
	b.next = bp_transform_view_at(bank, matrices);
	memset(b.next.slot, 0, places.size - places.slots);
	bank->ports = ports;
	bank->loaded_ns = unix_ns;
	bank->sources = matrices;
	bank->rows = matrices + BP_TRANSFORM_RULES_MAX;
	bank->buckets = places.buckets;
	bank->key = b.next.key = key;
	pair_rules(&b);
	build_rules(&b);
	while (done < c->n_sources && build_source(&b, &c->source[done]))
		done++;
	if (b.full != NULL || !take_over_all(&b))
		return no_room(&b, done, err, err_size);
	number(&b);
	bank->generation = generation;
	return 0;
}
