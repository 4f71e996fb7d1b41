/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/lcl/events.h"

#include <stdbool.h>
#include <stdlib.h>

int lsim_events_init(struct lsim_events *e, uint32_t count)
{
	*e = (struct lsim_events){.count = count};
	e->at = malloc(count * sizeof(e->at[0]));
	e->heap = malloc(count * sizeof(e->heap[0]));
	e->place = malloc(count * sizeof(e->place[0]));
	if (e->at == NULL || e->heap == NULL || e->place == NULL) {
		lsim_events_free(e);
		return -1;
	}
	for (uint32_t i = 0; i < count; i++) {
		e->at[i] = LSIM_NEVER;
		e->heap[i] = e->place[i] = i;
	}
	return 0;
}

void lsim_events_free(struct lsim_events *e)
{
	free(e->at);
	free(e->heap);
	free(e->place);
	*e = (struct lsim_events){0};
}

static bool before(const struct lsim_events *e, uint32_t a, uint32_t b)
{
	return e->at[a] < e->at[b] || (e->at[a] == e->at[b] && a < b);
}

static void put(struct lsim_events *e, uint32_t place, uint32_t thing)
{
	e->heap[place] = thing;
	e->place[thing] = place;
}

void lsim_events_set(struct lsim_events *e, uint32_t thing, uint64_t at)
{
	uint32_t i = e->place[thing];

	e->at[thing] = at;
	for (uint32_t up; i > 0 && before(e, thing, e->heap[up = (i - 1) / 2]); i = up)
		put(e, i, e->heap[up]);
	for (uint32_t child; (child = 2 * i + 1) < e->count; i = child) {
		if (child + 1 < e->count && before(e, e->heap[child + 1], e->heap[child]))
			child++;
		if (!before(e, e->heap[child], thing))
			break;
		put(e, i, e->heap[child]);
	}
	put(e, i, thing);
}
