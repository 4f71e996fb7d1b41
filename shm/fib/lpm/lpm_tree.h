/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_LPM_LPM_TREE_H
#define BP_SHM_FIB_LPM_LPM_TREE_H

#include "shm/fib/lpm/lpm_lines.h"
#include "shm/fib/lpm/lpm_writer.h"
#include "shm/fib/lpm/rib.h"

/* Declarations that the parts of the LPM writer share; for shm/lpm_*.c and their tests. */

/*
 * Every store to memory that readers may see goes through here, so that a test can stop the writer
 * at each of them.
 */
#ifdef BP_LPM_STORE_HOOK
void bp_lpm_store(_Atomic uint32_t *at, uint32_t word);
#else
static inline void bp_lpm_store(_Atomic uint32_t *at, uint32_t word)
{
	atomic_store_explicit(at, word, memory_order_release);
}
#endif

#define BP_LPM_FAMILIES (2 * (1 + BP_MAX_VRFS))
#define BP_LPM_LEVELS (1 + (128 - BP_LPM6_ROOT_BITS) / BP_LPM_STRIDE)

/* The result for one or several neighboring slots of a node. */
struct bp_lpm_run {
	uint16_t slot;        /* the first; the run ends where the next one begins */
	uint8_t owner_length; /* length of the deciding prefix; 0: not longer than the node's */
	uint32_t owner;       /* its node in the trie; 0: as above */
	uint32_t nexthop;
	uint32_t below; /* one slot: the trie's node from which a deeper node is made; 0: none */
};

/* The intended content of a node, from the trie. */
struct bp_lpm_shape {
	uint64_t runs[4];
	unsigned n;
	struct bp_lpm_run run[BP_LPM_SLOTS];
};

struct bp_lpm_family {
	struct bp_rib rib;
	_Atomic uint32_t *root;
	unsigned root_bits, address_bits;
};

struct bp_lpm_writer {
	struct bp_fib *fib;
	/* IPv4 and IPv6 of the main VRF, of VRF 1, ...; those with a rib are in use */
	struct bp_lpm_family family[BP_LPM_FAMILIES];
	struct bp_lpm_lines lines;
	uint64_t *claimed;                        /* repair: a bit a line that a node has */
	struct bp_lpm_shape shape[BP_LPM_LEVELS]; /* of the nodes on the way down, by depth */
	uint64_t stores;                          /* words changed */
	bool full;           /* the change under way found too few lines somewhere */
	bool repair_pending; /* so did the repair: to be tried again */
	uint32_t free_then;
};

/* The scope of a change: slots lo..hi, except where a prefix longer than `length` decides. */
struct bp_lpm_scope {
	uint32_t lo, hi;
	unsigned length;
};

/* ---- lpm_shape.c: from the trie to runs ---- */

struct bp_lpm_painter {
	const struct bp_rib *rib;
	unsigned start, bits; /* slots are these bits of an address */
	unsigned settled;     /* ranges of prefixes longer than this are already complete and are
				 skipped */
	/* slots lo..hi have one next hop; called in order, without gaps except for skipped
	 * ranges */
	void (*run)(struct bp_lpm_painter *p, uint32_t lo, uint32_t hi, uint32_t owner,
		uint32_t nexthop);
	/* slot `slot` needs a deeper node, which inherits `nexthop` */
	void (*below)(struct bp_lpm_painter *p, uint32_t slot, uint32_t owner, uint32_t nexthop,
		uint32_t below);
	void *arg;
};
/* Reports the next hops of slots lo..hi to the callbacks. at.node: the highest node in them, or
 * 0. */
void bp_lpm_paint(struct bp_lpm_painter *p, uint32_t lo, uint32_t hi, struct bp_rib_position at);
/* The node that begins at bit `start`. */
void bp_lpm_shape(struct bp_lpm_shape *s, const struct bp_rib *rib, unsigned start,
	struct bp_rib_position at);

/* ---- lpm_sync.c: from the trie to the segment ---- */

/* A root's slots lo..hi, lo..hi being scope's. */
void bp_lpm_sync_root(struct bp_lpm_writer *w, struct bp_lpm_family *family,
	struct bp_rib_position at, const struct bp_lpm_scope *scope);
/*
 * Makes the node that begins at bit `start`, now at `word`, agree with the trie. Returns the word
 * that the caller must store: the same word, that of a new node, or BP_NH_PUNT when no lines are
 * free for one.
 */
uint32_t bp_lpm_sync_node(struct bp_lpm_writer *w, struct bp_lpm_family *family, uint32_t word,
	unsigned start, struct bp_rib_position at, const struct bp_lpm_scope *scope);

/* ---- lpm_repair.c ---- */

/* Replaces what cannot be followed, and finds the free lines. Returns how many words it changed. */
uint64_t bp_lpm_claim(struct bp_lpm_writer *w);

/* ---- in nodes ---- */

static inline bool bp_lpm_is_link(uint32_t word)
{
	return (word & BP_LPM_LINK) != 0;
}

static inline struct bp_lpm_line *bp_lpm_node(const struct bp_fib *f, uint32_t word)
{
	return &f->lines[word & ~BP_LPM_LINK];
}

static inline uint32_t bp_lpm_load_word(const _Atomic uint32_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

#endif
