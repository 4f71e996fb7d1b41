/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/transform/transform_edit.h"
#include "shm/transform/transform_writer.h"
#include "proto/transform/transform_matrix.h"

#define WHITHER (BP_TRANSFORM_ADDRESS | BP_TRANSFORM_REFLECT)

uint32_t bp_transform_new_uid(_Atomic uint32_t *next_uid)
{
	uint32_t uid = atomic_fetch_add_explicit(next_uid, 1, memory_order_relaxed) + 1;

	return uid != 0 ? uid : atomic_fetch_add_explicit(next_uid, 1, memory_order_relaxed) + 1;
}

static void matrix_write(struct bp_transform_row *row, unsigned which, const double m[12])
{
	for (unsigned i = 0; i < 12; i++) {
		uint64_t word;

		memcpy(&word, &m[i], sizeof(word));
		atomic_store_explicit(&row->m[which][i], word, memory_order_relaxed);
	}
}

static void whither(struct bp_transform_row *row, const struct bp_transform_receiver *r)
{
	row->family = r->flags & BP_TRANSFORM_ADDRESS ? r->family : 0;
	if (row->family != 0)
		memcpy(row->address, r->address, sizeof(row->address));
}

void bp_transform_row_fill(struct bp_transform_row *row, const struct bp_transform_receiver *r,
	const struct bp_transform_receiver *otherwise)
{
	const struct bp_transform_receiver none = {.flags = 0};
	const struct bp_transform_receiver *o = otherwise != NULL ? otherwise : &none;
	const struct bp_transform_receiver *to = r->flags & WHITHER ? r : o;
	/* the other one's MAC address would be another machine's */
	const struct bp_transform_receiver *mac = r->flags & BP_TRANSFORM_MAC ? r : to;
	const struct bp_transform_receiver *udp = r->flags & BP_TRANSFORM_UDP ? r : o;
	uint64_t flags = r->flags & (BP_TRANSFORM_MATRIX | BP_TRANSFORM_SET);

	memset(row->address, 0, sizeof(row->address));
	memset(row->pad, 0, sizeof(row->pad));
	whither(row, to);
	memcpy(row->mac, mac->mac, sizeof(row->mac));
	row->udp = udp->udp;
	flags |= (to->flags & WHITHER) | (mac->flags & BP_TRANSFORM_MAC) |
		 (udp->flags & BP_TRANSFORM_UDP);
	matrix_write(row, 0, r->flags & BP_TRANSFORM_MATRIX ? r->m : bp_transform_identity);
	matrix_write(row, 1, bp_transform_identity);
	atomic_store_explicit(&row->state, flags, memory_order_release);
}

void bp_transform_row_set(struct bp_transform_row *row, const double m[12], unsigned flags)
{
	const uint64_t state = atomic_load_explicit(&row->state, memory_order_relaxed);
	const uint64_t next = (state & ~(uint64_t)0xff) + 0x100;
	const uint64_t whence = state & (BP_TRANSFORM_ADDRESS | BP_TRANSFORM_UDP |
						BP_TRANSFORM_MAC | BP_TRANSFORM_REFLECT);

	/* A reader that still copies the overwritten matrix sees that `state` has changed. */
	atomic_thread_fence(memory_order_release);
	matrix_write(row, next >> 8 & 1, m);
	atomic_store_explicit(
		&row->state, next | whence | BP_TRANSFORM_MATRIX | flags, memory_order_release);
}

/* Index of the prefix length in the list, or its insertion point; -1: the list is full. */
static int length_place(const struct bp_transform_rule_row *r, const struct bp_prefix *p)
{
	const unsigned f = p->family == 6;
	const unsigned n = atomic_load_explicit(&r->n_lengths[f], memory_order_relaxed);
	unsigned at = 0;

	while (at < n && atomic_load_explicit(&r->length[f][at], memory_order_relaxed) > p->length)
		at++;
	if (at < n && atomic_load_explicit(&r->length[f][at], memory_order_relaxed) == p->length)
		return (int)at;
	return n == BP_TRANSFORM_LENGTHS_MAX ? -1 : (int)at;
}

/* Shifts the list from its end, so that a reader in forward direction misses no element. */
static void length_add(struct bp_transform_rule_row *r, const struct bp_prefix *p)
{
	const unsigned f = p->family == 6, at = (unsigned)length_place(r, p);
	const unsigned n = atomic_load_explicit(&r->n_lengths[f], memory_order_relaxed);
	_Atomic uint8_t *list = r->length[f];

	if (at < n && atomic_load_explicit(&list[at], memory_order_relaxed) == p->length)
		return;
	for (unsigned i = n; i > at; i--) {
		atomic_store_explicit(&list[i],
			atomic_load_explicit(&list[i - 1], memory_order_relaxed),
			memory_order_release);
		if (i == n)
			atomic_store_explicit(
				&r->n_lengths[f], (uint8_t)(n + 1), memory_order_release);
	}
	atomic_store_explicit(&list[at], p->length, memory_order_release);
	if (at == n)
		atomic_store_explicit(&r->n_lengths[f], (uint8_t)(n + 1), memory_order_release);
}

/* A free slot always exists: the maximum number of sources fills half of the slots. */
static void slot_take(const struct bp_transform_view *v, uint64_t hash, uint32_t source)
{
	const uint64_t mask = (uint64_t)v->bank->buckets * BP_TRANSFORM_WAYS - 1;
	uint64_t i = (uint64_t)((uint32_t)hash & (v->bank->buckets - 1)) * BP_TRANSFORM_WAYS;

	while (atomic_load_explicit(&v->slot[i], memory_order_relaxed) != 0)
		i = (i + 1) & mask;
	atomic_store_explicit(
		&v->slot[i], (hash & 0xffffffff00000000u) | (source + 1), memory_order_release);
}

/* The name of the full table; NULL: the source and its receivers fit. */
static const char *lacking(
	const struct bp_transform_view *v, uint32_t rule, const struct bp_prefix *p, uint32_t n)
{
	const struct bp_transform_bank *bank = v->bank;

	if (atomic_load_explicit(&bank->n_sources, memory_order_relaxed) == bank->sources ||
		n > bank->sources - (atomic_load_explicit(&bank->n_rows, memory_order_relaxed) -
					    bank->n_rules))
		return "all of them";
	return length_place(&bank->rule[rule], p) < 0 ? "another prefix length of a rule's sources"
						      : NULL;
}

struct bp_transform_source_row *bp_transform_append(const struct bp_transform_view *v,
	uint32_t rule, const struct bp_prefix *address,
	const struct bp_transform_receiver *receivers, uint32_t n, uint8_t flags, uint32_t uid,
	const char **full)
{
	static const struct bp_transform_receiver bare = {.flags = 0};
	/* the writer's own bank; a view is read-only for readers */
	struct bp_transform_bank *bank = (struct bp_transform_bank *)(uintptr_t)v->bank;
	const struct bp_transform_receiver *of = n == 0 ? &bare : receivers;
	const uint32_t count = n == 0 ? 1 : n;
	const uint32_t source = atomic_load_explicit(&bank->n_sources, memory_order_relaxed);
	const uint32_t first = atomic_load_explicit(&bank->n_rows, memory_order_relaxed);
	struct bp_transform_source_row *s = &v->source[source];
	uint64_t word[2];

	*full = lacking(v, rule, address, count);
	if (*full != NULL)
		return NULL;
	length_add(&bank->rule[rule], address);
	for (uint32_t i = 0; i < count; i++)
		bp_transform_row_fill(&v->row[first + i], &of[i], &bank->rule[rule].rule.otherwise);
	bp_transform_words(address->family, address->length, address->bytes, word);
	*s = (struct bp_transform_source_row){.family = address->family,
		.length = address->length,
		.rule = (uint8_t)rule,
		.flags = flags,
		.uid = uid,
		.first = first,
		.n = count};
	memcpy(s->address, word, sizeof(s->address));
	atomic_store_explicit(&bank->n_rows, first + count, memory_order_release);
	atomic_store_explicit(&bank->n_sources, source + 1, memory_order_release);
	slot_take(v, bp_transform_hash(bank->key, rule, address->family, address->length, word),
		source);
	return s;
}

static enum bp_transform_set check(const struct bp_transform_rule *rule, const double m[12])
{
	switch (bp_transform_matrix_check(m)) {
	case BP_TRANSFORM_MATRIX_NOT_FINITE:
		return BP_TRANSFORM_SET_NOT_FINITE;
	case BP_TRANSFORM_MATRIX_LARGE:
		return BP_TRANSFORM_SET_LARGE;
	case BP_TRANSFORM_MATRIX_SINGULAR:
		return rule->allow_singular ? BP_TRANSFORM_SET_DONE : BP_TRANSFORM_SET_SINGULAR;
	case BP_TRANSFORM_MATRIX_OK:
		break;
	}
	return BP_TRANSFORM_SET_DONE;
}

/* Its matrix is complete before a worker can see it. */
static enum bp_transform_set add_with(const struct bp_transform_view *v, unsigned rule,
	const struct bp_prefix *source, const double m[12], _Atomic uint32_t *next_uid)
{
	struct bp_transform_receiver r = {.flags = BP_TRANSFORM_MATRIX | BP_TRANSFORM_SET};
	const char *full;

	memcpy(r.m, m, sizeof(r.m));
	if (bp_transform_append(v, rule, source, &r, 1, BP_TRANSFORM_ADDED,
		    bp_transform_new_uid(next_uid), &full) == NULL)
		return BP_TRANSFORM_SET_FULL;
	return BP_TRANSFORM_SET_DONE;
}

enum bp_transform_set bp_transform_set_check(const struct bp_transform_view *v, unsigned rule,
	const struct bp_prefix *source, unsigned receiver, const double m[12], bool add)
{
	enum bp_transform_set rc;
	uint32_t at;

	if (v->bank == NULL || rule >= v->bank->n_rules)
		return BP_TRANSFORM_SET_NO_RULE;
	rc = check(&v->bank->rule[rule].rule, m);
	if (rc != BP_TRANSFORM_SET_DONE)
		return rc;
	at = bp_transform_find(v, rule, source);
	if (at == UINT32_MAX && !add)
		return BP_TRANSFORM_SET_NO_SOURCE;
	if (receiver >= (at == UINT32_MAX ? 1 : v->source[at].n))
		return BP_TRANSFORM_SET_NO_RECEIVER;
	return at == UINT32_MAX && lacking(v, rule, source, 1) != NULL ? BP_TRANSFORM_SET_FULL
								       : BP_TRANSFORM_SET_DONE;
}

enum bp_transform_set bp_transform_set(const struct bp_transform_view *v, unsigned rule,
	const struct bp_prefix *source, unsigned receiver, const double m[12], bool add,
	_Atomic uint32_t *next_uid)
{
	const enum bp_transform_set rc = bp_transform_set_check(v, rule, source, receiver, m, add);
	uint32_t at;

	if (rc != BP_TRANSFORM_SET_DONE)
		return rc;
	at = bp_transform_find(v, rule, source);
	if (at == UINT32_MAX)
		return add_with(v, rule, source, m, next_uid);
	bp_transform_row_set(&v->row[v->source[at].first + receiver], m, BP_TRANSFORM_SET);
	v->source[at].flags &= (uint8_t)~BP_TRANSFORM_GONE;
	return BP_TRANSFORM_SET_DONE;
}

enum bp_transform_set bp_transform_remove(
	const struct bp_transform_view *v, unsigned rule, const struct bp_prefix *source)
{
	uint32_t at;

	if (v->bank == NULL || rule >= v->bank->n_rules)
		return BP_TRANSFORM_SET_NO_RULE;
	at = bp_transform_find(v, rule, source);
	if (at == UINT32_MAX)
		return BP_TRANSFORM_SET_NO_SOURCE;
	v->source[at].flags |= BP_TRANSFORM_GONE;
	return BP_TRANSFORM_SET_DONE;
}
