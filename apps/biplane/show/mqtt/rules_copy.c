/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/mqtt/rules_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A swap takes longer than a copy; so many swaps during copies in a row are no swaps. */
#define TRIES 100

/* aligned as the bank is, since struct bp_rule asks for it */
static struct bp_ruleset *copy_bank(const struct bp_ruleset *bank, uint64_t bank_size)
{
	uint64_t size = __atomic_load_n(&bank->size, __ATOMIC_RELAXED);

	if (size > bank_size)
		return NULL;
	if (size < sizeof(*bank))
		size = sizeof(*bank); /* the empty ruleset of a fresh segment */

	struct bp_ruleset *copy = aligned_alloc(64, (size + 63) / 64 * 64);

	if (!copy)
		return NULL;
	memcpy(copy, bank, size);
	copy->size = size; /* what was copied, whatever the bank says by now */
	if (copy->generation == 0)
		copy->n_rules = 0;
	return copy;
}

struct bp_ruleset *bp_rules_copy(const struct bp_shm *m, char *err, size_t err_size)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t active =
			atomic_load_explicit(&m->control->rules_active, memory_order_acquire);
		struct bp_ruleset *copy = copy_bank(bp_shm_rules(m, active), m->rules_bank_size);

		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&m->control->rules_active, memory_order_relaxed) !=
			active) {
			free(copy);
			continue;
		}
		if (copy && bp_ruleset_valid(copy, m->rules_bank_size, m->max_rules))
			return copy;
		free(copy);
		snprintf(err, err_size, "the rules in the segment are damaged; restart biplane");
		return NULL;
	}
	snprintf(err, err_size, "the rules change too fast to be read; try again");
	return NULL;
}
