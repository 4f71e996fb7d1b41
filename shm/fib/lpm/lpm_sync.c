/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/lpm/lpm_tree.h"

/*
 * Synchronisation of the segment with the trie
 * --------------------------------------------
 * Every change is the same step: the shape of a node is computed from the trie and compared with
 * the existing node. If every run of it exists there, words are stored in place; otherwise the node
 * is created again in free lines, and the word of its parent is stored last. So at any
 * interruption, an address leads to its old or to its new target; and the same step repairs any
 * earlier state (half-done work of an earlier writer, a prefix that did not fit).
 *
 * Without free lines the existing node keeps its shape: a run of it whose slots would have to
 * differ leads to BP_NH_PUNT. Such a run belongs to one prefix as a whole, since it would end with
 * that prefix. A shape with too many runs only costs memory, so deleting never fails.
 */

static void put(struct bp_lpm_writer *w, _Atomic uint32_t *at, uint32_t word)
{
	if (bp_lpm_load_word(at) == word)
		return;
	bp_lpm_store(at, word);
	w->stores++;
}

static void unlink_node(struct bp_lpm_writer *w, const struct bp_lpm_line *node)
{
	bp_lpm_lines_unlink(
		&w->lines, (uint32_t)(node - w->fib->lines), bp_lpm_lines_for(bp_lpm_runs(node)));
}

/* A node and all below it. */
static void unlink_tree(struct bp_lpm_writer *w, uint32_t word)
{
	const struct bp_lpm_line *node = bp_lpm_node(w->fib, word);
	const unsigned n = bp_lpm_runs(node);

	for (unsigned i = 0; i < n; i++) {
		uint32_t below = bp_lpm_load_word(bp_lpm_word(node, i));

		if (bp_lpm_is_link(below))
			unlink_tree(w, below);
	}
	unlink_node(w, node);
}

/* The target of a node, for the functions below. */
struct job {
	struct bp_lpm_writer *w;
	struct bp_lpm_family *family;
	unsigned start; /* of the node */
	const struct bp_lpm_shape *shape;
	const struct bp_lpm_scope *scope;
};

/* The word for a run; `old` is the existing word, or 0. */
static uint32_t resolve(const struct job *j, const struct bp_lpm_run *r, uint32_t old)
{
	const struct bp_lpm_scope all = {0, BP_LPM_SLOTS - 1, j->scope->length};
	const struct bp_rib_position at = {r->below, r->nexthop};

	if (r->below == 0)
		return r->nexthop;
	if (!bp_lpm_is_link(old))
		old = 0;
	else if (r->slot < j->scope->lo || r->slot > j->scope->hi ||
		 r->owner_length > j->scope->length)
		return old;
	return bp_lpm_sync_node(j->w, j->family, old, j->start + BP_LPM_STRIDE, at, &all);
}

/* The slot after the run that begins at `slot`. */
static unsigned run_end(const uint64_t runs[4], unsigned slot)
{
	for (slot++; slot < BP_LPM_SLOTS; slot = (slot | 63) + 1) {
		uint64_t rest = runs[slot / 64] >> (slot % 64);

		if (rest != 0)
			return slot + (unsigned)__builtin_ctzll(rest);
	}
	return BP_LPM_SLOTS;
}

static void sync_in_place(const struct job *j, struct bp_lpm_line *node)
{
	const struct bp_lpm_shape *s = j->shape;
	unsigned i = 0, r = 0;

	for (unsigned slot = 0, end; slot < BP_LPM_SLOTS; slot = end, i++) {
		_Atomic uint32_t *at = bp_lpm_word(node, i);
		uint32_t old = bp_lpm_load_word(at), word = BP_NH_PUNT;

		end = run_end(node->runs, slot);
		while (r + 1 < s->n && s->run[r + 1].slot <= slot)
			r++;
		if (r + 1 == s->n || s->run[r + 1].slot >= end)
			word = resolve(j, &s->run[r], old);
		else
			j->w->full = true;
		put(j->w, at, word);
		if (bp_lpm_is_link(old) && !bp_lpm_is_link(word))
			unlink_tree(j->w, old);
	}
}

/* The nodes below a replaced node that have no slot in the new one. */
static void unlink_rest(const struct job *j, const struct bp_lpm_line *node)
{
	const struct bp_lpm_shape *s = j->shape;
	unsigned i = 0, r = 0;

	for (unsigned slot = 0; slot < BP_LPM_SLOTS; slot = run_end(node->runs, slot), i++) {
		uint32_t old = bp_lpm_load_word(bp_lpm_word(node, i));

		while (r + 1 < s->n && s->run[r + 1].slot <= slot)
			r++;
		if (bp_lpm_is_link(old) && s->run[r].below == 0)
			unlink_tree(j->w, old);
	}
}

/* In lines that readers cannot reach. */
static void build_node(
	const struct job *j, struct bp_lpm_line *made, const struct bp_lpm_line *node)
{
	const struct bp_lpm_shape *s = j->shape;
	unsigned before = 0;

	for (unsigned i = 0; i < 4; i++) {
		made->runs[i] = s->runs[i];
		made->before[i] = (uint8_t)before;
		before += (unsigned)__builtin_popcountll(s->runs[i]);
	}
	for (unsigned i = 0; i < s->n; i++) {
		const struct bp_lpm_run *r = &s->run[i];
		uint32_t old = 0;

		if (node != NULL && r->below != 0)
			old = bp_lpm_load_word(bp_lpm_word(node, bp_lpm_run(node, r->slot)));
		bp_lpm_store(bp_lpm_word(made, i), resolve(j, r, old));
	}
}

static bool has_all_runs(const struct bp_lpm_line *node, const struct bp_lpm_shape *s)
{
	return ((s->runs[0] & ~node->runs[0]) | (s->runs[1] & ~node->runs[1]) |
		       (s->runs[2] & ~node->runs[2]) | (s->runs[3] & ~node->runs[3])) == 0;
}

uint32_t bp_lpm_sync_node(struct bp_lpm_writer *w, struct bp_lpm_family *family, uint32_t word,
	unsigned start, struct bp_rib_position at, const struct bp_lpm_scope *scope)
{
	struct bp_lpm_shape *s = &w->shape[(start - BP_LPM6_ROOT_BITS) / BP_LPM_STRIDE];
	const struct job j = {w, family, start, s, scope};
	struct bp_lpm_line *node = bp_lpm_is_link(word) ? bp_lpm_node(w->fib, word) : NULL;
	unsigned lines, lines_now;
	uint32_t first;

	bp_lpm_shape(s, &family->rib, start, at);
	lines = bp_lpm_lines_for(s->n);
	lines_now = node != NULL ? bp_lpm_lines_for(bp_lpm_runs(node)) : 0;
	if (lines_now != 0 && lines >= lines_now && has_all_runs(node, s)) {
		sync_in_place(&j, node);
		return word;
	}
	first = bp_lpm_lines_take(&w->lines, lines);
	if (first == BP_LPM_NO_LINE && node != NULL) {
		sync_in_place(&j, node);
		return word;
	}
	if (first == BP_LPM_NO_LINE) {
		w->full = true;
		return BP_NH_PUNT;
	}
	build_node(&j, &w->fib->lines[first], node);
	if (node != NULL) {
		unlink_rest(&j, node);
		unlink_node(w, node);
	}
	return BP_LPM_LINK | first;
}

/* ---- roots ---- */

struct root_job {
	struct bp_lpm_writer *w;
	struct bp_lpm_family *family;
	const struct bp_lpm_scope *scope;
};

static void root_run(
	struct bp_lpm_painter *p, uint32_t lo, uint32_t hi, uint32_t owner, uint32_t nexthop)
{
	const struct root_job *j = p->arg;

	(void)owner;
	for (uint32_t slot = lo; slot <= hi; slot++) {
		uint32_t old = bp_lpm_load_word(&j->family->root[slot]);

		if (old == nexthop)
			continue;
		put(j->w, &j->family->root[slot], nexthop);
		if (bp_lpm_is_link(old))
			unlink_tree(j->w, old);
	}
}

static void root_below(
	struct bp_lpm_painter *p, uint32_t slot, uint32_t owner, uint32_t nexthop, uint32_t below)
{
	const struct root_job *j = p->arg;
	const struct bp_lpm_scope all = {0, BP_LPM_SLOTS - 1, j->scope->length};
	_Atomic uint32_t *at = &j->family->root[slot];
	uint32_t old = bp_lpm_load_word(at);

	if (bp_lpm_is_link(old) && p->rib->node[owner].length > j->scope->length)
		return;
	put(j->w, at,
		bp_lpm_sync_node(j->w, j->family, old, j->family->root_bits,
			(struct bp_rib_position){below, nexthop}, &all));
}

void bp_lpm_sync_root(struct bp_lpm_writer *w, struct bp_lpm_family *family,
	struct bp_rib_position at, const struct bp_lpm_scope *scope)
{
	struct root_job j = {w, family, scope};
	struct bp_lpm_painter p = {.rib = &family->rib,
		.bits = family->root_bits,
		.settled = scope->length,
		.run = root_run,
		.below = root_below,
		.arg = &j};

	bp_lpm_paint(&p, scope->lo, scope->hi, at);
}
