/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/fib/lpm_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "tests/unit/shm/test.h"

struct entry {
	struct bp_prefix prefix; /* family 0: free */
	uint32_t nexthop;        /* 0: deleted */
};

struct lpm_model {
	uint64_t mask;
	struct entry *entry;
	uint32_t count[2][129]; /* prefixes of a family and length */
};

struct lpm_model *model_new(uint32_t max_prefixes)
{
	struct lpm_model *m = calloc(1, sizeof(*m));
	uint64_t n = 64;

	while (n < 4 * (uint64_t)max_prefixes)
		n *= 2;
	if (m != NULL)
		m->entry = calloc(n, sizeof(*m->entry));
	if (m == NULL || m->entry == NULL) {
		fprintf(stderr, "lpm_model: no memory\n");
		exit(1);
	}
	m->mask = n - 1;
	return m;
}

void model_free(struct lpm_model *m)
{
	free(m->entry);
	free(m);
}

static struct entry *find(const struct lpm_model *m, const struct bp_prefix *p)
{
	static const uint64_t key[2] = {1, 2};
	uint64_t i = bp_hash_bytes(key, p, sizeof(*p)) & m->mask;

	while (m->entry[i].prefix.family != 0 && memcmp(&m->entry[i].prefix, p, sizeof(*p)) != 0)
		i = (i + 1) & m->mask;
	return &m->entry[i];
}

void model_set(struct lpm_model *m, const struct bp_prefix *p, uint32_t nexthop)
{
	struct entry *e = find(m, p);

	if (e->nexthop != 0)
		m->count[p->family == 6][p->length]--;
	if (nexthop != 0)
		m->count[p->family == 6][p->length]++;
	if (e->prefix.family == 0 && nexthop == 0)
		return;
	e->prefix = *p;
	e->nexthop = nexthop;
}

uint32_t model_get(const struct lpm_model *m, const struct bp_prefix *p)
{
	return find(m, p)->nexthop;
}

uint32_t model_lookup(const struct lpm_model *m, const struct bp_address *a)
{
	for (int length = (int)bp_address_bits(a->family); length >= 0; length--) {
		struct bp_prefix p;
		uint32_t nexthop;

		if (m->count[a->family == 6][length] == 0)
			continue;
		p = bp_prefix_of(*a, (unsigned)length);
		nexthop = model_get(m, &p);
		if (nexthop != 0)
			return nexthop;
	}
	return BP_NH_NONE;
}

/* Few different bytes, so that prefixes interact: they nest, repeat and are adjacent. */
static struct bp_address crowded(uint64_t *seed, uint8_t family)
{
	static const uint8_t some[] = {0, 1, 10, 127, 128, 254, 255};
	struct bp_address a = {.family = family};

	for (unsigned i = 0; i < bp_address_bits(family) / 8; i++) {
		a.bytes[i] = test_below(seed, 4) != 0 ? some[test_below(seed, sizeof(some))]
						      : (uint8_t)test_random(seed);
	}
	return a;
}

struct bp_prefix random_prefix(uint64_t *seed, uint8_t family)
{
	return bp_prefix_of(crowded(seed, family), test_below(seed, bp_address_bits(family) + 1));
}

static void step(struct bp_address *a, unsigned bits, int by)
{
	for (unsigned i = bits / 8; i-- > 0;) {
		int v = a->bytes[i] + by;

		a->bytes[i] = (uint8_t)v;
		if (v >= 0 && v <= 255)
			break;
	}
}

struct bp_address address_near(uint64_t *seed, const struct bp_prefix *p)
{
	const unsigned bits = bp_address_bits(p->family);
	const uint32_t kind = test_below(seed, 6);
	struct bp_address a = {.family = p->family};

	for (unsigned i = 0; i < bits / 8; i++) {
		unsigned net = p->length > 8 * i ? p->length - 8 * i : 0;
		uint8_t host = net >= 8 ? 0 : (uint8_t)(0xffu >> net), value;

		value = kind < 2 ? 0 : kind < 4 ? 0xff : (uint8_t)test_random(seed);
		a.bytes[i] = (uint8_t)(p->bytes[i] | (value & host));
	}
	if (kind == 1)
		step(&a, bits, -1);
	else if (kind == 3)
		step(&a, bits, 1);
	return a;
}

uint32_t fib_way(const struct bp_fib *f, const struct bp_address *a)
{
	const uint8_t *bytes = a->bytes;
	uint32_t nexthop, dst;

	if (a->family == 6) {
		bp_lpm6_lookup(f, &bytes, &nexthop, 1);
	} else {
		dst = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
		      (uint32_t)bytes[2] << 8 | bytes[3];
		bp_lpm4_lookup(f, &dst, &nexthop, 1);
	}
	return nexthop;
}
