/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"

#define ENTRIES 64u /* about 20 kB for each used one */
#define TYPE_MAX 32

struct entry {
	bool used;
	uint64_t plan;   /* its hash */
	uint64_t target; /* bp_phd_target_hash() */
	char type[TYPE_MAX];
	struct bp_phd_model model;
};

struct bp_phd_layout_cache {
	struct entry entry[ENTRIES]; /* each model has one slot */
	uint8_t *layouts;            /* of BP_PHD_LAYOUT_SIZE, by entry */
};

struct bp_phd_layout_cache *bp_phd_layout_cache_new(void)
{
	struct bp_phd_layout_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->layouts = aligned_alloc(64, (size_t)ENTRIES * BP_PHD_LAYOUT_SIZE);
	if (c->layouts)
		return c;
	free(c);
	return NULL;
}

void bp_phd_layout_cache_free(struct bp_phd_layout_cache *c)
{
	if (!c)
		return;
	free(c->layouts);
	free(c);
}

static unsigned place(const struct bp_phd_model *m, uint64_t target, const char *type)
{
	static const uint64_t key[2] = {0x6c61796f75747320ull, 0x636f6d70696c6564ull};

	return (unsigned)(bp_mix64(m->content ^ bp_mix64(target) ^
				   bp_hash_bytes(key, type, strlen(type))) %
			  ENTRIES);
}

static bool is_for(const struct entry *e, const struct bp_phd_model *m, uint64_t plan,
	uint64_t target, const char *type)
{
	return e->used && e->plan == plan && e->target == target &&
	       e->model.content == m->content && e->model.config_id == m->config_id &&
	       e->model.n == m->n && strcmp(e->type, type) == 0 &&
	       memcmp(e->model.object, m->object, m->n * sizeof(m->object[0])) == 0;
}

const struct bp_phd_layout *bp_phd_layout_cached(struct bp_phd_layout_cache *c,
	const struct bp_phd_model *m, const struct bp_phd_settings *plan,
	const struct bp_phd_target *target, const char *type)
{
	const uint64_t to = bp_phd_target_hash(plan, target);
	const unsigned i = place(m, to, type);
	struct entry *e = &c->entry[i];
	struct bp_phd_layout *l =
		(struct bp_phd_layout *)(c->layouts + (size_t)i * BP_PHD_LAYOUT_SIZE);
	char why[256];

	if (is_for(e, m, plan->hash, to, type))
		return l;
	e->used = false;
	memset(l, 0, BP_PHD_LAYOUT_SIZE);
	if (strlen(type) >= sizeof(e->type) ||
		bp_phd_layout_compile(l, m, plan, target, type, why, sizeof(why)) != 0)
		return NULL;
	e->used = true;
	e->plan = plan->hash;
	e->target = to;
	e->model = *m;
	snprintf(e->type, sizeof(e->type), "%s", type);
	return l;
}
