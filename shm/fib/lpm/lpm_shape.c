/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>

#include "shm/fib/lpm/lpm_tree.h"

/* The prefix that applies where no longer one does. */
struct best {
	uint32_t owner, nexthop;
};

static void paint(
	struct bp_lpm_painter *p, uint32_t lo, uint32_t hi, uint32_t node, struct best above);

/* A node's own slots. */
static void paint_inside(
	struct bp_lpm_painter *p, uint32_t first, uint32_t last, uint32_t node, struct best best)
{
	const struct bp_rib_node *n = &p->rib->node[node];
	const unsigned end = p->start + p->bits;
	const uint32_t middle = first + (last - first) / 2;

	if (n->length > end || (n->length == end && (n->child[0] | n->child[1]) != 0)) {
		p->below(p, first, best.owner, best.nexthop, node);
	} else if ((n->child[0] | n->child[1]) == 0) {
		p->run(p, first, last, best.owner, best.nexthop);
	} else {
		__builtin_prefetch(&p->rib->node[n->child[1]]);
		paint(p, first, middle, n->child[0], best);
		paint(p, middle + 1, last, n->child[1], best);
	}
}

static void paint(
	struct bp_lpm_painter *p, uint32_t lo, uint32_t hi, uint32_t node, struct best above)
{
	const struct bp_rib_node *n = &p->rib->node[node];
	const unsigned end = p->start + p->bits;
	struct best best = above;
	uint32_t first, last;

	if (node == 0) {
		p->run(p, lo, hi, above.owner, above.nexthop);
		return;
	}
	first = n->length <= p->start ? 0 : bp_rib_bits(&n->key, p->start, p->bits);
	last = first;
	if (n->length < end) {
		unsigned free_bits = n->length <= p->start ? p->bits : end - n->length;

		last = first + (1u << free_bits) - 1;
	}
	if (lo < first)
		p->run(p, lo, first - 1, above.owner, above.nexthop);
	if (n->length <= end && n->nexthop != 0)
		best = (struct best){n->length <= p->start ? 0 : node, n->nexthop};
	if (n->length > end || n->nexthop == 0 || n->length <= p->settled)
		paint_inside(p, first, last, node, best);
	if (last < hi)
		p->run(p, last + 1, hi, above.owner, above.nexthop);
}

void bp_lpm_paint(struct bp_lpm_painter *p, uint32_t lo, uint32_t hi, struct bp_rib_position at)
{
	paint(p, lo, hi, at.node, (struct best){0, at.nexthop});
}

/* ---- a node's shape ---- */

static void begin(
	struct bp_lpm_painter *p, uint32_t slot, uint32_t owner, uint32_t nexthop, uint32_t below)
{
	struct bp_lpm_shape *s = p->arg;

	s->runs[slot / 64] |= 1ull << (slot % 64);
	s->run[s->n++] = (struct bp_lpm_run){.slot = (uint16_t)slot,
		.owner = owner,
		.owner_length = owner != 0 ? p->rib->node[owner].length : 0,
		.nexthop = nexthop,
		.below = below};
}

static void add_run(
	struct bp_lpm_painter *p, uint32_t lo, uint32_t hi, uint32_t owner, uint32_t nexthop)
{
	const struct bp_lpm_shape *s = p->arg;
	const struct bp_lpm_run *last = s->n > 0 ? &s->run[s->n - 1] : NULL;

	(void)hi;
	/* Where the trie only branches, the same prefix continues. */
	if (last == NULL || last->below != 0 || last->owner != owner)
		begin(p, lo, owner, nexthop, 0);
}

static void add_below(
	struct bp_lpm_painter *p, uint32_t slot, uint32_t owner, uint32_t nexthop, uint32_t below)
{
	begin(p, slot, owner, nexthop, below);
}

void bp_lpm_shape(
	struct bp_lpm_shape *s, const struct bp_rib *rib, unsigned start, struct bp_rib_position at)
{
	struct bp_lpm_painter p = {.rib = rib,
		.start = start,
		.bits = BP_LPM_STRIDE,
		.settled = UINT_MAX,
		.run = add_run,
		.below = add_below,
		.arg = s};

	s->n = 0;
	s->runs[0] = s->runs[1] = s->runs[2] = s->runs[3] = 0;
	bp_lpm_paint(&p, 0, BP_LPM_SLOTS - 1, at);
}
