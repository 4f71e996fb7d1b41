/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/capture/capture_sets.h"

#include <stdlib.h>
#include <string.h>

static void free_set(struct bp_capture_set *set)
{
	if (set == NULL)
		return;
	for (unsigned i = 0; i < set->n; i++)
		bp_capture_filter_free(&set->of[i].filter);
	free(set);
}

/* Whether a predecessor has written records, and was killed before they were cleared. */
static bool rings_written(const struct bp_shm *shm, unsigned workers)
{
	uint64_t end = 0;

	if (shm->capture.ring_capacity == 0)
		return false;
	for (unsigned w = 0; w < workers; w++)
		end |= atomic_load_explicit(
			&bp_capture_ring_of(&shm->capture, w)->reserved, memory_order_relaxed);
	return end != 0;
}

struct bp_capture_sets *bp_capture_sets_create(struct bp_shm *shm, unsigned workers)
{
	struct bp_capture_sets *s = aligned_alloc(64, sizeof(*s));
	struct bp_capture_set *empty = calloc(1, sizeof(*empty));

	if (s == NULL || empty == NULL) {
		free(s);
		free(empty);
		return NULL;
	}
	memset(s, 0, sizeof(*s));
	s->shm = shm;
	s->workers = workers;
	s->dirty = rings_written(shm, workers);
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&s->seen[w], BP_CAPTURE_SEEN_ALL);
	atomic_store(&s->active, empty);
	return s;
}

void bp_capture_sets_begin(struct bp_capture_sets *s, unsigned worker)
{
	atomic_store(&s->seen[worker], 0);
}

void bp_capture_sets_free(struct bp_capture_sets *s)
{
	if (s == NULL)
		return;
	free_set(s->previous);
	free_set(atomic_load(&s->active));
	free(s);
}

static bool all_have(const struct bp_capture_sets *s, uint64_t sequence)
{
	for (unsigned w = 0; w < s->workers; w++)
		if (atomic_load_explicit(&s->seen[w], memory_order_acquire) < sequence)
			return false;
	return true;
}

/* Reports to the commands which captures run. */
static void publish(struct bp_capture_sets *s, const struct bp_capture_set *set)
{
	struct bp_capture_status *status = s->shm->capture.status;
	const struct bp_capture_active *of[BP_CAPTURE_SLOTS] = {NULL};

	for (unsigned i = 0; i < set->n; i++)
		of[set->of[i].slot] = &set->of[i];
	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++) {
		if (of[slot] != NULL)
			atomic_store_explicit(&status[slot].engine, of[slot]->filter.engine,
				memory_order_relaxed);
		atomic_store_explicit(&status[slot].id, of[slot] != NULL ? of[slot]->id : 0,
			memory_order_release);
	}
}

/* No worker writes, and no command reads. A part: all of them may have gigabytes, and the caller
 * has other work. */
static void clear_rings(struct bp_capture_sets *s)
{
	const struct bp_capture_tables *t = &s->shm->capture;
	uint64_t left = BP_CAPTURE_CLEAR_STEP;

	for (unsigned w = 0; w < s->workers; w++) {
		const uint64_t before = w * t->ring_capacity;
		uint64_t at, n;

		if (s->cleared >= before + t->ring_capacity)
			continue;
		at = s->cleared - before;
		n = left < t->ring_capacity - at ? left : t->ring_capacity - at;
		memset(bp_capture_ring_of(t, w)->data + at, 0, n);
		s->cleared += n;
		left -= n;
		if (left == 0)
			break;
	}
	s->dirty = s->cleared < s->workers * t->ring_capacity;
}

/* Adds the capture of a slot. False: it is being written, or there is no memory; try again. */
static bool add_slot(struct bp_capture_sets *s, struct bp_capture_set *set, unsigned slot,
	struct bp_capture_request *r)
{
	struct bp_capture_active *a = &set->of[set->n];
	struct bp_capture_slot *from = &s->shm->capture.slot[slot];
	uint64_t none = 0;
	uint32_t cost;

	if (atomic_load_explicit(&from->lock.generation, memory_order_relaxed) == 0)
		return true; /* never used */
	if (!bp_seqlock_read(&from->lock, &none, r, sizeof(*r)))
		return false;
	set->used |= r->id != 0;
	if (r->id == 0 || r->kind == BP_CAPTURE_NONE || bp_capture_request_invalid(r) != NULL)
		return true;
	cost = bp_capture_request_cost(r);
	if (set->cost + cost > BP_CAPTURE_COST_MAX)
		return true;
	set->cost += cost;
	*a = (struct bp_capture_active){.id = r->id,
		.slot = slot,
		.kind = (enum bp_capture_kind)r->kind,
		.ports = r->ports,
		.snap_length = r->snap_length,
		.frames = r->frames,
		.at = {[BP_CAPTURE_RX] = r->rx != 0,
			[BP_CAPTURE_TX] = r->tx != 0,
			[BP_CAPTURE_DROP] = r->drops != 0}};
	if (!bp_capture_filter_compile(&a->filter, r))
		return false;
	set->n++;
	return true;
}

static struct bp_capture_set *copy_requests(struct bp_capture_sets *s, uint64_t changed)
{
	struct bp_capture_set *set = calloc(1, sizeof(*set));
	struct bp_capture_request *r = malloc(sizeof(*r));
	bool whole = set != NULL && r != NULL;

	for (unsigned slot = 0; whole && slot < BP_CAPTURE_SLOTS; slot++)
		whole = add_slot(s, set, slot, r);
	free(r);
	if (!whole) {
		free_set(set);
		return NULL;
	}
	set->generation = changed;
	return set;
}

bool bp_capture_sets_poll(struct bp_capture_sets *s)
{
	struct bp_capture_set *now = atomic_load(&s->active), *set;
	const uint64_t changed =
		atomic_load_explicit(&s->shm->control->captures_changed, memory_order_acquire);

	if (s->previous != NULL) {
		if (!all_have(s, now->sequence))
			return false;
		free_set(s->previous);
		s->previous = NULL;
		publish(s, now);
		s->dirty |= now->n != 0;
		s->cleared = 0;
	}
	if (s->shm->capture.ring_capacity == 0)
		return false;
	if (changed == now->generation) {
		/* the requests were copied, and none is of a capture */
		if (s->dirty && !now->used && now->sequence != 0)
			clear_rings(s);
		return false;
	}
	set = copy_requests(s, changed);
	if (set == NULL)
		return false;
	set->sequence = now->sequence + 1;
	s->previous = now;
	atomic_store_explicit(&s->active, set, memory_order_release);
	return true;
}
