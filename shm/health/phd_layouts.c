/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/health/phd_writer_parts.h"
#include "shm/words.h"

/* The layouts, each stored once and shared by the sessions that use it. */

enum { COMPARED = offsetof(struct bp_phd_layout, content) };

uint64_t bp_phd_layout_hash(const struct bp_phd_layout *l)
{
	return bp_mix64(l->content ^ bp_mix64(l->plan ^ (uint64_t)l->size << 32 ^ l->spec));
}

void bp_phd_layout_slot_set(struct bp_phd_tables *t, uint32_t n, enum bp_slot slot)
{
	bp_phd_before_store();
	bp_slot_set(&bp_phd_layout_at(t, n)->state, slot);
}

static void live_layouts(struct bp_phd_writer *w, int d)
{
	w->live_layouts += (uint32_t)d;
	bp_phd_store32(&w->t->control->layouts, w->live_layouts);
}

void bp_phd_layout_use(struct bp_phd_writer *w, uint16_t n)
{
	struct bp_phd_layout *l;

	if (n >= w->t->max_layouts)
		return;
	l = bp_phd_layout_at(w->t, n);
	bp_phd_store32(&l->users, l->users + 1);
}

void bp_phd_layout_leave(struct bp_phd_writer *w, uint16_t n)
{
	struct bp_phd_layout *l;

	if (n >= w->t->max_layouts)
		return;
	l = bp_phd_layout_at(w->t, n);
	bp_phd_store32(&l->users, l->users - 1);
	if (l->users == 0)
		bp_phd_layout_retire(w, n);
}

void bp_phd_layout_retire(struct bp_phd_writer *w, uint32_t n)
{
	bp_index_remove(&w->layout_index, bp_phd_layout_hash(bp_phd_layout_at(w->t, n)), n);
	bp_phd_layout_slot_set(w->t, n, BP_SLOT_RETIRED);
	bp_reuse_retire(&w->layouts, n);
	live_layouts(w, -1);
}

void bp_phd_layouts_settle(struct bp_phd_writer *w)
{
	uint32_t n;

	while (bp_reuse_passed(&w->layouts, &w->epoch, &n)) {
		bp_phd_layout_slot_set(w->t, n, BP_SLOT_FREE);
		bp_reuse_give(&w->layouts, n);
	}
}

/* Layouts that were created for a session that was not opened. */
static void retire_unused(struct bp_phd_writer *w)
{
	for (uint32_t n = 0; n < w->t->max_layouts; n++) {
		if (bp_phd_layout_slot(w->t, n) == BP_SLOT_LIVE &&
			bp_phd_layout_at(w->t, n)->users == 0)
			bp_phd_layout_retire(w, n);
	}
}

static bool take(struct bp_phd_writer *w, uint32_t *n)
{
	if (bp_reuse_take(&w->layouts, n))
		return true;
	bp_phd_layouts_settle(w);
	if (bp_reuse_take(&w->layouts, n))
		return true;
	retire_unused(w);
	bp_phd_layouts_settle(w);
	return bp_reuse_take(&w->layouts, n);
}

static int find(const struct bp_phd_writer *w, const struct bp_phd_layout *made)
{
	const struct bp_index *ix = &w->layout_index;

	for (uint32_t n = bp_index_first(ix, bp_phd_layout_hash(made)); n != BP_INDEX_END;
		n = bp_index_next(ix, n)) {
		const struct bp_phd_layout *l = bp_phd_layout_at(w->t, n);

		if (l->size == made->size &&
			bp_words_same((const char *)l + COMPARED, (const char *)made + COMPARED,
				(size_t)made->size - COMPARED))
			return (int)n;
	}
	return -1;
}

int bp_phd_layout_get(struct bp_phd_writer *w, const struct bp_phd_layout *made)
{
	const int known = find(w, made);
	struct bp_phd_layout *l;
	uint32_t n;

	if (known >= 0)
		return known;
	if (made->size < sizeof(*made) || made->size > BP_PHD_LAYOUT_SIZE || !take(w, &n))
		return -1;
	l = bp_phd_layout_at(w->t, n);
	bp_phd_layout_slot_set(w->t, n, BP_SLOT_WRITING);
	bp_phd_store_bytes((char *)l + COMPARED, (const char *)made + COMPARED,
		((size_t)made->size + 3 - COMPARED) / 4 * 4);
	bp_phd_store32(&l->users, 0);
	bp_phd_store32(&l->life, l->life + 1);
	bp_phd_layout_slot_set(w->t, n, BP_SLOT_LIVE);
	bp_index_add(&w->layout_index, bp_phd_layout_hash(l), n);
	live_layouts(w, 1);
	return (int)n;
}
