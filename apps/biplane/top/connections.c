/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/top/connections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096u

/* The tables of another segment, after a restart with another configuration, have other sizes. */
static bool fit(struct bp_top_connections *c, const struct bp_shm *m)
{
	uint64_t per_worker[BP_MAX_WORKERS] = {0}, slots = 0;

	for (unsigned w = 0; w < m->workers && m->flows_len != 0; w++) {
		per_worker[w] = bp_flow_slots(m->flows, m->flows_len, m->workers, w);
		slots += per_worker[w];
	}
	if (memcmp(per_worker, c->per_worker, sizeof(per_worker)) == 0)
		return true;
	bp_top_connections_free(c);
	if (slots == 0)
		return true;
	c->slot = calloc(slots, sizeof(*c->slot));
	c->read_ns = calloc(slots / CHUNK + 1, sizeof(*c->read_ns));
	if (c->slot == NULL || c->read_ns == NULL) {
		bp_top_connections_free(c);
		return false;
	}
	memcpy(c->per_worker, per_worker, sizeof(per_worker));
	c->slots = slots;
	c->updates = (unsigned)((slots + BP_TOP_SLOTS - 1) / BP_TOP_SLOTS);
	return true;
}

/* The worker and the slot in its table of a number. */
static unsigned worker_of(const struct bp_top_connections *c, uint64_t *slot)
{
	unsigned w = 0;

	while (w < BP_MAX_WORKERS - 1 && *slot >= c->per_worker[w])
		*slot -= c->per_worker[w++];
	return w;
}

static void update_slot(struct bp_top_slot *s, const struct bp_flow_brief *b, double seconds)
{
	const bool same = s->used && s->life == b->life;

	s->rate = NAN;
	if (same && seconds > 0)
		s->rate = (float)((uint32_t)(b->publishes - s->publishes) / seconds);
	*s = (struct bp_top_slot){
		.publishes = b->publishes,
		.seen = b->seen,
		.rate = s->rate,
		.life = b->life,
		.used = 1,
	};
}

bool bp_top_connections_update(
	struct bp_top_connections *c, const struct bp_shm *m, uint64_t mono_ns)
{
	if (!fit(c, m))
		return false;
	for (uint64_t n = 0; n < BP_TOP_SLOTS && n < c->slots;) {
		const uint64_t chunk = c->at / CHUNK;
		const double seconds = c->read_ns[chunk] != 0 && c->read_ns[chunk] < mono_ns
					       ? (double)(mono_ns - c->read_ns[chunk]) / 1e9
					       : 0;

		c->read_ns[chunk] = mono_ns;
		for (; c->at < c->slots && c->at / CHUNK == chunk; c->at++, n++) {
			struct bp_flow_brief b;
			uint64_t slot = c->at;
			const unsigned w = worker_of(c, &slot);

			if (bp_flow_brief_at(m->flows, m->flows_len, m->workers, w, slot, &b))
				update_slot(&c->slot[c->at], &b, seconds);
			else
				c->slot[c->at].used = 0;
		}
		if (c->at == c->slots)
			c->at = 0;
	}
	return true;
}

static double key_of(
	const struct bp_top_slot *s, enum bp_top_connection_order order, uint64_t mono_ns)
{
	if (order == BP_TOP_BY_IDLE)
		return (double)bp_flow_idle_ms(s->seen, mono_ns);
	if (order == BP_TOP_BY_PUBLISHES)
		return s->publishes;
	return isnan(s->rate) ? -1 : s->rate;
}

struct candidate {
	double key; /* larger is earlier */
	uint64_t slot;
};

static bool is_before(const struct candidate *a, const struct candidate *b)
{
	return a->key > b->key || (a->key == b->key && a->slot < b->slot);
}

/* A heap with the last candidate of the order at its root, which a better one replaces. */
static void sift(struct candidate *heap, unsigned n, unsigned i)
{
	for (;;) {
		unsigned last = i;
		struct candidate t;

		for (unsigned k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
			if (is_before(&heap[last], &heap[k]))
				last = k;
		if (last == i)
			return;
		t = heap[i];
		heap[i] = heap[last];
		heap[last] = t;
		i = last;
	}
}

static unsigned select_first(const struct bp_top_connections *c, uint64_t mono_ns,
	enum bp_top_connection_order order, bool ascending, struct candidate *heap, unsigned n)
{
	unsigned have = 0;

	for (uint64_t i = 0; i < c->slots && n != 0; i++) {
		struct candidate x;

		if (!c->slot[i].used)
			continue;
		x.key = key_of(&c->slot[i], order, mono_ns);
		x.key = ascending ? -x.key : x.key;
		x.slot = i;
		if (have < n) {
			heap[have++] = x;
			if (have == n)
				for (unsigned k = n; k-- > 0;)
					sift(heap, n, k);
		} else if (is_before(&x, &heap[0])) {
			heap[0] = x;
			sift(heap, n, 0);
		}
	}
	return have;
}

static int compare(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : 1;
}

unsigned bp_top_connections_first(const struct bp_top_connections *c, const struct bp_shm *m,
	uint64_t mono_ns, enum bp_top_connection_order order, bool ascending,
	struct bp_top_connection *out, unsigned n)
{
	struct candidate *heap = malloc((n + 1ull) * sizeof(*heap));
	unsigned have, shown = 0;

	if (heap == NULL)
		return 0;
	have = select_first(c, mono_ns, order, ascending, heap, n);
	qsort(heap, have, sizeof(*heap), compare);
	for (unsigned i = 0; i < have; i++) {
		uint64_t slot = heap[i].slot;
		const unsigned w = worker_of(c, &slot);

		if (!bp_flow_view_at(
			    m->flows, m->flows_len, m->workers, w, slot, mono_ns, &out[shown].view))
			continue;
		out[shown++].rate = c->slot[heap[i].slot].rate;
	}
	free(heap);
	return shown;
}

void bp_top_connections_free(struct bp_top_connections *c)
{
	free(c->slot);
	free(c->read_ns);
	memset(c, 0, sizeof(*c));
}
