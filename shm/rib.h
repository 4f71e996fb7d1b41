/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RIB_H
#define BP_SHM_RIB_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/lpm_node.h"

/*
 * All prefixes of one family, in the writer's own memory: a tree with a stride of 8 bits, whose
 * nodes below the root table's depth correspond one to one to nodes in the segment. A node of depth
 * d holds the prefixes of length d+1..d+8, each under its key: a 1, followed by its bits beyond d
 * (2..511). The prefix of length 0 has key 1, in the node of depth 0 only.
 */
struct bp_rib_route {
	uint16_t key;
	bool refused;  /* known, but not in the tables */
	bool shadowed; /* leads to BP_NH_PUNT, since a refused one has no closer cover */
	uint32_t nexthop;
};

struct bp_rib_node {
	struct bp_rib_node *parent;
	uint8_t slot;  /* in the parent */
	uint8_t depth; /* bits */
	uint16_t n_routes, routes_room, n_children, children_room;
	uint32_t refused_below;     /* refused prefixes here and below */
	struct bp_rib_route *route; /* by key */
	struct bp_rib_node **child; /* by slot */
	uint8_t *child_slot;
	uint32_t line;  /* its node in the segment; 0: none */
	uint32_t lines; /* of that */
};

struct bp_rib {
	struct bp_rib_node *root;
};

bool bp_rib_init(struct bp_rib *r);
void bp_rib_free(struct bp_rib *r);

/* Where a prefix belongs: its node (NULL: there is none yet) and key. */
struct bp_rib_node *bp_rib_find_node(const struct bp_rib *r, const struct bp_prefix *p);
uint16_t bp_rib_key(const struct bp_prefix *p);
/* The same, with the nodes on the way made when they are missing; NULL without memory. *made: the
 * highest of the new ones, or NULL. */
struct bp_rib_node *bp_rib_make_node(
	struct bp_rib *r, const struct bp_prefix *p, struct bp_rib_node **made);

struct bp_rib_route *bp_rib_route(const struct bp_rib_node *n, uint16_t key);
/* Adds one that is not there. NULL without memory. */
struct bp_rib_route *bp_rib_add(
	struct bp_rib_node *n, uint16_t key, uint32_t nexthop, bool refused);
void bp_rib_remove(struct bp_rib_node *n, uint16_t key);
/* Takes a node without routes and children out of its parent and frees it. */
void bp_rib_remove_node(struct bp_rib_node *n);
struct bp_rib_node *bp_rib_child(const struct bp_rib_node *n, uint8_t slot);

/* Slots that a key covers: first .. last. */
static inline uint32_t bp_rib_first_slot(uint16_t key)
{
	uint32_t bits = 31 - (uint32_t)__builtin_clz(key);

	return ((uint32_t)key << (8 - bits)) & 0xff;
}
static inline uint32_t bp_rib_last_slot(uint16_t key)
{
	uint32_t bits = 31 - (uint32_t)__builtin_clz(key);

	return bp_rib_first_slot(key) | (0xffu >> bits);
}

/*
 * What each slot of a node leads to by the node's own prefixes; where none covers it: `inherited`.
 */
void bp_rib_paint(const struct bp_rib_node *n, uint32_t inherited, uint32_t slots[BP_LPM_SLOTS]);
/* Where runs begin in the node's counterpart in the segment. */
void bp_rib_shape(const struct bp_rib_node *n, struct bp_lpm_shape *s);

/* Whether, below this key of this node, some refused prefix has no closer cover than it. Key 1 of
 * the node of depth 0 stands for the whole family, whether there is a default route or not. */
bool bp_rib_is_shadowed(const struct bp_rib_node *n, uint16_t key);
/* The longest prefix that is in the tables and covers this key, the key itself apart: its node and
 * key; key 1 of the root when there is none. */
struct bp_rib_node *bp_rib_cover(struct bp_rib_node *n, uint16_t key, uint16_t *cover);

#endif
