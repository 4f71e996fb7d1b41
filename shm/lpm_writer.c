/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lpm_writer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/lpm_lines.h"
#include "shm/rib.h"

/* A writer that takes over gives workers so long to leave what its predecessor had retired. */
#define GRACE_POLLS 20000u
#define GRACE_POLL_NS 50000

struct family {
	struct bp_rib rib;
	_Atomic uint32_t *root;
	unsigned depth;        /* bits that the root table decides */
	bool default_shadowed; /* what no prefix covers leads to BP_NH_PUNT */
};

struct bp_lpm_writer {
	struct bp_fib *fib;
	struct bp_epoch *epoch;
	struct bp_lpm_lines lines;
	struct family family[2]; /* IPv4, IPv6 */
	uint64_t mended;
};

static struct family *family_of(struct bp_lpm_writer *w, uint8_t family)
{
	return &w->family[family == 6];
}

static bool is_in_segment(const struct family *f, const struct bp_rib_node *n)
{
	return n->depth >= f->depth;
}

struct bp_lpm_writer *bp_lpm_writer_new(struct bp_fib *f, struct bp_epoch *e)
{
	struct bp_lpm_writer *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->fib = f;
	w->epoch = e;
	w->family[0] = (struct family){.root = f->lpm4_root, .depth = 24};
	w->family[1] = (struct family){.root = f->lpm6_root, .depth = 16};
	bp_lpm_lines_init(&w->lines, f->max_lines, e);
	if (bp_rib_init(&w->family[0].rib) && bp_rib_init(&w->family[1].rib))
		return w;
	bp_lpm_writer_free(w);
	return NULL;
}

void bp_lpm_writer_free(struct bp_lpm_writer *w)
{
	if (w == NULL)
		return;
	bp_rib_free(&w->family[0].rib);
	bp_rib_free(&w->family[1].rib);
	bp_lpm_lines_free(&w->lines);
	free(w);
}

/* ---- stores that readers see ---- */

static void store(struct bp_lpm_writer *w, _Atomic uint32_t *at, uint32_t value)
{
	if (atomic_load_explicit(at, memory_order_relaxed) == value)
		return;
	/* what a child reference leads to must be there before it */
	atomic_store_explicit(at, value, memory_order_release);
	w->mended++;
}

static struct bp_lpm_node *node_at(const struct bp_lpm_writer *w, const struct bp_rib_node *n)
{
	return bp_lpm_node_at(w->fib, n->line);
}

static void set_best(struct bp_lpm_writer *w, const struct bp_rib_node *n, uint32_t best)
{
	store(w, &node_at(w, n)->best, best);
}

/* Entry of the root table for a slot of a node just above it. */
static uint32_t root_index(const struct bp_rib_node *n, uint32_t slot)
{
	uint32_t index = slot;

	for (uint32_t shift = 8; n->parent != NULL; n = n->parent, shift += 8)
		index |= (uint32_t)n->slot << shift;
	return index;
}

/* ---- the part that the root table holds ---- */

static void fill(
	struct bp_lpm_writer *w, struct family *f, uint32_t first, uint32_t n, uint32_t value)
{
	for (uint32_t i = first; i < first + n; i++)
		store(w, &f->root[i], value);
}

/* Slots first..last of a node above the root table's depth, and all below them. */
static void flatten(struct bp_lpm_writer *w, struct family *f, const struct bp_rib_node *n,
	uint32_t first, uint32_t last, uint32_t inherited)
{
	uint32_t slots[BP_LPM_SLOTS], below = 1u << (f->depth - n->depth - 8), next = 0;

	bp_rib_paint(n, inherited, slots);
	for (uint32_t s = first; s <= last; s++) {
		const struct bp_rib_node *child = NULL;
		uint32_t index = root_index(n, s) << (f->depth - n->depth - 8);

		while (next < n->n_children && n->child_slot[next] < s)
			next++;
		if (next < n->n_children && n->child_slot[next] == s)
			child = n->child[next];
		if (below != 1) {
			if (child != NULL)
				flatten(w, f, child, 0, BP_LPM_SLOTS - 1, slots[s]);
			else
				fill(w, f, index, below, slots[s]);
		} else if (child != NULL && child->line != 0) {
			set_best(w, child, slots[s]);
			store(w, &f->root[index], BP_LPM_CHILD | child->line);
		} else {
			store(w, &f->root[index], slots[s]);
		}
	}
}

/* What a node's slots inherit from the prefixes above it. */
static uint32_t inherited_by(const struct family *f, struct bp_rib_node *n)
{
	uint16_t cover;
	const struct bp_rib_route *r;

	if (n->parent == NULL)
		return f->default_shadowed ? BP_NH_PUNT : BP_NH_NONE;
	n = bp_rib_cover(n->parent, (uint16_t)((0x100 | n->slot) << 1), &cover);
	r = bp_rib_route(n, cover);
	if (r == NULL)
		return f->default_shadowed ? BP_NH_PUNT : BP_NH_NONE;
	return r->shadowed ? BP_NH_PUNT : r->nexthop;
}

/* ---- nodes in the segment ---- */

/* What a node must say; `best`: of each of its children. */
static void desired(const struct bp_rib_node *n, uint32_t slots[BP_LPM_SLOTS], uint32_t *best)
{
	bp_rib_paint(n, 0, slots);
	for (uint32_t i = 0; i < n->n_children; i++) {
		best[i] = slots[n->child_slot[i]];
		if (n->child[i]->line != 0)
			slots[n->child_slot[i]] = BP_LPM_CHILD | n->child[i]->line;
	}
}

static void set_bests(struct bp_lpm_writer *w, const struct bp_rib_node *n, const uint32_t *best)
{
	for (uint32_t i = 0; i < n->n_children; i++)
		if (n->child[i]->line != 0)
			set_best(w, n->child[i], best[i]);
}

/* Each run gets the value of its first slot. */
static void store_values(
	struct bp_lpm_writer *w, struct bp_lpm_node *node, const uint32_t slots[BP_LPM_SLOTS])
{
	uint32_t k = 0;

	for (unsigned word = 0; word < 4; word++)
		for (uint64_t bits = node->begins[word]; bits != 0; bits &= bits - 1)
			store(w, &node->value[k++],
				slots[64 * word + (unsigned)__builtin_ctzll(bits)]);
}

/* Makes whoever refers to a node refer to where it is now. */
static void publish(struct bp_lpm_writer *w, struct family *f, const struct bp_rib_node *n)
{
	const struct bp_rib_node *p = n->parent;

	if (!is_in_segment(f, p)) {
		store(w, &f->root[root_index(p, n->slot)], BP_LPM_CHILD | n->line);
	} else {
		struct bp_lpm_node *node = node_at(w, p);

		store(w, &node->value[bp_lpm_node_index(node, n->slot)], BP_LPM_CHILD | n->line);
	}
}

static void count_lines(struct bp_lpm_writer *w)
{
	atomic_store_explicit(
		&w->fib->control->lines, w->fib->max_lines - w->lines.free, memory_order_relaxed);
}

/* Puts the node at other lines. `old` readers may be in the one before. */
static bool move_node(struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n,
	const struct bp_lpm_shape *shape, const uint32_t slots[BP_LPM_SLOTS], const uint32_t *best)
{
	uint32_t lines = bp_lpm_node_lines(shape->n), old = n->line, old_lines = n->lines;
	uint32_t line = bp_lpm_lines_take(&w->lines, lines), own_best = 0;

	if (line == 0)
		return false;
	if (old != 0)
		own_best = atomic_load_explicit(&node_at(w, n)->best, memory_order_relaxed);
	bp_lpm_node_write(bp_lpm_node_at(w->fib, line), shape, own_best, slots);
	set_bests(w, n, best);
	n->line = line;
	n->lines = lines;
	if (old != 0) {
		publish(w, f, n);
		bp_lpm_lines_retire(&w->lines, old, old_lines);
	}
	count_lines(w);
	return true;
}

/* Makes the node in the segment say what the trie says; for a new one that nobody refers to yet,
 * its parent is next. False: no room, nothing has changed. When prefixes have only gone, the runs
 * that there are will do: that needs no room. */
static bool sync_node(
	struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n, bool only_gone)
{
	uint32_t slots[BP_LPM_SLOTS], best[BP_LPM_SLOTS];
	struct bp_lpm_shape shape;

	bp_rib_shape(n, &shape);
	desired(n, slots, best);
	if (n->line == 0 ||
		memcmp(node_at(w, n)->begins, shape.begins, sizeof(shape.begins)) != 0) {
		if (move_node(w, f, n, &shape, slots, best))
			return true;
		if (!only_gone)
			return false;
	}
	set_bests(w, n, best);
	store_values(w, node_at(w, n), slots);
	return true;
}

/* What lies directly below the root table is referred to by it. */
static void link_to_root(struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n)
{
	flatten(w, f, n->parent, n->slot, n->slot, inherited_by(f, n->parent));
}

/* From a node that has a new prefix upwards, as far as nodes are new. */
static bool sync_upwards(struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n)
{
	for (;; n = n->parent) {
		bool is_new = n->line == 0;

		if (!sync_node(w, f, n, false))
			return false;
		if (!is_new)
			return true;
		if (!is_in_segment(f, n->parent)) {
			link_to_root(w, f, n);
			return true;
		}
	}
}

/* A prefix of this node leads elsewhere; the prefixes are the same. */
static void refresh(struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n, uint16_t key)
{
	if (is_in_segment(f, n))
		sync_node(w, f, n, true);
	else
		flatten(w, f, n, bp_rib_first_slot(key), bp_rib_last_slot(key), inherited_by(f, n));
}

/* ---- refused prefixes ---- */

/* Looks again whether a refused prefix is right below this one. */
static void look_at_shadow(
	struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n, uint16_t key)
{
	struct bp_rib_route *r = bp_rib_route(n, key);
	bool *was = r != NULL ? &r->shadowed : &f->default_shadowed;
	bool is = bp_rib_is_shadowed(n, key);

	if (*was == is)
		return;
	*was = is;
	refresh(w, f, n, key);
}

static void look_at_cover(
	struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n, uint16_t key)
{
	uint16_t cover;
	struct bp_rib_node *of = bp_rib_cover(n, key, &cover);

	look_at_shadow(w, f, of, cover);
}

/* ---- nodes that are needed no more ---- */

static bool has_content(const struct bp_rib_node *n)
{
	for (uint32_t i = 0; i < n->n_routes; i++)
		if (!n->route[i].refused)
			return true;
	for (uint32_t i = 0; i < n->n_children; i++)
		if (n->child[i]->line != 0)
			return true;
	return false;
}

/* Takes a node out of the segment; its parent no longer refers to it when this returns. */
static void unlink_node(struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n)
{
	uint32_t line = n->line, lines = n->lines;

	n->line = n->lines = 0;
	if (!is_in_segment(f, n->parent))
		link_to_root(w, f, n);
	else
		sync_node(w, f, n->parent, true);
	bp_lpm_lines_retire(&w->lines, line, lines);
	count_lines(w);
}

/* After a prefix of `n` has gone: this node and those above it that held nothing else. */
static void shrink(struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n)
{
	while (n->parent != NULL) {
		struct bp_rib_node *parent = n->parent;

		if (n->line != 0 && !has_content(n))
			unlink_node(w, f, n);
		if (n->n_routes != 0 || n->n_children != 0)
			return;
		bp_rib_remove_node(n);
		n = parent;
	}
}

/* ---- the calls ---- */

static bool is_valid(const struct bp_prefix *p)
{
	return (p->family == 4 || p->family == 6) && p->length <= bp_address_bits(p->family);
}

/* Takes back what a prefix made that found no room: nobody has seen it. */
static void roll_back(struct bp_lpm_writer *w, struct bp_rib_node *n, uint16_t key,
	const struct bp_rib_node *made)
{
	bool above = false;

	bp_rib_remove(n, key);
	while (made != NULL && !above) {
		struct bp_rib_node *parent = n->parent;

		above = n == made;
		if (n->line != 0)
			bp_lpm_lines_give(&w->lines, n->line, n->lines);
		bp_rib_remove_node(n);
		n = parent;
	}
	count_lines(w);
}

static enum bp_fib_result add_refused(
	struct bp_lpm_writer *w, struct family *f, const struct bp_prefix *p)
{
	uint16_t key = bp_rib_key(p);
	struct bp_rib_node *made, *n = bp_rib_make_node(&f->rib, p, &made);

	if (n == NULL)
		return BP_FIB_NO_MEMORY;
	if (bp_rib_add(n, key, BP_NH_PUNT, true) == NULL) {
		shrink(w, f, n);
		return BP_FIB_NO_MEMORY;
	}
	look_at_cover(w, f, n, key);
	return BP_FIB_DONE;
}

static enum bp_fib_result remove_route(
	struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n, uint16_t key)
{
	bool refused = bp_rib_route(n, key)->refused;
	bool any_refused = f->rib.root->refused_below != 0;

	bp_rib_remove(n, key);
	if (!refused)
		refresh(w, f, n, key);
	if (any_refused)
		look_at_cover(w, f, n, key);
	shrink(w, f, n);
	return BP_FIB_DONE;
}

static enum bp_fib_result add_route(
	struct bp_lpm_writer *w, struct family *f, const struct bp_prefix *p, uint32_t nexthop)
{
	uint16_t key = bp_rib_key(p);
	struct bp_rib_node *made, *n = bp_rib_make_node(&f->rib, p, &made);
	struct bp_rib_route *r;

	if (n == NULL)
		return BP_FIB_NO_MEMORY;
	r = bp_rib_add(n, key, nexthop, false);
	if (r == NULL) {
		shrink(w, f, n);
		return BP_FIB_NO_MEMORY;
	}
	r->shadowed = n->refused_below != 0 && bp_rib_is_shadowed(n, key);
	if (!is_in_segment(f, n)) {
		refresh(w, f, n, key);
	} else if (!sync_upwards(w, f, n)) {
		roll_back(w, n, key, made);
		return BP_FIB_FULL;
	}
	if (f->rib.root->refused_below != 0)
		look_at_cover(w, f, n, key);
	return BP_FIB_DONE;
}

enum bp_fib_result bp_lpm_set(struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nexthop)
{
	struct family *f = family_of(w, p->family);
	uint16_t key;
	struct bp_rib_node *n;
	struct bp_rib_route *r;
	enum bp_fib_result result;

	if (!is_valid(p) || nexthop == BP_NH_NONE)
		return BP_FIB_INVALID;
	key = bp_rib_key(p);
	n = bp_rib_find_node(&f->rib, p);
	r = n != NULL ? bp_rib_route(n, key) : NULL;
	if (r != NULL && !r->refused) {
		if (r->nexthop == nexthop)
			return BP_FIB_SAME;
		r->nexthop = nexthop;
		refresh(w, f, n, key);
		return BP_FIB_DONE;
	}
	if (r != NULL) { /* it found no room before */
		bp_rib_remove(n, key);
		result = add_route(w, f, p, nexthop);
		if (result == BP_FIB_DONE)
			return result;
		return add_refused(w, f, p) == BP_FIB_DONE ? result : BP_FIB_NO_MEMORY;
	}
	result = add_route(w, f, p, nexthop);
	if (result == BP_FIB_FULL && add_refused(w, f, p) != BP_FIB_DONE)
		return BP_FIB_NO_MEMORY;
	return result;
}

enum bp_fib_result bp_lpm_delete(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct family *f = family_of(w, p->family);
	struct bp_rib_node *n;

	if (!is_valid(p))
		return BP_FIB_INVALID;
	n = bp_rib_find_node(&f->rib, p);
	if (n == NULL || bp_rib_route(n, bp_rib_key(p)) == NULL)
		return BP_FIB_ABSENT;
	return remove_route(w, f, n, bp_rib_key(p));
}

enum bp_fib_result bp_lpm_refuse(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct family *f = family_of(w, p->family);
	struct bp_rib_node *n;
	struct bp_rib_route *r;

	if (!is_valid(p))
		return BP_FIB_INVALID;
	n = bp_rib_find_node(&f->rib, p);
	r = n != NULL ? bp_rib_route(n, bp_rib_key(p)) : NULL;
	if (r != NULL && r->refused)
		return BP_FIB_SAME;
	if (r != NULL)
		remove_route(w, f, n, bp_rib_key(p));
	return add_refused(w, f, p);
}

bool bp_lpm_settle(struct bp_lpm_writer *w)
{
	bool waits = bp_lpm_lines_settle(&w->lines);

	count_lines(w);
	return waits;
}

uint32_t bp_lpm_free_lines(const struct bp_lpm_writer *w)
{
	return w->lines.free;
}

/* ---- taking over ---- */

enum bp_fib_result bp_lpm_load(struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nexthop)
{
	struct family *f = family_of(w, p->family);
	struct bp_rib_node *made, *n;
	struct bp_rib_route *r;

	if (!is_valid(p) || nexthop == BP_NH_NONE)
		return BP_FIB_INVALID;
	n = bp_rib_make_node(&f->rib, p, &made);
	if (n == NULL)
		return BP_FIB_NO_MEMORY;
	r = bp_rib_route(n, bp_rib_key(p));
	if (r != NULL)
		r->nexthop = nexthop;
	else if (bp_rib_add(n, bp_rib_key(p), nexthop, false) == NULL)
		return BP_FIB_NO_MEMORY;
	return BP_FIB_DONE;
}

static bool all_unmarked(const uint64_t *used, uint32_t line, uint32_t lines)
{
	for (uint32_t i = line; i < line + lines; i++)
		if (used[i / 64] >> i % 64 & 1)
			return false;
	return true;
}

/* The shape that a node will have: children count whether they have been found or not. */
static void final_shape(const struct bp_rib_node *n, struct bp_lpm_shape *s)
{
	uint64_t begins[4];

	bp_rib_shape(n, s);
	memcpy(begins, s->begins, sizeof(begins));
	for (uint32_t i = 0; i < n->n_children; i++)
		for (uint32_t slot = n->child_slot[i]; slot < n->child_slot[i] + 2u; slot++)
			if (slot < BP_LPM_SLOTS)
				begins[slot / 64] |= 1ull << slot % 64;
	bp_lpm_shape_make(s, begins);
}

/* Whether what `ref` leads to can stay as this node: then it and its lines are taken. */
static bool adopt_one(
	const struct bp_lpm_writer *w, struct bp_rib_node *n, uint32_t ref, uint64_t *used)
{
	uint32_t line = ref & ~BP_LPM_CHILD, lines;
	const struct bp_lpm_node *node;
	struct bp_lpm_shape shape;

	if (!(ref & BP_LPM_CHILD) || line == 0 || line >= w->fib->max_lines)
		return false;
	node = bp_lpm_node_at(w->fib, line);
	final_shape(n, &shape);
	if (!bp_lpm_node_valid(node, w->fib->max_lines - line) ||
		memcmp(node->begins, shape.begins, sizeof(shape.begins)) != 0)
		return false;
	lines = bp_lpm_node_lines(shape.n);
	if (!all_unmarked(used, line, lines))
		return false;
	for (uint32_t i = line; i < line + lines; i++)
		used[i / 64] |= 1ull << i % 64;
	n->line = line;
	n->lines = lines;
	return true;
}

/* Finds the nodes that lie in the segment already, from the root table down. */
static void adopt(const struct bp_lpm_writer *w, const struct family *f, struct bp_rib_node *n,
	uint64_t *used)
{
	for (uint32_t i = 0; i < n->n_children; i++) {
		struct bp_rib_node *child = n->child[i];
		uint32_t ref = 0;

		if (!is_in_segment(f, n) && is_in_segment(f, child)) {
			ref = atomic_load_explicit(
				&f->root[root_index(n, child->slot)], memory_order_relaxed);
		} else if (n->line != 0) {
			const struct bp_lpm_node *node = node_at(w, n);

			ref = atomic_load_explicit(
				&node->value[bp_lpm_node_index(node, child->slot)],
				memory_order_relaxed);
		}
		if (!is_in_segment(f, child) || adopt_one(w, child, ref, used))
			adopt(w, f, child, used);
	}
}

/* The lines that nobody was found to use may still be read by workers that were on their way. */
static void wait_for_workers(struct bp_lpm_writer *w)
{
	uint64_t epoch = bp_epoch_retire(w->epoch);
	const struct timespec nap = {.tv_nsec = GRACE_POLL_NS};

	for (uint32_t i = 0; i < GRACE_POLLS && !bp_epoch_passed(w->epoch, epoch); i++)
		nanosleep(&nap, NULL);
}

/* What has no room goes to the kernel. */
static void refuse_below(struct bp_lpm_writer *w, struct bp_rib_node *n)
{
	for (uint32_t i = 0; i < n->n_children; i++)
		refuse_below(w, n->child[i]);
	for (uint32_t i = 0; i < n->n_routes; i++) {
		if (n->route[i].refused)
			continue;
		n->route[i].refused = true;
		for (struct bp_rib_node *up = n; up != NULL; up = up->parent)
			up->refused_below++;
	}
	if (n->line != 0)
		bp_lpm_lines_give(&w->lines, n->line, n->lines);
	n->line = n->lines = 0;
}

/* Makes the nodes below `n` say what the trie says, the deepest first. */
static void build(struct bp_lpm_writer *w, struct family *f, struct bp_rib_node *n)
{
	for (uint32_t i = 0; i < n->n_children; i++)
		build(w, f, n->child[i]);
	if (!is_in_segment(f, n) || !has_content(n))
		return;
	/* a node that was found keeps its place: its parent refers to it, or is made anew */
	if (n->line == 0)
		w->mended++;
	if (!sync_node(w, f, n, n->line != 0))
		refuse_below(w, n);
}

static void shadow_all(struct family *f, struct bp_rib_node *n)
{
	if (n->refused_below == 0)
		return;
	for (uint32_t i = 0; i < n->n_routes; i++)
		if (!n->route[i].refused)
			n->route[i].shadowed = bp_rib_is_shadowed(n, n->route[i].key);
	for (uint32_t i = 0; i < n->n_children; i++)
		shadow_all(f, n->child[i]);
	if (n->parent == NULL)
		f->default_shadowed = bp_rib_is_shadowed(n, 1);
}

static void repair_family(struct bp_lpm_writer *w, struct family *f)
{
	build(w, f, f->rib.root);
	if (f->rib.root->refused_below != 0) {
		shadow_all(f, f->rib.root);
		build(w, f, f->rib.root);
	}
	flatten(w, f, f->rib.root, 0, BP_LPM_SLOTS - 1, inherited_by(f, f->rib.root));
}

uint64_t bp_lpm_repair(struct bp_lpm_writer *w)
{
	uint64_t *used = calloc(w->fib->max_lines / 64 + 1, sizeof(*used));

	w->mended = 0;
	if (used != NULL) {
		for (unsigned i = 0; i < 2; i++)
			adopt(w, &w->family[i], w->family[i].rib.root, used);
		wait_for_workers(w);
		bp_lpm_lines_rebuild(&w->lines, used);
		free(used);
	}
	for (unsigned i = 0; i < 2; i++)
		repair_family(w, &w->family[i]);
	count_lines(w);
	return w->mended;
}
