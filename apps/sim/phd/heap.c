/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "apps/sim/phd/sim.h"

static void put(struct sim *s, unsigned place, struct sim_device *d)
{
	s->heap[place] = d;
	d->place = place;
}

static void up(struct sim *s, struct sim_device *d)
{
	unsigned place = d->place;

	while (place > 0 && s->heap[(place - 1) / 2]->timer_ns > d->timer_ns) {
		put(s, place, s->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	put(s, place, d);
}

static void down(struct sim *s, struct sim_device *d)
{
	unsigned place = d->place, n = s->o.count;

	for (;;) {
		unsigned child = 2 * place + 1;

		if (child + 1 < n && s->heap[child + 1]->timer_ns < s->heap[child]->timer_ns)
			child++;
		if (child >= n || s->heap[child]->timer_ns >= d->timer_ns)
			break;
		put(s, place, s->heap[child]);
		place = child;
	}
	put(s, place, d);
}

void sim_heap_make(struct sim *s)
{
	s->heap = calloc(s->o.count, sizeof(void *));
	if (s->heap == NULL)
		abort();
	for (unsigned i = 0; i < s->o.count; i++) {
		s->device[i].timer_ns = SIM_NEVER;
		put(s, i, &s->device[i]);
	}
}

void sim_heap_moved(struct sim *s, struct sim_device *d)
{
	/* A device that waits for a response sends no new report. */
	d->timer_ns = d->pending || d->due_ns < d->report_ns ? d->due_ns : d->report_ns;
	up(s, d);
	down(s, d);
}
