/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "shm/health/phd_writer_parts.h"

/*
 * Loads the tables of an earlier writer, which may have died in the middle of a change. The words
 * of the sessions are authoritative; tags, counts and figures are derived from them. Workers may
 * read at the same time.
 */

struct load {
	struct bp_phd_writer *w;
	uint32_t *elsewhere; /* by group: the correct value of its count */
	uint64_t mended;
};

/* ---- layouts ---- */

static bool layout_possible(const struct bp_phd_layout *l)
{
	return l->size >= sizeof(*l) && l->size <= BP_PHD_LAYOUT_SIZE && l->n <= BP_PHD_OBJECTS_MAX;
}

static void load_layouts(struct load *o)
{
	struct bp_phd_writer *w = o->w;

	for (uint32_t n = w->t->max_layouts; n-- > 0;) {
		struct bp_phd_layout *l = bp_phd_layout_at(w->t, n);
		const enum bp_slot slot = bp_phd_layout_slot(w->t, n);

		if (slot == BP_SLOT_LIVE && layout_possible(l)) {
			bp_index_add(&w->layout_index, bp_phd_layout_hash(l), n);
			w->live_layouts++;
		} else if (slot == BP_SLOT_FREE) {
			bp_reuse_give(&w->layouts, n);
		} else { /* RETIRED is as it should be */
			o->mended += slot != BP_SLOT_RETIRED;
			bp_phd_layout_slot_set(w->t, n, BP_SLOT_RETIRED);
			bp_reuse_retire(&w->layouts, n);
		}
	}
}

static void load_users(struct load *o)
{
	const struct bp_phd_tables *t = o->w->t;
	uint32_t *users = calloc((size_t)t->max_layouts + 1, sizeof(*users));

	if (!users) {
		o->mended = UINT64_MAX;
		return;
	}
	for (uint32_t slot = 0; slot < t->n_slots; slot++) {
		const uint64_t word =
			atomic_load_explicit(&t->sessions[slot].word, memory_order_relaxed);
		const uint16_t n = bp_phd_word_layout(word);

		if (bp_phd_word_state(word) != BP_PHD_FREE && n < t->max_layouts)
			users[n]++;
	}
	for (uint32_t n = 0; n < t->max_layouts; n++) {
		struct bp_phd_layout *l = bp_phd_layout_at(t, n);

		if (bp_phd_layout_slot(t, n) != BP_SLOT_LIVE)
			continue;
		if (l->users != users[n]) {
			bp_phd_store32(&l->users, users[n]);
			o->mended++;
		}
		if (users[n] == 0)
			bp_phd_layout_retire(o->w, n);
	}
	free(users);
}

/* ---- sessions ---- */

static bool word_possible(const struct bp_phd_tables *t, uint64_t word)
{
	const enum bp_phd_state state = bp_phd_word_state(word);
	const uint16_t layout = bp_phd_word_layout(word);

	if (state < BP_PHD_WAITING || state > BP_PHD_RELEASING ||
		bp_phd_word_own(word) >= t->control->own_n)
		return false;
	if (layout == BP_PHD_NO_LAYOUT)
		return state != BP_PHD_OPERATING;
	return layout < t->max_layouts && bp_phd_layout_slot(t, layout) == BP_SLOT_LIVE;
}

/* Frees a slot, whatever its contents. */
static void drop(struct load *o, uint32_t slot)
{
	struct bp_phd_tables *t = o->w->t;
	struct bp_phd_session *s = &t->sessions[slot];
	const uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);

	if (bp_phd_word_state(word) != BP_PHD_FREE) {
		bp_phd_store64(&s->word, word & ~0xffffffffull);
		o->mended++;
	}
	if (bp_phd_tag_at(t, slot) != 0) {
		bp_phd_tag_set(t, slot, 0);
		o->mended++;
	}
	/* No reader uses a slot that was never used. */
	if (word != 0)
		bp_phd_slot_retire(o->w, slot);
}

static void load_session(struct load *o, uint32_t slot)
{
	struct bp_phd_tables *t = o->w->t;
	struct bp_phd_session *s = &t->sessions[slot];
	const uint64_t word = atomic_load_explicit(&s->word, memory_order_acquire);
	const uint32_t group = slot / BP_PHD_WAYS;
	uint64_t hash;

	if (bp_phd_word_state(word) == BP_PHD_FREE || !word_possible(t, word)) {
		drop(o, slot);
		return;
	}
	hash = bp_phd_hash_of(t, s);
	if (group != bp_phd_group1(t, hash) && group != bp_phd_group2(t, hash)) {
		drop(o, slot);
		return;
	}
	if (bp_phd_tag_at(t, slot) != bp_phd_tag(hash)) {
		bp_phd_tag_set(t, slot, bp_phd_tag(hash));
		o->mended++;
	}
}

/* Runs when all tags are correct: detects duplicate sessions, and counts sessions outside their
 * first group. */
static void load_place(struct load *o, uint32_t slot)
{
	struct bp_phd_tables *t = o->w->t;
	struct bp_phd_session *s = &t->sessions[slot];
	const uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
	uint32_t home;

	if (bp_phd_word_state(word) == BP_PHD_FREE)
		return;
	home = bp_phd_group1(t, bp_phd_hash_of(t, s));
	if (home != slot / BP_PHD_WAYS)
		o->elsewhere[home]++;
}

static void load_other_worker(struct load *o)
{
	struct bp_phd_tables *t = o->w->t;

	for (uint32_t slot = 0; slot < t->n_slots; slot++)
		load_place(o, slot);
	for (uint32_t group = 0; group < t->n_groups; group++) {
		const uint32_t n =
			o->elsewhere[group] < UINT16_MAX ? o->elsewhere[group] : UINT16_MAX;

		if (bp_phd_other_worker(t, group) == n)
			continue;
		bp_phd_other_worker_set(t, group, (uint16_t)n);
		o->mended++;
	}
}

static void drop_doubles(struct load *o)
{
	struct bp_phd_tables *t = o->w->t;

	for (uint32_t slot = 0; slot < t->n_slots; slot++) {
		struct bp_phd_session *s = &t->sessions[slot];
		const uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
		uint32_t found;

		if (bp_phd_word_state(word) == BP_PHD_FREE)
			continue;
		if (bp_phd_find(t, bp_phd_hash_of(t, s), s->address, s->port, s->transport,
			    &found) != 0 ||
			found != slot) {
			const uint32_t home = bp_phd_group1(t, bp_phd_hash_of(t, s));

			drop(o, slot);
			if (home != slot / BP_PHD_WAYS)
				bp_phd_other_worker_set(
					t, home, (uint16_t)(bp_phd_other_worker(t, home) - 1));
		}
	}
}

static void figures(struct bp_phd_writer *w)
{
	struct bp_phd_control *c = w->t->control;

	for (uint32_t slot = 0; slot < w->t->n_slots; slot++)
		bp_phd_figures(w, slot,
			atomic_load_explicit(&w->t->sessions[slot].word, memory_order_relaxed));
	bp_phd_store32(&c->sessions, w->sessions);
	bp_phd_store32(&c->operating, w->operating);
	bp_phd_store32(&c->unready, w->unready);
	bp_phd_store32(&c->layouts, w->live_layouts);
}

uint64_t bp_phd_load(struct bp_phd_writer *w)
{
	struct load o = {.w = w};

	if (w->t->n_slots == 0)
		return 0;
	o.elsewhere = calloc(w->t->n_groups, sizeof(*o.elsewhere));
	if (!o.elsewhere)
		return UINT64_MAX;
	if (w->t->control->own_n > BP_PHD_OWN_MAX) {
		bp_phd_store32(&w->t->control->own_n, 0);
		o.mended++;
	}
	load_layouts(&o);
	for (uint32_t slot = 0; slot < w->t->n_slots; slot++)
		load_session(&o, slot);
	load_other_worker(&o);
	drop_doubles(&o);
	load_users(&o);
	if (o.mended != UINT64_MAX)
		figures(w);
	free(o.elsewhere);
	return o.mended;
}

uint32_t bp_phd_writer_check(
	struct bp_phd_writer *w, bool (*valid)(const struct bp_phd_layout *layout))
{
	const struct bp_phd_tables *t = w->t;
	uint8_t *bad = calloc((size_t)t->max_layouts + 1, 1);
	uint32_t closed = 0;

	for (uint32_t n = 0; bad && n < t->max_layouts; n++)
		bad[n] = bp_phd_layout_slot(t, n) == BP_SLOT_LIVE && !valid(bp_phd_layout_at(t, n));
	for (uint32_t slot = 0; slot < t->n_slots; slot++) {
		const uint64_t word =
			atomic_load_explicit(&t->sessions[slot].word, memory_order_relaxed);
		const struct bp_phd_layout *l = bp_phd_layout_of(t, word);
		bool ok;

		if (bp_phd_word_state(word) == BP_PHD_FREE || !l)
			continue;
		/* without memory, the layout of each session is validated separately */
		ok = bad ? !bad[bp_phd_word_layout(word)] : valid(l);
		if (!ok) {
			bp_phd_session_close(w, slot);
			closed++;
		}
	}
	free(bad);
	return closed;
}
