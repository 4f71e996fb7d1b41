/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/health/phd_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/health/phd_writer_parts.h"

/*
 * Order of stores. Open: the entry, its word, the group's count of sessions elsewhere, its tag.
 * Close: the word is set to FREE, then the tag is cleared, then the count. So a tag leads to a
 * complete session or to FREE, and a writer that dies leaves a session without its tag, a tag
 * without its session, or a count that is too high: a lookup is correct in all of these states.
 */

/* A session goes to its second group only when the first has this number and the second has fewer.
 * With four fifths of the slots in use both are full for about one session in a million, and one
 * lookup in six reads a second line of tags. */
#define CROWDED 9

void bp_phd_tag_set(struct bp_phd_tables *t, uint32_t slot, uint16_t tag)
{
	const unsigned way = slot % BP_PHD_WAYS, shift = 16 * (way % 4);
	_Atomic uint64_t *tags = &t->groups[slot / BP_PHD_WAYS].tags[way / 4];
	const uint64_t old = atomic_load_explicit(tags, memory_order_relaxed);

	bp_phd_store64(tags, (old & ~(0xffffull << shift)) | (uint64_t)tag << shift);
}

void bp_phd_other_worker_set(struct bp_phd_tables *t, uint32_t group, uint16_t n)
{
	_Atomic uint64_t *tags = &t->groups[group].tags[3];
	const uint64_t old = atomic_load_explicit(tags, memory_order_relaxed);

	bp_phd_store64(tags, (old & 0xffffffffffffull) | (uint64_t)n << 48);
}

/* ---- figures ---- */

static void count(struct bp_phd_writer *w, uint8_t *note, uint8_t bit, bool is, uint32_t *figure,
	_Atomic uint32_t *shown)
{
	if (((*note & bit) != 0) == is)
		return;
	*note ^= bit;
	*figure += is ? 1 : UINT32_MAX;
	bp_phd_store32(shown, *figure);
}

void bp_phd_figures(struct bp_phd_writer *w, uint32_t slot, uint64_t word)
{
	struct bp_phd_control *c = w->t->control;
	const enum bp_phd_state state = bp_phd_word_state(word);
	const bool operating = state == BP_PHD_OPERATING;
	const bool ready = (bp_phd_word_flags(word) & BP_PHD_READY) != 0;
	uint8_t *note = &w->note[slot];

	count(w, note, BP_PHD_NOTE_SESSION, state != BP_PHD_FREE, &w->sessions, &c->sessions);
	count(w, note, BP_PHD_NOTE_OPERATING, operating, &w->operating, &c->operating);
	count(w, note, BP_PHD_NOTE_UNREADY, operating && !ready, &w->unready, &c->unready);
}

/* ---- sessions ---- */

/* The ways of a group that may be taken, a bit each. */
static uint32_t free_ways(const struct bp_phd_writer *w, uint32_t group)
{
	uint32_t ways = 0;

	for (uint32_t i = 0; i < BP_PHD_WAYS; i++) {
		const uint32_t slot = group * BP_PHD_WAYS + i;

		if (bp_phd_tag_at(w->t, slot) == 0 && (w->note[slot] & BP_PHD_NOTE_RETIRED) == 0)
			ways |= 1u << i;
	}
	return ways;
}

/* One of these ways; a slot whose device may repeat a report is used only if all are such. */
static uint32_t choose(const struct bp_phd_writer *w, uint32_t group, uint32_t ways)
{
	for (uint32_t left = ways; left != 0; left &= left - 1) {
		const uint32_t slot = group * BP_PHD_WAYS + (uint32_t)__builtin_ctz(left);
		const struct bp_phd_session *s = &w->t->sessions[slot];

		if (s->unanswered == BP_PHD_ANSWERED ||
			atomic_load_explicit(&s->sent, memory_order_relaxed) == 0)
			return slot;
	}
	return group * BP_PHD_WAYS + (uint32_t)__builtin_ctz(ways);
}

static bool place(const struct bp_phd_writer *w, uint64_t hash, uint32_t *slot)
{
	const uint32_t first = bp_phd_group1(w->t, hash), second = bp_phd_group2(w->t, hash);
	const uint32_t a = free_ways(w, first);
	uint32_t group = first, ways = a;

	if (__builtin_popcount(a) <= BP_PHD_WAYS - CROWDED &&
		bp_phd_other_worker(w->t, first) < UINT16_MAX) {
		const uint32_t b = free_ways(w, second);

		if (__builtin_popcount(b) > __builtin_popcount(a)) {
			group = second;
			ways = b;
		}
	}
	if (ways == 0)
		return false;
	*slot = choose(w, group, ways);
	return true;
}

/* Index of an address of this host; false: too many addresses. */
static bool own_index(struct bp_phd_control *c, const uint8_t own[16], uint8_t *index)
{
	const uint32_t n = atomic_load_explicit(&c->own_n, memory_order_relaxed);

	for (uint32_t i = 0; i < n && i < BP_PHD_OWN_MAX; i++) {
		if (memcmp(c->own[i], own, 16) == 0) {
			*index = (uint8_t)i;
			return true;
		}
	}
	if (n >= BP_PHD_OWN_MAX)
		return false;
	bp_phd_store_bytes(c->own[n], own, 16);
	bp_phd_store32(&c->own_n, n + 1);
	*index = (uint8_t)n;
	return true;
}

/* Writes all of the entry except its word, which is FREE. `sent` is 0 while the related fields
 * change: a successor of this process also reads it in free slots. */
static void fill(struct bp_phd_session *at, const struct bp_phd_session_spec *s)
{
	enum { BEHIND = offsetof(struct bp_phd_session, system_id) };
	struct bp_phd_session e;

	memset(&e, 0, sizeof(e));
	memcpy(e.address, s->address, sizeof(e.address));
	memcpy(e.system_id, s->system_id, sizeof(e.system_id));
	atomic_store_explicit(&e.last, s->carried.last, memory_order_relaxed);
	e.unanswered = s->carried.sent != 0 ? BP_PHD_UNANSWERED : BP_PHD_ANSWERED;
	e.origin = s->carried.origin;
	e.associated_s = s->associated_s;
	atomic_store_explicit(&e.reports, s->reports, memory_order_relaxed);
	e.port = s->port;
	e.transport = s->transport;
	e.deadline_s = s->deadline_s;
	e.config_id = s->config_id;
	e.spec = s->spec;
	e.protocol = s->protocol;
	e.provision = s->provision;
	e.mds_known = s->mds_known;
	e.config_content = s->config_content;
	e.aarq_hash = s->aarq_hash;
	e.config_hash = s->config_hash;
	e.opened_ns = s->opened_ns;
	bp_phd_store64(&at->sent, 0);
	bp_phd_store_bytes(at->address, e.address, sizeof(e.address));
	bp_phd_store_bytes((char *)at + BEHIND, (const char *)&e + BEHIND, sizeof(e) - BEHIND);
	if (s->carried.sent != 0)
		bp_phd_store64(&at->sent, s->carried.sent);
}

/*
 * Changes with each use of the slot. The first value differs between segments: after the loss of a
 * segment, with a clock that also restarts, no instance may get a name from before.
 */
static uint16_t next_life(const struct bp_phd_tables *t, uint32_t slot, uint64_t word)
{
	if (word == 0)
		return (uint16_t)(bp_mix64(t->hash_key[0] ^ slot) | 1);
	return (uint16_t)(bp_phd_word_life(word) + 1);
}

int bp_phd_session_open(
	struct bp_phd_writer *w, const struct bp_phd_session_spec *s, uint32_t *slot)
{
	struct bp_phd_tables *t = w->t;
	const uint64_t hash = bp_phd_hash(t->hash_key, s->address, s->port, s->transport);
	bool room = w->sessions < t->max_sessions && place(w, hash, slot);
	struct bp_phd_session *e;
	uint64_t word;
	uint32_t home;
	uint8_t own;

	if (!room && w->sessions < t->max_sessions) { /* much was closed just now */
		bp_phd_writer_settle(w);
		room = place(w, hash, slot);
	}
	if (!room || !own_index(t->control, s->own, &own)) {
		bp_phd_store32(&t->control->refused, t->control->refused + 1);
		return -1;
	}
	e = &t->sessions[*slot];
	home = bp_phd_group1(t, hash);
	word = atomic_load_explicit(&e->word, memory_order_relaxed);
	word = bp_phd_word(
		(enum bp_phd_state)s->state, s->flags, s->layout, next_life(t, *slot, word), own);
	fill(e, s);
	bp_phd_layout_use(w, s->layout);
	bp_phd_store64(&e->word, word);
	if (*slot / BP_PHD_WAYS != home)
		bp_phd_other_worker_set(t, home, (uint16_t)(bp_phd_other_worker(t, home) + 1));
	bp_phd_tag_set(t, *slot, bp_phd_tag(hash));
	bp_phd_figures(w, *slot, word);
	return 0;
}

/* Replaces the bits of `mask`, also while workers change the others. Returns the new word, and the
 * former word in *old. */
static uint64_t word_change(struct bp_phd_session *s, uint64_t mask, uint64_t bits, uint64_t *old)
{
	uint64_t to;

	*old = atomic_load_explicit(&s->word, memory_order_relaxed);
	bp_phd_before_store();
	do {
		to = (*old & ~mask) | bits;
	} while (!atomic_compare_exchange_weak_explicit(
		&s->word, old, to, memory_order_release, memory_order_relaxed));
	return to;
}

void bp_phd_session_word(struct bp_phd_writer *w, uint32_t slot, enum bp_phd_state state,
	uint8_t flags, uint16_t layout)
{
	struct bp_phd_session *s = &w->t->sessions[slot];
	uint64_t old, word;

	bp_phd_layout_use(w, layout);
	word = word_change(s, 0xffffffffull, bp_phd_word(state, flags, layout, 0, 0), &old);
	bp_phd_layout_leave(w, bp_phd_word_layout(old));
	bp_phd_figures(w, slot, word);
}

void bp_phd_session_layout(struct bp_phd_writer *w, uint32_t slot, uint16_t layout)
{
	uint64_t old;

	bp_phd_layout_use(w, layout);
	word_change(&w->t->sessions[slot], 0xffff0000ull, (uint64_t)layout << 16, &old);
	bp_phd_layout_leave(w, bp_phd_word_layout(old));
}

void bp_phd_session_flags(struct bp_phd_writer *w, uint32_t slot, uint8_t set, uint8_t clear)
{
	uint64_t old;
	const uint64_t word = word_change(
		&w->t->sessions[slot], (uint64_t)(set | clear) << 8, (uint64_t)set << 8, &old);

	bp_phd_figures(w, slot, word);
}

void bp_phd_slot_retire(struct bp_phd_writer *w, uint32_t slot)
{
	w->note[slot] |= BP_PHD_NOTE_RETIRED;
	bp_reuse_retire(&w->slots, slot);
}

void bp_phd_session_close(struct bp_phd_writer *w, uint32_t slot)
{
	struct bp_phd_tables *t = w->t;
	struct bp_phd_session *s = &t->sessions[slot];
	const uint32_t home = bp_phd_group1(t, bp_phd_hash_of(t, s));
	uint64_t old, word;

	word = word_change(s, 0xffffffffull, bp_phd_word(BP_PHD_FREE, 0, 0, 0, 0), &old);
	bp_phd_tag_set(t, slot, 0);
	if (slot / BP_PHD_WAYS != home)
		bp_phd_other_worker_set(t, home, (uint16_t)(bp_phd_other_worker(t, home) - 1));
	bp_phd_layout_leave(w, bp_phd_word_layout(old));
	bp_phd_figures(w, slot, word);
	bp_phd_slot_retire(w, slot);
}

/* ---- the rest ---- */

void bp_phd_settings_publish(struct bp_phd_writer *w, const struct bp_phd_settings *plan)
{
	struct bp_phd_control *c = w->t->control;
	const uint64_t odd =
		atomic_load_explicit(&c->settings_generation, memory_order_relaxed) | 1;

	bp_phd_store64(&c->settings_generation, odd);
	atomic_thread_fence(memory_order_release);
	bp_phd_store_bytes(&c->plan, plan, sizeof(*plan));
	bp_phd_store64(&c->settings_generation, odd + 1);
}

void bp_phd_writer_settle(struct bp_phd_writer *w)
{
	uint32_t slot;

	while (bp_reuse_passed(&w->slots, &w->epoch, &slot))
		w->note[slot] &= (uint8_t)~BP_PHD_NOTE_RETIRED;
	bp_phd_layouts_settle(w);
}

struct bp_phd_writer *bp_phd_writer_new(struct bp_phd_tables *t, const struct bp_fib *epochs,
	bool (*readers_gone)(void *arg), void *arg, char *err, size_t err_size)
{
	struct bp_phd_writer *w = calloc(1, sizeof(*w));
	uint64_t mended = UINT64_MAX;

	if (w) {
		w->t = t;
		bp_epoch_init(&w->epoch, epochs, readers_gone, arg);
		w->note = calloc(t->n_slots + 1, 1);
		if (w->note && bp_reuse_init(&w->slots, t->n_slots + 1) &&
			bp_reuse_init(&w->layouts, t->max_layouts + 1) &&
			bp_index_init(&w->layout_index, t->max_layouts + 1))
			mended = bp_phd_load(w);
	}
	if (mended == UINT64_MAX) {
		snprintf(err, err_size, "no memory for the writer of %u sessions", t->n_slots);
		bp_phd_writer_free(w);
		return NULL;
	}
	if (mended != 0)
		bp_phd_store64(&t->control->repairs, t->control->repairs + mended);
	return w;
}

void bp_phd_writer_free(struct bp_phd_writer *w)
{
	if (!w)
		return;
	free(w->note);
	bp_reuse_free(&w->slots);
	bp_reuse_free(&w->layouts);
	bp_index_free(&w->layout_index);
	free(w);
}
