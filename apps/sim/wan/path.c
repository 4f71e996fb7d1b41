/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/wan/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int wan_path_init(struct wan_path *p, const struct wan_path_options *o, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->options = *o;
	p->random.state = seed;
	p->heap = calloc(o->limit, sizeof(struct wan_frame *));
	return p->heap != NULL ? 0 : -1;
}

void wan_path_free(struct wan_path *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		free(p->heap[i]);
	free(p->heap);
	p->heap = NULL;
	p->n = 0;
}

static bool before(const struct wan_frame *a, const struct wan_frame *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void heap_add(struct wan_path *p, struct wan_frame *f)
{
	uint32_t i = p->n++;

	while (i != 0 && before(f, p->heap[(i - 1) / 2])) {
		p->heap[i] = p->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	p->heap[i] = f;
}

static struct wan_frame *heap_take(struct wan_path *p)
{
	struct wan_frame *first = p->heap[0], *last = p->heap[--p->n];
	uint32_t i = 0;

	for (uint32_t child; (child = 2 * i + 1) < p->n; i = child) {
		if (child + 1 < p->n && before(p->heap[child + 1], p->heap[child]))
			child++;
		if (!before(p->heap[child], last))
			break;
		p->heap[i] = p->heap[child];
	}
	p->heap[i] = last;
	return first;
}

/* Box and Muller's; the other of the two is not kept. */
static double normal(struct sim_random *r)
{
	return sqrt(2 * sim_exponential(r)) * cos(2 * M_PI * sim_uniform(r));
}

/* A negative delay is 0. */
static uint64_t delay(struct wan_path *p)
{
	const struct wan_path_options *o = &p->options;
	double ns = (double)o->delay_ns;

	if (o->jitter_ns != 0)
		ns += (double)o->jitter_ns * (o->distribution == WAN_NORMAL
							     ? normal(&p->random)
							     : 2 * sim_uniform(&p->random) - 1);
	return ns > 0 ? (uint64_t)ns : 0;
}

/* When its last bit is on the narrowest link. */
static uint64_t serialised(struct wan_path *p, uint64_t now_ns, size_t len)
{
	uint64_t begin;

	if (p->options.rate_bps == 0)
		return now_ns;
	begin = now_ns > p->link_free_ns ? now_ns : p->link_free_ns;
	p->link_free_ns = begin + (uint64_t)(8e9 * (double)len / (double)p->options.rate_bps);
	return p->link_free_ns;
}

int wan_path_put(struct wan_path *p, uint64_t now_ns, const void *data, size_t len)
{
	struct wan_frame *f;

	p->counts.received++;
	if (p->options.loss > 0 && sim_uniform(&p->random) < p->options.loss) {
		p->counts.lost++;
		return 0;
	}
	if (p->n == p->options.limit) {
		p->counts.full++;
		return 0;
	}
	f = malloc(sizeof(*f) + len);
	if (f == NULL)
		return -1;
	f->in_ns = now_ns;
	f->due_ns = serialised(p, now_ns, len) + delay(p);
	if (!p->options.reorder && f->due_ns < p->last_due_ns)
		f->due_ns = p->last_due_ns;
	p->last_due_ns = f->due_ns;
	f->number = p->counts.received;
	f->len = (uint32_t)len;
	memcpy(f->data, data, len);
	heap_add(p, f);
	return 0;
}

uint64_t wan_path_due_ns(const struct wan_path *p)
{
	return p->n != 0 ? p->heap[0]->due_ns : UINT64_MAX;
}

struct wan_frame *wan_path_take(struct wan_path *p, uint64_t now_ns)
{
	struct wan_frame *f;
	uint64_t late;

	if (wan_path_due_ns(p) > now_ns)
		return NULL;
	f = heap_take(p);
	late = now_ns - f->due_ns;
	p->counts.taken++;
	p->counts.waited += now_ns - f->in_ns;
	p->counts.late += late;
	if (late > p->counts.latest)
		p->counts.latest = late;
	return f;
}
