/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_neighbors.h"

#include <stdlib.h>
#include <string.h>

struct load {
	struct bp_neighbors *n;
	struct bp_index seen; /* slots by address, to detect duplicate addresses */
	int32_t *overflows;   /* by line: entries whose probe begins in the full line, minus those
				 whose probe ends */
	int32_t around;       /* entries that overflow from the last line to the first */
	uint64_t repaired;
};

static bool is_duplicate(
	const struct load *l, uint64_t hash, uint8_t interface, struct bp_neighbor_key k)
{
	for (uint32_t i = bp_index_first(&l->seen, hash); i != BP_INDEX_END;
		i = bp_index_next(&l->seen, i)) {
		const struct bp_neighbor_entry *e = bp_neighbor_at(l->n->f, i);

		if (bp_neighbor_differs(e, e->link, interface, k) == 0)
			return true;
	}
	return false;
}

/* Whether an entry that has a link word can stay. */
static bool keep(struct load *l, uint32_t slot, uint64_t link)
{
	struct bp_fib *f = l->n->f;
	struct bp_neighbor_entry *e = bp_neighbor_at(f, slot);
	const uint8_t interface = bp_link_interface(link), state = bp_neighbor_state(e);
	const struct bp_neighbor_key k = bp_neighbor_entry_key(e);
	const uint64_t hash = bp_neighbor_hash(f, interface, k);
	uint32_t home, line = slot / BP_NEIGHBOR_WAYS;

	if (bp_link_kind(link) != BP_LINK_RESOLVED || interface >= BP_ALL_INTERFACES ||
		l->n->count == f->max_neighbors || is_duplicate(l, hash, interface, k))
		return false;
	home = bp_neighbor_home(f, interface, k);
	/* beyond the probe distance of a lookup */
	if ((line >= home ? 0 : f->neighbor_lines) + line - home >= BP_NEIGHBOR_PROBES)
		return false;
	bp_index_add(&l->seen, hash, slot);
	l->overflows[home]++;
	l->overflows[line]--;
	l->around += home > line;
	l->n->count++;
	if (state != BP_NEIGHBOR_REACHABLE && state != BP_NEIGHBOR_PERMANENT) {
		bp_neighbor_state_set(e, BP_NEIGHBOR_REACHABLE);
		l->repaired++;
	}
	return true;
}

static void load_entries(struct load *l)
{
	for (uint32_t slot = 0; slot < bp_neighbor_entries(l->n->f); slot++) {
		struct bp_neighbor_entry *e = bp_neighbor_at(l->n->f, slot);
		const uint64_t link = atomic_load_explicit(&e->link, memory_order_acquire);
		const uint32_t meta = atomic_load_explicit(&e->meta, memory_order_relaxed);

		if (slot % BP_NEIGHBOR_WAYS != 0 && meta >> 8 != 0) { /* unused in these slots */
			atomic_store_explicit(&e->meta, meta & 0xff, memory_order_release);
			l->repaired++;
		}
		if (link != 0 && keep(l, slot, link))
			continue;
		if (link != 0) {
			atomic_store_explicit(&e->link, 0, memory_order_release);
			l->repaired++;
		} else if (bp_neighbor_state(e) == BP_NEIGHBOR_ABSENT) {
			continue;
		}
		bp_neighbor_state_set(e, BP_NEIGHBOR_RETIRED);
		bp_reuse_retire(&l->n->retired, slot);
	}
}

/* The overflow count of each line: entries that continue past it. */
static void load_overflows(struct load *l)
{
	struct bp_fib *f = l->n->f;
	int32_t sum = l->around;

	for (uint32_t line = 0; line < f->neighbor_lines; line++) {
		struct bp_neighbor_entry *e = &f->neighbors[line].entry[0];
		const uint32_t meta = atomic_load_explicit(&e->meta, memory_order_relaxed);
		uint32_t right;

		sum += l->overflows[line];
		right = (uint32_t)sum << 8 | (meta & 0xff);
		if (right == meta)
			continue;
		atomic_store_explicit(&e->meta, right, memory_order_release);
		l->repaired++;
	}
}

uint64_t bp_neighbors_load(struct bp_neighbors *n)
{
	struct load l = {.n = n};

	l.overflows = calloc(n->f->neighbor_lines, sizeof(*l.overflows));
	if (!l.overflows || !bp_index_init(&l.seen, bp_neighbor_entries(n->f))) {
		free(l.overflows);
		return UINT64_MAX;
	}
	load_entries(&l);
	load_overflows(&l);
	bp_neighbors_figures(n);
	free(l.overflows);
	bp_index_free(&l.seen);
	return l.repaired;
}
