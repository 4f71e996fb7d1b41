/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/lpm/lpm_writer.h"

#include <stdlib.h>

#include "shm/fib/lpm/lpm_tree.h"

/*
 * A repair waits up to 300 ms in total until workers leave the nodes that an earlier writer
 * unlinked. These can be any lines outside of nodes, so until then no line is free. A worker takes
 * microseconds, but on a busy machine it may lose its core for longer; meanwhile it forwards by the
 * existing tables.
 */
#define PATIENCE 3000u

/* Both families of a VRF. */
static bool families_init(struct bp_lpm_writer *w, unsigned vrf)
{
	const struct bp_fib *f = w->fib;
	struct bp_lpm_family *family = &w->family[(size_t)2 * vrf];
	const bool is_main = vrf == BP_VRF_MAIN;

	family[0].root = is_main ? f->lpm4_root : bp_vrf_root(f, vrf, 4);
	family[0].root_bits = is_main ? BP_LPM4_ROOT_BITS : BP_VRF_ROOT_BITS;
	family[0].address_bits = 32;
	family[1].root = is_main ? f->lpm6_root : bp_vrf_root(f, vrf, 6);
	family[1].root_bits = is_main ? BP_LPM6_ROOT_BITS : BP_VRF_ROOT_BITS;
	family[1].address_bits = 128;
	for (unsigned i = 0; i < 2; i++)
		if (family[i].rib.node == NULL && !bp_rib_init(&family[i].rib))
			return false;
	return true;
}

bool bp_lpm_vrf_add(struct bp_lpm_writer *w, unsigned vrf)
{
	struct bp_lpm_family *family;

	if (vrf > BP_MAX_VRFS)
		return false;
	family = &w->family[(size_t)2 * vrf];
	if (family[0].rib.node != NULL && family[1].rib.node != NULL)
		return true;
	if (!families_init(w, vrf))
		return false;
	/* the repair has not read these roots: nothing in them may be followed */
	for (unsigned i = 0; i < 2; i++)
		for (uint32_t slot = 0; slot < BP_VRF_ROOT; slot++)
			bp_lpm_store(&family[i].root[slot], BP_NH_NONE);
	return true;
}

struct bp_lpm_writer *bp_lpm_writer_new(struct bp_fib *f, struct bp_epoch *e)
{
	struct bp_lpm_writer *w = calloc(1, sizeof(*w));
	bool done = true;

	if (w == NULL)
		return NULL;
	w->fib = f;
	w->claimed = calloc((size_t)f->max_lines / 64 + 1, sizeof(*w->claimed));
	for (unsigned vrf = 0; vrf <= bp_fib_vrfs(f); vrf++)
		done = families_init(w, vrf) && done;
	done = bp_lpm_lines_init(&w->lines, f->max_lines, e) && done;
	if (done && w->claimed != NULL)
		return w;
	bp_lpm_writer_free(w);
	return NULL;
}

void bp_lpm_writer_free(struct bp_lpm_writer *w)
{
	if (w == NULL)
		return;
	for (unsigned i = 0; i < BP_LPM_FAMILIES; i++)
		bp_rib_free(&w->family[i].rib);
	bp_lpm_lines_free(&w->lines);
	free(w->claimed);
	free(w);
}

/* NULL: invalid family, length or VRF. */
static struct bp_lpm_family *family_of(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct bp_lpm_family *f;

	if ((p->family != 4 && p->family != 6) || p->vrf > BP_MAX_VRFS)
		return NULL;
	f = &w->family[2 * p->vrf + (p->family == 6)];
	return f->rib.node != NULL && p->length <= f->address_bits ? f : NULL;
}

static bool valid_nexthop(uint32_t nexthop)
{
	return nexthop != BP_NH_NONE && !bp_lpm_is_link(nexthop);
}

/* ---- changes ---- */

/* A level on the path to a prefix: its slots are bits start..start+bits-1 of an address. */
struct level {
	unsigned start, bits;
	_Atomic uint32_t *word; /* that leads to the node; NULL: this is the root */
};

static _Atomic uint32_t *slot_word(const struct bp_lpm_writer *w,
	const struct bp_lpm_family *family, const struct level *l, uint32_t slot)
{
	const struct bp_lpm_line *node;

	if (l->word == NULL)
		return &family->root[slot];
	node = bp_lpm_node(w->fib, bp_lpm_load_word(l->word));
	return bp_lpm_word(node, bp_lpm_run(node, slot));
}

static void sync_level(struct bp_lpm_writer *w, struct bp_lpm_family *family, const struct level *l,
	struct bp_rib_position at, const struct bp_lpm_scope *scope)
{
	uint32_t old, word;

	if (l->word == NULL) {
		bp_lpm_sync_root(w, family, at, scope);
		return;
	}
	old = bp_lpm_load_word(l->word);
	word = bp_lpm_sync_node(w, family, old, l->start, at, scope);
	if (word != old) {
		bp_lpm_store(l->word, word);
		w->stores++;
	}
}

/* Copies the state of a prefix from the trie into the segment: at the level of its last bits, or
 * where a node on the path is created or removed. */
static void update(struct bp_lpm_writer *w, struct bp_lpm_family *family,
	const struct bp_rib_key *key, unsigned length)
{
	struct level l = {0, family->root_bits, NULL};
	struct bp_rib_position at = {1, BP_NH_NONE};
	struct bp_lpm_scope scope;

	w->full = false;
	for (;;) {
		const unsigned end = l.start + l.bits;
		const uint32_t slot = bp_rib_bits(key, l.start, l.bits);
		struct bp_rib_position next;
		_Atomic uint32_t *word;

		if (length <= end) {
			scope = (struct bp_lpm_scope){
				slot, slot + (1u << (end - length)) - 1, length};
			if (l.word == NULL)
				at = bp_rib_down(&family->rib, at, key, length);
			break;
		}
		next = bp_rib_down(&family->rib, at, key, end);
		word = slot_word(w, family, &l, slot);
		if (!bp_rib_longer(&family->rib, next.node, end) ||
			!bp_lpm_is_link(bp_lpm_load_word(word))) {
			scope = (struct bp_lpm_scope){slot, slot, family->address_bits};
			if (l.word == NULL)
				at = next;
			break;
		}
		at = next;
		l = (struct level){end, BP_LPM_STRIDE, word};
	}
	sync_level(w, family, &l, at, &scope);
	bp_lpm_lines_retire(&w->lines);
}

/* Whether the segment has separate runs for the prefix. */
static bool has_runs(const struct bp_lpm_writer *w, const struct bp_lpm_family *family,
	const struct bp_rib_key *key, unsigned length)
{
	struct level l = {0, family->root_bits, NULL};
	const struct bp_lpm_line *node;
	unsigned first, after;

	for (; length > l.start + l.bits;
		l = (struct level){l.start + l.bits, BP_LPM_STRIDE, l.word}) {
		l.word = slot_word(w, family, &l, bp_rib_bits(key, l.start, l.bits));
		if (!bp_lpm_is_link(bp_lpm_load_word(l.word)))
			return false;
	}
	if (l.word == NULL)
		return true;
	node = bp_lpm_node(w->fib, bp_lpm_load_word(l.word));
	first = bp_rib_bits(key, l.start, l.bits);
	after = first + (1u << (l.start + l.bits - length));
	return (node->runs[first / 64] >> (first % 64) & 1) != 0 &&
	       (after == BP_LPM_SLOTS || (node->runs[after / 64] >> (after % 64) & 1) != 0);
}

static void refuse(struct bp_lpm_writer *w, struct bp_lpm_family *family,
	const struct bp_rib_key *key, unsigned length, struct bp_rib_node *n)
{
	/* A regular prefix, except that its next hop may have been removed. */
	n->nexthop = BP_NH_PUNT;
	n->refused = true;
	update(w, family, key, length);
}

enum bp_fib_result bp_lpm_set(struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nexthop)
{
	struct bp_lpm_family *family = family_of(w, p);
	struct bp_rib_node *n;
	struct bp_rib_key key;
	uint32_t at;

	if (family == NULL || !valid_nexthop(nexthop))
		return BP_FIB_INVALID;
	key = bp_rib_key(p);
	at = bp_rib_insert(&family->rib, &key, p->length);
	if (at == 0)
		return BP_FIB_NO_MEMORY;
	n = &family->rib.node[at];
	if (n->nexthop == nexthop && !n->refused)
		return BP_FIB_SAME;
	n->nexthop = nexthop;
	n->refused = false;
	update(w, family, &key, p->length);
	if (!w->full || has_runs(w, family, &key, p->length))
		return BP_FIB_DONE;
	refuse(w, family, &key, p->length, n);
	return BP_FIB_FULL;
}

enum bp_fib_result bp_lpm_delete(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct bp_lpm_family *family = family_of(w, p);
	struct bp_rib_key key;

	if (family == NULL)
		return BP_FIB_INVALID;
	key = bp_rib_key(p);
	if (!bp_rib_remove(&family->rib, &key, p->length))
		return BP_FIB_ABSENT;
	update(w, family, &key, p->length);
	return BP_FIB_DONE;
}

enum bp_fib_result bp_lpm_refuse(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct bp_lpm_family *family = family_of(w, p);
	struct bp_rib_key key;
	uint32_t at;

	if (family == NULL)
		return BP_FIB_INVALID;
	key = bp_rib_key(p);
	at = bp_rib_insert(&family->rib, &key, p->length);
	if (at == 0)
		return BP_FIB_NO_MEMORY;
	if (family->rib.node[at].refused)
		return BP_FIB_SAME;
	refuse(w, family, &key, p->length, &family->rib.node[at]);
	return BP_FIB_DONE;
}

/* ---- taking over ---- */

enum bp_fib_result bp_lpm_load(struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nexthop)
{
	struct bp_lpm_family *family = family_of(w, p);
	struct bp_rib_key key;
	uint32_t at;

	if (family == NULL || !valid_nexthop(nexthop))
		return BP_FIB_INVALID;
	key = bp_rib_key(p);
	at = bp_rib_insert(&family->rib, &key, p->length);
	if (at == 0)
		return BP_FIB_NO_MEMORY;
	family->rib.node[at].nexthop = nexthop;
	return BP_FIB_DONE;
}

static void sync_all(struct bp_lpm_writer *w)
{
	w->full = false;
	for (unsigned i = 0; i < BP_LPM_FAMILIES && w->family[i].rib.node != NULL; i++) {
		struct bp_lpm_family *family = &w->family[i];
		const struct bp_lpm_scope all = {
			0, (1u << family->root_bits) - 1, family->address_bits};

		bp_lpm_sync_root(w, family, (struct bp_rib_position){1, BP_NH_NONE}, &all);
		bp_lpm_lines_retire(&w->lines);
	}
	w->repair_pending = w->full;
	w->free_then = w->lines.free;
}

uint64_t bp_lpm_repair(struct bp_lpm_writer *w)
{
	uint64_t repaired = bp_lpm_claim(w);

	w->stores = 0;
	w->lines.max_waits = PATIENCE;
	sync_all(w);
	bp_lpm_lines_await(&w->lines); /* the first changes need free lines */
	w->lines.max_waits = 0;
	return repaired + w->stores;
}

bool bp_lpm_settle(struct bp_lpm_writer *w)
{
	bool waiting = bp_lpm_lines_settle(&w->lines);

	if (w->repair_pending && w->lines.free > w->free_then)
		sync_all(w);
	return waiting || w->repair_pending;
}

uint32_t bp_lpm_free_lines(const struct bp_lpm_writer *w)
{
	return w->lines.free;
}
