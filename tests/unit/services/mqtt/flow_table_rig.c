/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/mqtt/flow_table_rig.h"

unsigned table_released;

static void count_release(void *arg, struct bp_flow *f)
{
	(void)arg;
	assert_true(f->proof == BP_FLOW_IN_TABLE);
	table_released++;
}

struct table *table_open(uint32_t capacity, uint64_t idle_ns, uint64_t opening_ns)
{
	static const uint64_t key[2] = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};
	struct table *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	struct bp_flow_bounds bounds;

	memset(t, 0, sizeof(*t));
	bounds.proven = capacity;
	bounds.unproven = capacity / 4 + 1;
	t->bytes = bp_flow_table_bytes(bounds);
	t->memory = aligned_alloc(64, (t->bytes + 63) / 64 * 64);
	assert_non_null(t->memory);
	memset(t->memory, 0x5a, t->bytes); /* a restarted worker finds anything */
	bp_flow_table_init(&t->t, t->memory, bounds, key, idle_ns, opening_ns);
	t->t.counters = &t->counters;
	t->t.release = count_release;
	table_released = 0;
	t->mono_ns = 5000 * SECOND;
	t->t.now = bp_ticks(t->mono_ns);
	return t;
}

void table_close(struct table *t)
{
	free(t->memory);
	free(t);
}

void table_at(struct table *t, uint64_t mono_ns)
{
	t->mono_ns = mono_ns;
	t->t.now = bp_ticks(mono_ns);
}

struct bp_flow *table_find(struct table *t, uint64_t k0, uint64_t k1)
{
	return bp_flow_find(&t->t, bp_flow_hash(&t->t, k0, k1), k0, k1, NULL, NULL);
}

struct bp_flow *table_add(struct table *t, uint64_t k0, uint64_t k1, unsigned list)
{
	const struct bp_flow_new n = {
		.hash = bp_flow_hash(&t->t, k0, k1), .k0 = k0, .k1 = k1, .list = list};

	return bp_flow_add(&t->t, &n);
}

static uint32_t list_length(const struct bp_flow_table *t, const struct bp_flow_list *l)
{
	uint32_t n = 0, before = BP_NO_FLOW;

	for (uint32_t i = l->head; i != BP_NO_FLOW; i = t->flow[i].lru_next) {
		assert_true(t->flow[i].proof != 0);
		assert_int_equal(t->flow[i].lru_prev, before);
		before = i;
		n++;
	}
	assert_int_equal(l->tail, before);
	return n;
}

void table_consistent(const struct bp_flow_table *t)
{
	uint16_t *elsewhere = calloc(t->groups, sizeof(*elsewhere));
	uint32_t count = 0, filed, proven = 0, unproven = 0;

	for (uint64_t i = 0; i < (uint64_t)t->groups * BP_FLOW_WAYS; i++) {
		const struct bp_flow *f = &t->flow[i];
		uint32_t g = (uint32_t)(i / BP_FLOW_WAYS);
		uint64_t hash = bp_flow_hash(t, f->k0, f->k1);

		assert_int_equal(f->proof != 0, t->group[g].tag[i % BP_FLOW_WAYS] != 0);
		if (f->proof == 0)
			continue;
		count++;
		assert_int_equal(t->group[g].tag[i % BP_FLOW_WAYS], bp_flow_tag(hash));
		if (bp_flow_group1(t, hash) != g) {
			assert_int_equal(bp_flow_group2(t, hash), g);
			elsewhere[bp_flow_group1(t, hash)]++;
		}
	}
	assert_int_equal(count, t->count);
	for (uint32_t g = 0; g < t->groups; g++)
		assert_int_equal(t->group[g].elsewhere, elsewhere[g]);
	free(elsewhere);
	filed = list_length(t, &t->closed_list);
	for (unsigned i = 0; i < BP_WHEEL; i++)
		proven += list_length(t, &t->wheel[i]);
	for (unsigned c = 0; c < BP_CLIENTS; c++) {
		uint32_t of_client = 0;

		for (unsigned i = 0; i < BP_UNPROVEN_CLASSES; i++)
			of_client += list_length(t, &t->of_client[c][i]);
		assert_int_equal(of_client, t->client_unproven[c]);
		unproven += of_client;
	}
	assert_int_equal(proven, t->proven);
	assert_int_equal(unproven, t->unproven);
	assert_int_equal(filed + proven + unproven, t->count);
}
