/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/rule_keys.h"

#include <stdlib.h>

#include "shm/hash.h"

uint64_t bp_rule_key_uid(const struct bp_rule *r)
{
	return r->uid;
}

uint64_t bp_rule_name_hash(const char *name, size_t len)
{
	static const uint64_t key[2] = {1, 2};

	return bp_hash_bytes(key, name, len);
}

uint64_t bp_rule_key_name(const struct bp_rule *r)
{
	return bp_rule_name_hash(r->name, r->name_len);
}

static int compare_keys(const void *a, const void *b)
{
	const struct bp_rule_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

uint32_t bp_rule_keys_find(struct bp_rule_keys *k, const struct bp_ruleset *rs,
	uint64_t (*key_of)(const struct bp_rule *), uint64_t key)
{
	uint32_t low = 0, high;

	if (k->generation != rs->generation) {
		free(k->key);
		k->key = calloc(rs->n_rules + 1, sizeof(k->key[0]));
		k->n = k->key != NULL ? rs->n_rules : 0;
		k->generation = k->key != NULL ? rs->generation : 0;
		for (uint32_t i = 0; i < k->n; i++)
			k->key[i] = (struct bp_rule_key){key_of(bp_ruleset_rule(rs, i)), i};
		if (k->n != 0)
			qsort(k->key, k->n, sizeof(k->key[0]), compare_keys);
	}
	for (high = k->n; low < high;) {
		const uint32_t middle = low + (high - low) / 2;

		if (k->key[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
