/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/id_set.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 256u

/* Ids are consecutive, and must not collide in one run of slots: Fibonacci hashing. */
static size_t home(const struct bp_id_set *s, uint64_t id)
{
	return (size_t)((id * 0x9e3779b97f4a7c15ull) >> 20) & (s->size - 1);
}

/* Returns the slot of id, or the free slot for it. */
static size_t find(const struct bp_id_set *s, uint64_t id)
{
	size_t i = home(s, id);

	while (s->used[i] && s->slot[i] != id)
		i = (i + 1) & (s->size - 1);
	return i;
}

static bool grow(struct bp_id_set *s)
{
	struct bp_id_set bigger = {.size = s->size == 0 ? FIRST_SIZE : s->size * 2};

	bigger.slot = calloc(bigger.size, sizeof(*bigger.slot));
	bigger.used = calloc(bigger.size, 1);
	if (bigger.slot == NULL || bigger.used == NULL) {
		bp_id_set_free(&bigger);
		return false;
	}
	for (size_t i = 0; i < s->size; i++)
		if (s->used[i])
			bp_id_set_add(&bigger, s->slot[i]);
	bp_id_set_free(s);
	*s = bigger;
	return true;
}

bool bp_id_set_add(struct bp_id_set *s, uint64_t id)
{
	size_t i;

	if ((s->count + 1) * 2 > s->size && !grow(s))
		return false;
	i = find(s, id);
	if (!s->used[i]) {
		s->used[i] = 1;
		s->slot[i] = id;
		s->count++;
	}
	return true;
}

bool bp_id_set_has(const struct bp_id_set *s, uint64_t id)
{
	return s->size != 0 && s->used[find(s, id)];
}

void bp_id_set_remove(struct bp_id_set *s, uint64_t id)
{
	size_t hole, i, mask = s->size - 1;

	if (s->size == 0)
		return;
	hole = find(s, id);
	if (!s->used[hole])
		return;
	/* Moves later entries into the gap, so that a search does not end before them. */
	for (i = (hole + 1) & mask; s->used[i]; i = (i + 1) & mask) {
		size_t from_home = (i - home(s, s->slot[i])) & mask;

		if (from_home >= ((i - hole) & mask)) {
			s->slot[hole] = s->slot[i];
			hole = i;
		}
	}
	s->used[hole] = 0;
	s->count--;
}

void bp_id_set_clear(struct bp_id_set *s)
{
	if (s->size != 0)
		memset(s->used, 0, s->size);
	s->count = 0;
}

void bp_id_set_free(struct bp_id_set *s)
{
	free(s->slot);
	free(s->used);
	memset(s, 0, sizeof(*s));
}
