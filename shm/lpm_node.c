/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/lpm_node.h"

#include <string.h>

static uint32_t count(uint64_t bits)
{
	return (uint32_t)__builtin_popcountll(bits);
}

void bp_lpm_shape_make(struct bp_lpm_shape *s, const uint64_t begins[4])
{
	memcpy(s->begins, begins, sizeof(s->begins));
	s->begins[0] |= 1;
	s->n = 0;
	for (unsigned w = 0; w < 4; w++)
		s->n += count(s->begins[w]);
}

void bp_lpm_node_write(struct bp_lpm_node *n, const struct bp_lpm_shape *s, uint32_t best,
	const uint32_t slots[BP_LPM_SLOTS])
{
	uint32_t k = 0;

	memcpy(n->begins, s->begins, sizeof(n->begins));
	n->n = s->n;
	atomic_store_explicit(&n->best, best, memory_order_relaxed);
	for (unsigned w = 0; w < 4; w++) {
		n->before[w] = (uint8_t)k;
		for (uint64_t bits = s->begins[w]; bits != 0; bits &= bits - 1) {
			unsigned slot = 64 * w + (unsigned)__builtin_ctzll(bits);

			atomic_store_explicit(&n->value[k++], slots[slot], memory_order_relaxed);
		}
	}
}

bool bp_lpm_node_valid(const struct bp_lpm_node *n, uint32_t lines)
{
	uint32_t k = 0;

	if (lines == 0 || !(n->begins[0] & 1))
		return false;
	for (unsigned w = 0; w < 4; w++) {
		if (n->before[w] != (uint8_t)k)
			return false;
		k += count(n->begins[w]);
	}
	return n->n == k && bp_lpm_node_lines(k) <= lines;
}
