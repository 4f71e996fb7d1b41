/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/lcl/line_model.h"

#include <stdlib.h>
#include <string.h>

#define PS 1000
#define SLOTS LINE_TURNS
#define FAR INT64_MAX

struct node {
	const struct bp_lcl_port *port;
	int64_t origin, tau, byte, wire_free, blocked;
	uint64_t now_slot;
	uint64_t pending[SLOTS], meant[SLOTS]; /* bytes */
	uint64_t last_slot[BP_LCL_FLOWS_MAX];
	uint64_t held_to; /* no slot from here on holds anything */
	struct line_frame **queued;
	unsigned n_queued;
};

static int64_t begins(const struct node *o, uint64_t slot)
{
	return o->origin + (int64_t)slot * o->tau;
}

/* The frame that is sent next: of the first slot that holds one, the first that came. */
static unsigned next_of(const struct node *o)
{
	unsigned best = 0;

	for (unsigned i = 1; i < o->n_queued; i++) {
		if (o->queued[i]->slot < o->queued[best]->slot)
			best = i;
	}
	return best;
}

/* When the wire takes it. */
static int64_t due(const struct node *o, const struct line_frame *f)
{
	const int64_t begin = begins(o, f->slot);
	const int64_t from = begin > f->at ? begin : f->at;

	return from > o->wire_free ? from : o->wire_free;
}

/* Best effort goes out whenever it may: it ends before the next slot that holds something. */
static void send_best_effort(struct node *o, int64_t until, struct line *l)
{
	const int64_t gate = o->n_queued ? begins(o, o->queued[next_of(o)]->slot) : FAR;

	while (o->blocked != 0 && o->wire_free < until && o->wire_free + o->blocked <= gate) {
		if (line_random(&l->seed, 4) != 0) {
			o->wire_free += o->blocked;
			continue;
		}
		/* a pause */
		o->wire_free += (int64_t)line_random(&l->seed, (uint64_t)o->tau);
		o->wire_free = o->wire_free > until ? until : o->wire_free;
		o->wire_free = o->wire_free > gate ? gate : o->wire_free;
	}
}

/* Whether the frames of a slot and of earlier slots occupy the link until its end. */
static bool is_full(const struct node *o, uint64_t slot, int64_t now)
{
	int64_t t = o->wire_free > now ? o->wire_free : now;
	uint64_t first = slot;

	for (unsigned i = 0; i < o->n_queued; i++)
		first = o->queued[i]->slot < first ? o->queued[i]->slot : first;
	for (uint64_t s = first; s <= slot; s++) {
		t = begins(o, s) > t ? begins(o, s) : t;
		t += (int64_t)o->pending[s] * o->byte;
	}
	return t >= begins(o, slot + 1);
}

static void put(struct node *o, struct line_frame *f, struct line *l)
{
	const uint64_t now = (uint64_t)((f->at - o->origin) / o->tau);
	const int64_t target = f->at + (f->d > 0 ? f->d / f->n : 0);
	uint64_t slot = (uint64_t)((target - o->origin) / o->tau);
	const uint64_t last = now + o->port->queues - 1;

	o->meant[slot] += f->bytes;
	if (o->meant[slot] > l->slot_bytes)
		l->slot_bytes = o->meant[slot];
	l->early += slot > last;
	slot = slot < o->last_slot[f->flow] ? o->last_slot[f->flow] : slot;
	while (is_full(o, slot, f->at))
		slot++;
	l->full += slot > last;
	o->last_slot[f->flow] = slot;
	f->slot = slot;
	o->pending[slot] += f->bytes;
	o->queued[o->n_queued++] = f;
}

/* Frames that leave before `until`, into out. */
static unsigned take(struct node *o, int64_t until, struct line *l, struct line_frame **out)
{
	unsigned n = 0;

	for (;;) {
		const unsigned i = next_of(o);
		struct line_frame *f;
		int64_t start;

		send_best_effort(o, until, l);
		if (o->n_queued == 0)
			return n;
		f = o->queued[i];
		start = due(o, f);
		if (start >= until)
			return n;
		memmove(&o->queued[i], &o->queued[i + 1],
			(--o->n_queued - i) * sizeof(struct line_frame *));
		o->pending[f->slot] -= f->bytes;
		f->d -= start - f->at;
		f->waited += start - f->at;
		f->n--;
		o->wire_free = start + (int64_t)f->bytes * o->byte;
		f->at = o->wire_free;
		out[n++] = f;
	}
}

/* One node: the frames in come in order, and so do those that continue, whose number it returns. */
static unsigned pass(struct line *l, struct line_frame **in, unsigned n)
{
	struct node *o = calloc(1, sizeof(*o));
	struct line_frame **out = calloc(n + 1, sizeof(struct line_frame *));
	unsigned left = 0, on = 0;

	o->port = l->port;
	o->tau = (int64_t)l->port->tau_ns * PS;
	o->byte = 8000000000000 / (int64_t)l->port->rate_bps;
	o->origin = in[0]->at - (int64_t)line_random(&l->seed, (uint64_t)o->tau) - o->tau;
	o->wire_free = in[0]->at;
	o->queued = calloc(n + 1, sizeof(struct line_frame *));
	if (l->best_effort_max != 0)
		o->blocked = (int64_t)(l->best_effort_max + 24) * o->byte;
	for (unsigned i = 0; i < n; i++) {
		left += take(o, in[i]->at, l, out + left);
		put(o, in[i], l);
	}
	o->blocked = 0;
	left += take(o, FAR, l, out + left);
	for (unsigned i = 0; i < left; i++) {
		if (out[i]->n != 0)
			in[on++] = out[i];
	}
	free(o->queued);
	free(out);
	free(o);
	return on;
}

void line_run(struct line *l, struct line_frame *frames, unsigned n)
{
	struct line_frame **way = calloc(n, sizeof(struct line_frame *));

	for (unsigned i = 0; i < n; i++)
		way[i] = &frames[i];
	l->early = l->full = 0;
	l->slot_bytes = 0;
	while (n > 0)
		n = pass(l, way, n);
	free(way);
}
