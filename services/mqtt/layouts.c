/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/layouts.h"

#include <stdlib.h>

#include "proto/payload/json_layout.h"

/*
 * Learning a shape costs three times as much as parsing. If shapes are replaced before their first
 * use, the payloads all differ: learning then pauses, with increasing duration.
 */
#define PAUSE_MAX 255u

#define SETS 64u
#define WAYS 2u

struct way {
	uint32_t index; /* of the value source */
	uint32_t gen;   /* of the rules; 0: free */
	bool served;    /* since it was learnt */
	struct bp_json_layout layout;
};

struct set {
	struct way way[WAYS];
	uint8_t victim; /* the way to replace next */
	uint8_t pause;  /* how many payloads the next pause of learning lasts */
	uint8_t left;   /* remaining parses of the current pause */
};

struct bp_layouts {
	struct set set[SETS];
};

struct bp_layouts *bp_layouts_create(void)
{
	size_t size = (sizeof(struct bp_layouts) + 63) / 64 * 64;
	struct bp_layouts *c = aligned_alloc(64, size);

	if (c != NULL)
		memset(c, 0, size);
	return c;
}

void bp_layouts_free(struct bp_layouts *c)
{
	free(c);
}

static __attribute__((noinline)) bool learn(struct set *s, uint32_t gen, uint32_t index,
	const struct bp_value_source *source, const uint8_t *payload, uint32_t len, double *value)
{
	struct way *w = &s->way[s->victim];

	if (len > BP_JSON_LAYOUT_MAX || source->json.steps == 0 || s->left != 0) {
		s->left -= s->left != 0;
		return bp_value_json(payload, len, &source->json, value);
	}
	if (!bp_json_layout_learn(payload, len, &source->json, &w->layout, value))
		return false; /* the existing layout is kept */
	if (w->gen == gen && w->index == index && !w->served)
		s->pause = s->pause > PAUSE_MAX / 2 ? PAUSE_MAX : (uint8_t)(2 * s->pause + 1);
	else
		s->pause = 0;
	s->left = s->pause;
	w->gen = gen;
	w->index = index;
	w->served = false;
	s->victim ^= 1;
	return true;
}

static struct set *set_of(struct bp_layouts *c, uint32_t index, uint32_t len)
{
	return &c->set[(index * 0x9e3779b1u + len) & (SETS - 1)];
}

const struct bp_json_layout *bp_layouts_find(
	struct bp_layouts *c, uint32_t gen, uint32_t index, const uint8_t *payload, uint32_t len)
{
	struct set *s = set_of(c, index, len);

	for (uint32_t i = 0; i < WAYS; i++) {
		struct way *w = &s->way[i];

		if (w->gen == gen && w->index == index &&
			bp_json_layout_matches(&w->layout, payload, len)) {
			w->served = true;
			return &w->layout;
		}
	}
	return NULL;
}

bool bp_layouts_value(struct bp_layouts *c, uint32_t gen, uint32_t index,
	const struct bp_value_source *source, const uint8_t *payload, uint32_t len, double *value)
{
	const struct bp_json_layout *layout = bp_layouts_find(c, gen, index, payload, len);

	if (layout != NULL)
		return bp_json_layout_value(layout, payload, value);
	return learn(set_of(c, index, len), gen, index, source, payload, len, value);
}
