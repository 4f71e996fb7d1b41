/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "shm/hash.h"
#include "shm/rules/policy_connections.h"

#define COUNT_BITS 24u
#define COUNT_MAX ((UINT64_C(1) << COUNT_BITS) - 1)
#define WAYS BP_POLICY_CONNECTION_WAYS

uint64_t bp_policy_connections_len(uint64_t n)
{
	uint64_t len = WAYS;

	while (len < 2 * n)
		len *= 2;
	return len;
}

void bp_policy_connections_clear(const struct bp_policy_connections *t)
{
	for (uint64_t i = 0; i < t->len; i++)
		atomic_store_explicit(&t->word[i], 0, memory_order_relaxed);
}

static uint64_t load(_Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static bool swap(_Atomic uint64_t *p, uint64_t expected, uint64_t v)
{
	return atomic_compare_exchange_strong_explicit(
		p, &expected, v, memory_order_relaxed, memory_order_relaxed);
}

static uint64_t count_of(uint64_t word)
{
	return word & COUNT_MAX;
}

static bool is_of(uint64_t word, uint64_t key)
{
	return count_of(word) != 0 && word >> COUNT_BITS == key >> COUNT_BITS;
}

/* The words of both sets; n[1] 0: they are the same one. */
struct words {
	_Atomic uint64_t *set[2];
	unsigned n[2];
};

static struct words words_of(const struct bp_policy_connections *t, uint64_t key)
{
	const uint64_t h = bp_mix64(key), mask = t->len / WAYS - 1;
	const uint64_t a = h & mask, b = h >> 32 & mask;

	return (struct words){{t->word + a * WAYS, t->word + b * WAYS}, {WAYS, a != b ? WAYS : 0}};
}

/* The first word of the key, or NULL; *v: what it is. */
static _Atomic uint64_t *find(const struct words *w, uint64_t key, uint64_t *v)
{
	for (unsigned s = 0; s < 2; s++) {
		for (unsigned i = 0; i < w->n[s]; i++) {
			*v = load(&w->set[s][i]);
			if (is_of(*v, key))
				return &w->set[s][i];
		}
	}
	return NULL;
}

/* A free word of the set with more of them, or NULL. */
static _Atomic uint64_t *find_free(const struct words *w)
{
	_Atomic uint64_t *first[2] = {NULL, NULL};
	unsigned n[2] = {0, 0};

	for (unsigned s = 0; s < 2; s++) {
		for (unsigned i = w->n[s]; i-- > 0;) {
			if (count_of(load(&w->set[s][i])) != 0)
				continue;
			first[s] = &w->set[s][i];
			n[s]++;
		}
	}
	return first[n[1] > n[0]];
}

/* A swap fails only where another worker has changed the word. */
bool bp_policy_connections_add(const struct bp_policy_connections *t, uint64_t key)
{
	const struct words w = words_of(t, key);
	uint64_t v;

	for (;;) {
		_Atomic uint64_t *word = find(&w, key, &v);

		if (word != NULL && count_of(v) == COUNT_MAX)
			return false;
		if (word == NULL) {
			word = find_free(&w);
			if (word == NULL)
				return false;
			v = load(word);
			if (count_of(v) != 0)
				continue;
			if (swap(word, v, (key & ~COUNT_MAX) | 1))
				return true;
		} else if (swap(word, v, v + 1)) {
			return true;
		}
	}
}

void bp_policy_connections_remove(const struct bp_policy_connections *t, uint64_t key)
{
	const struct words w = words_of(t, key);
	_Atomic uint64_t *word;
	uint64_t v;

	do {
		word = find(&w, key, &v);
	} while (word != NULL && !swap(word, v, count_of(v) == 1 ? 0 : v - 1));
}

uint32_t bp_policy_connections_count(const struct bp_policy_connections *t, uint64_t key)
{
	const struct words w = words_of(t, key);
	uint64_t n = 0;

	for (unsigned s = 0; s < 2; s++) {
		for (unsigned i = 0; i < w.n[s]; i++) {
			const uint64_t v = load(&w.set[s][i]);

			n += is_of(v, key) ? count_of(v) : 0;
		}
	}
	return (uint32_t)n;
}
