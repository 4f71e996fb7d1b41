/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/fib/lpm/lpm_tree.h"

/*
 * Checks all reachable nodes without the trie: each must lie in the table, be consistent and share
 * no line with another. A word that leads to an invalid node is set to BP_NH_PUNT. The result is a
 * tree that can be followed without checks, and the set of lines outside all nodes.
 */

static bool claimed(const struct bp_lpm_writer *w, uint32_t line)
{
	return w->claimed[line / 64] >> (line % 64) & 1;
}

static bool consistent(const struct bp_lpm_line *node)
{
	unsigned before = 0;

	for (unsigned i = 0; i < 4; i++) {
		if (node->before[i] != before)
			return false;
		before += (unsigned)__builtin_popcountll(node->runs[i]);
	}
	return (node->runs[0] & 1) != 0;
}

static bool claim_lines(struct bp_lpm_writer *w, uint32_t first)
{
	uint32_t n;

	if (first >= w->lines.total || claimed(w, first) || !consistent(&w->fib->lines[first]))
		return false;
	n = bp_lpm_lines_for(bp_lpm_runs(&w->fib->lines[first]));
	if (n > w->lines.total - first)
		return false;
	for (uint32_t i = 1; i < n; i++) {
		if (claimed(w, first + i))
			return false;
	}
	for (uint32_t i = first; i < first + n; i++)
		w->claimed[i / 64] |= 1ull << (i % 64);
	return true;
}

/* Whether slot's run is this slot alone, as that of a link must be. */
static bool alone(const struct bp_lpm_line *node, unsigned i)
{
	unsigned slot = 0;

	for (unsigned k = 0; k < 4; k++) {
		uint64_t rest = node->runs[k];
		unsigned n = (unsigned)__builtin_popcountll(rest);

		if (i >= n) {
			i -= n;
			continue;
		}
		for (; i > 0; i--)
			rest &= rest - 1;
		slot = 64 * k + (unsigned)__builtin_ctzll(rest);
		break;
	}
	return slot == BP_LPM_SLOTS - 1 ||
	       (node->runs[(slot + 1) / 64] >> ((slot + 1) % 64) & 1) != 0;
}

static uint64_t claim_word(
	struct bp_lpm_writer *w, _Atomic uint32_t *at, unsigned start, unsigned address_bits)
{
	const uint32_t word = bp_lpm_load_word(at);
	const struct bp_lpm_line *node;
	uint64_t changed = 0;
	unsigned n;

	if (!bp_lpm_is_link(word))
		return 0;
	if (start >= address_bits || !claim_lines(w, word & ~BP_LPM_LINK)) {
		bp_lpm_store(at, BP_NH_PUNT);
		return 1;
	}
	node = bp_lpm_node(w->fib, word);
	n = bp_lpm_runs(node);
	for (unsigned i = 0; i < n; i++) {
		_Atomic uint32_t *below = bp_lpm_word(node, i);

		if (!bp_lpm_is_link(bp_lpm_load_word(below)))
			continue;
		if (alone(node, i)) {
			changed += claim_word(w, below, start + BP_LPM_STRIDE, address_bits);
		} else {
			bp_lpm_store(below, BP_NH_PUNT);
			changed++;
		}
	}
	return changed;
}

#define AT_ONCE 16u

static uint64_t claim_family(struct bp_lpm_writer *w, const struct bp_lpm_family *f)
{
	const uint32_t end = 1u << f->root_bits;
	uint64_t changed = 0;

	for (uint32_t slot = 0; slot < end; slot += AT_ONCE) {
		_Atomic uint32_t *at = &f->root[slot];
		uint32_t any = 0;

		for (unsigned i = 0; i < AT_ONCE; i++)
			any |= bp_lpm_load_word(&at[i]);
		if (!bp_lpm_is_link(any))
			continue;
		for (unsigned i = 0; i < AT_ONCE; i++) {
			uint32_t word = bp_lpm_load_word(&at[i]);

			if (bp_lpm_is_link(word) && (word & ~BP_LPM_LINK) < w->lines.total)
				__builtin_prefetch(bp_lpm_node(w->fib, word));
		}
		for (unsigned i = 0; i < AT_ONCE; i++)
			changed += claim_word(w, &at[i], f->root_bits, f->address_bits);
	}
	return changed;
}

uint64_t bp_lpm_claim(struct bp_lpm_writer *w)
{
	const uint32_t total = w->lines.total;
	uint64_t changed = 0;

	memset(w->claimed, 0, ((size_t)total / 64 + 1) * sizeof(*w->claimed));
	for (unsigned i = 0; i < BP_LPM_FAMILIES; i++)
		if (w->family[i].rib.node != NULL)
			changed += claim_family(w, &w->family[i]);
	/* Nodes that the earlier writer had unlinked may still have readers. */
	for (uint32_t first = 0, end; first < total; first = end) {
		for (end = first; end < total && !claimed(w, end); end++)
			;
		if (end > first)
			bp_lpm_lines_unlink(&w->lines, first, end - first);
		else
			end++;
	}
	bp_lpm_lines_retire(&w->lines);
	return changed;
}
