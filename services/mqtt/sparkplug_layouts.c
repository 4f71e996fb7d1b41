/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/sparkplug_layouts.h"

#include <stdlib.h>
#include <string.h>

/*
 * Learning a shape costs more than reading the payload. As in layouts.c: if shapes are replaced
 * before their first use, learning pauses, with increasing duration.
 */
#define PAUSE_MAX 255u

#define SETS 64u
#define WAYS 2u

struct way {
	bool served; /* since it was learnt */
	struct bp_sparkplug_layout layout;
};

struct set {
	struct way way[WAYS];
	uint8_t victim; /* the way to replace next */
	uint8_t pause;  /* how many payloads the next pause of learning lasts */
	uint8_t left;   /* remaining payloads of the current pause */
};

struct bp_sparkplug_layouts {
	struct set set[SETS];
};

struct bp_sparkplug_layouts *bp_sparkplug_layouts_create(void)
{
	struct bp_sparkplug_layouts *c = aligned_alloc(64, (sizeof(*c) + 63) / 64 * 64);

	if (c != NULL)
		memset(c, 0, sizeof(*c));
	return c;
}

void bp_sparkplug_layouts_free(struct bp_sparkplug_layouts *c)
{
	free(c);
}

static struct set *set_of(struct bp_sparkplug_layouts *c, uint32_t len)
{
	return &c->set[len & (SETS - 1)];
}

const struct bp_sparkplug_index *bp_sparkplug_layouts_find(
	struct bp_sparkplug_layouts *c, const uint8_t *payload, uint32_t len)
{
	struct set *s = set_of(c, len);

	for (uint32_t i = 0; i < WAYS; i++) {
		struct way *w = &s->way[i];

		if (bp_sparkplug_layout_matches(&w->layout, payload, len)) {
			w->served = true;
			return &w->layout.index;
		}
	}
	return NULL;
}

bool bp_sparkplug_layouts_read(struct bp_sparkplug_layouts *c, const uint8_t *payload, uint32_t len,
	struct bp_sparkplug_index *index)
{
	struct set *s = set_of(c, len);
	struct way *w = &s->way[s->victim];

	if (!bp_sparkplug_index_read(payload, len, index))
		return false;
	if (!bp_sparkplug_layout_fits(len, index))
		return true;
	if (s->left != 0) {
		s->left--;
		return true;
	}
	if (w->layout.len != 0 && !w->served)
		s->pause = s->pause > PAUSE_MAX / 2 ? PAUSE_MAX : (uint8_t)(2 * s->pause + 1);
	else
		s->pause = 0;
	s->left = s->pause;
	bp_sparkplug_layout_learn(&w->layout, payload, len, index);
	w->served = false;
	s->victim ^= 1;
	return true;
}
