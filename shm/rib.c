/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rib.h"

#include <stdlib.h>
#include <string.h>

static struct bp_rib_node *node_new(struct bp_rib_node *parent, uint8_t slot)
{
	struct bp_rib_node *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->parent = parent;
	n->slot = slot;
	n->depth = parent != NULL ? (uint8_t)(parent->depth + 8) : 0;
	return n;
}

static void node_free(struct bp_rib_node *n)
{
	free(n->route);
	free(n->child);
	free(n->child_slot);
	free(n);
}

bool bp_rib_init(struct bp_rib *r)
{
	r->root = node_new(NULL, 0);
	return r->root != NULL;
}

/* At most 16 levels deep. */
static void free_tree(struct bp_rib_node *n)
{
	for (uint32_t i = 0; i < n->n_children; i++)
		free_tree(n->child[i]);
	node_free(n);
}

void bp_rib_free(struct bp_rib *r)
{
	if (r->root != NULL)
		free_tree(r->root);
	r->root = NULL;
}

/* Room for one more element; doubles. */
static bool more_room(void **array, uint32_t room, size_t element)
{
	void *p = realloc(*array, room * element);

	if (p == NULL)
		return false;
	*array = p;
	return true;
}

/* ---- children ---- */

/* Place of the first child whose slot is not below. */
static uint32_t child_place(const struct bp_rib_node *n, uint32_t slot)
{
	uint32_t low = 0, high = n->n_children;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (n->child_slot[middle] < slot)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct bp_rib_node *bp_rib_child(const struct bp_rib_node *n, uint8_t slot)
{
	uint32_t at = child_place(n, slot);

	return at < n->n_children && n->child_slot[at] == slot ? n->child[at] : NULL;
}

static bool child_add(struct bp_rib_node *n, struct bp_rib_node *child)
{
	uint32_t at = child_place(n, child->slot);

	if (n->n_children == n->children_room) {
		uint32_t room = n->children_room != 0 ? 2u * n->children_room : 2;

		if (!more_room((void **)&n->child, room, sizeof(*n->child)) ||
			!more_room((void **)&n->child_slot, room, 1))
			return false;
		n->children_room = (uint16_t)room;
	}
	memmove(n->child + at + 1, n->child + at, (n->n_children - at) * sizeof(*n->child));
	memmove(n->child_slot + at + 1, n->child_slot + at, n->n_children - at);
	n->child[at] = child;
	n->child_slot[at] = child->slot;
	n->n_children++;
	return true;
}

void bp_rib_remove_node(struct bp_rib_node *n)
{
	struct bp_rib_node *p = n->parent;
	uint32_t at = child_place(p, n->slot);

	p->n_children--;
	memmove(p->child + at, p->child + at + 1, (p->n_children - at) * sizeof(*p->child));
	memmove(p->child_slot + at, p->child_slot + at + 1, p->n_children - at);
	node_free(n);
}

/* ---- prefixes ---- */

/* Depth of the node that a prefix of that length belongs to. */
static unsigned depth_of(unsigned length)
{
	return length == 0 ? 0 : (length - 1) / 8 * 8;
}

uint16_t bp_rib_key(const struct bp_prefix *p)
{
	unsigned bits = p->length - depth_of(p->length);

	if (bits == 0)
		return 1;
	return (uint16_t)(1u << bits | p->bytes[depth_of(p->length) / 8] >> (8 - bits));
}

struct bp_rib_node *bp_rib_find_node(const struct bp_rib *r, const struct bp_prefix *p)
{
	struct bp_rib_node *n = r->root;

	for (unsigned d = 0; n != NULL && d < depth_of(p->length); d += 8)
		n = bp_rib_child(n, p->bytes[d / 8]);
	return n;
}

/* Removes nodes without anything in them, from `n` upwards. */
static void prune(struct bp_rib_node *n)
{
	while (n->parent != NULL && n->n_routes == 0 && n->n_children == 0) {
		struct bp_rib_node *parent = n->parent;

		bp_rib_remove_node(n);
		n = parent;
	}
}

struct bp_rib_node *bp_rib_make_node(
	struct bp_rib *r, const struct bp_prefix *p, struct bp_rib_node **made)
{
	struct bp_rib_node *n = r->root;

	*made = NULL;
	for (unsigned d = 0; d < depth_of(p->length); d += 8) {
		struct bp_rib_node *child = bp_rib_child(n, p->bytes[d / 8]);

		if (child == NULL) {
			child = node_new(n, p->bytes[d / 8]);
			if (child == NULL || !child_add(n, child)) {
				if (child != NULL)
					node_free(child);
				prune(n);
				*made = NULL;
				return NULL;
			}
			if (*made == NULL)
				*made = child;
		}
		n = child;
	}
	return n;
}

static uint32_t route_place(const struct bp_rib_node *n, uint32_t key)
{
	uint32_t low = 0, high = n->n_routes;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (n->route[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct bp_rib_route *bp_rib_route(const struct bp_rib_node *n, uint16_t key)
{
	uint32_t at = route_place(n, key);

	return at < n->n_routes && n->route[at].key == key ? &n->route[at] : NULL;
}

static void count_refused(struct bp_rib_node *n, bool more)
{
	for (; n != NULL; n = n->parent)
		n->refused_below += more ? 1u : (uint32_t)-1;
}

struct bp_rib_route *bp_rib_add(struct bp_rib_node *n, uint16_t key, uint32_t nexthop, bool refused)
{
	uint32_t at = route_place(n, key);

	if (n->n_routes == n->routes_room) {
		uint32_t room = n->routes_room != 0 ? 2u * n->routes_room : 2;

		if (!more_room((void **)&n->route, room, sizeof(*n->route)))
			return NULL;
		n->routes_room = (uint16_t)room;
	}
	memmove(n->route + at + 1, n->route + at, (n->n_routes - at) * sizeof(*n->route));
	n->route[at] = (struct bp_rib_route){.key = key, .refused = refused, .nexthop = nexthop};
	n->n_routes++;
	if (refused)
		count_refused(n, true);
	return &n->route[at];
}

void bp_rib_remove(struct bp_rib_node *n, uint16_t key)
{
	uint32_t at = route_place(n, key);

	if (n->route[at].refused)
		count_refused(n, false);
	n->n_routes--;
	memmove(n->route + at, n->route + at + 1, (n->n_routes - at) * sizeof(*n->route));
}

/* ---- what follows from them ---- */

void bp_rib_paint(const struct bp_rib_node *n, uint32_t inherited, uint32_t slots[BP_LPM_SLOTS])
{
	for (uint32_t s = 0; s < BP_LPM_SLOTS; s++)
		slots[s] = inherited;
	/* keys of longer prefixes are greater: the last one painted is the longest */
	for (uint32_t i = 0; i < n->n_routes; i++) {
		const struct bp_rib_route *r = &n->route[i];
		uint32_t nexthop = r->shadowed ? BP_NH_PUNT : r->nexthop;

		if (r->refused)
			continue;
		for (uint32_t s = bp_rib_first_slot(r->key); s <= bp_rib_last_slot(r->key); s++)
			slots[s] = nexthop;
	}
}

static void begin(uint64_t begins[4], uint32_t slot)
{
	if (slot < BP_LPM_SLOTS)
		begins[slot / 64] |= 1ull << slot % 64;
}

void bp_rib_shape(const struct bp_rib_node *n, struct bp_lpm_shape *s)
{
	uint64_t begins[4] = {0};

	for (uint32_t i = 0; i < n->n_routes; i++) {
		if (n->route[i].refused)
			continue;
		begin(begins, bp_rib_first_slot(n->route[i].key));
		begin(begins, bp_rib_last_slot(n->route[i].key) + 1);
	}
	for (uint32_t i = 0; i < n->n_children; i++) {
		if (n->child[i]->line == 0)
			continue; /* holds refused prefixes only */
		begin(begins, n->child_slot[i]);
		begin(begins, n->child_slot[i] + 1u);
	}
	bp_lpm_shape_make(s, begins);
}

/* ---- refused prefixes ---- */

/* Whether key `inner` lies below `outer`, or is it. */
static bool is_below(uint16_t inner, uint16_t outer)
{
	uint32_t inner_bits = 31 - (uint32_t)__builtin_clz(inner);
	uint32_t outer_bits = 31 - (uint32_t)__builtin_clz(outer);

	return inner_bits >= outer_bits && inner >> (inner_bits - outer_bits) == outer;
}

/* Whether a prefix in the tables lies strictly between `key` and `outer` of the same node. */
static bool has_closer_cover(const struct bp_rib_node *n, uint16_t key, uint16_t outer)
{
	for (uint16_t k = key >> 1; k > outer; k >>= 1) {
		const struct bp_rib_route *r = bp_rib_route(n, k);

		if (r != NULL && !r->refused)
			return true;
	}
	return false;
}

/* A key of nine bits, as if a ninth bit followed: stands for the child of a slot. */
static bool slot_is_open(const struct bp_rib_node *n, uint32_t slot, uint16_t outer)
{
	const struct bp_rib_route *r = bp_rib_route(n, (uint16_t)(0x100 | slot));

	if ((0x100 | slot) != outer && r != NULL && !r->refused)
		return false;
	return !has_closer_cover(n, (uint16_t)(0x100 | slot), outer);
}

/* Whether some refused prefix below `outer` of this node has no cover below `outer`. outer 1 is the
 * whole node. */
static bool has_open(const struct bp_rib_node *n, uint16_t outer)
{
	if (n->refused_below == 0)
		return false;
	for (uint32_t i = 0; i < n->n_routes; i++) {
		const struct bp_rib_route *r = &n->route[i];

		if (r->refused && r->key != outer && is_below(r->key, outer) &&
			!has_closer_cover(n, r->key, outer))
			return true;
	}
	for (uint32_t i = 0; i < n->n_children; i++) {
		uint32_t slot = n->child_slot[i];

		if (n->child[i]->refused_below != 0 && is_below((uint16_t)(0x100 | slot), outer) &&
			slot_is_open(n, slot, outer) && has_open(n->child[i], 1))
			return true;
	}
	return false;
}

bool bp_rib_is_shadowed(const struct bp_rib_node *n, uint16_t key)
{
	return has_open(n, key);
}

struct bp_rib_node *bp_rib_cover(struct bp_rib_node *n, uint16_t key, uint16_t *cover)
{
	for (;;) {
		for (uint16_t k = key >> 1; k > 0; k >>= 1) {
			const struct bp_rib_route *r = bp_rib_route(n, k);

			if (r != NULL && !r->refused) {
				*cover = k;
				return n;
			}
		}
		if (n->parent == NULL)
			break;
		key = (uint16_t)((0x100 | n->slot) << 1);
		n = n->parent;
	}
	*cover = 1;
	return n;
}
