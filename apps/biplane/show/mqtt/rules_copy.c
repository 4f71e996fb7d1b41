/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/mqtt/rules_copy.h"

#include <stdio.h>
#include <stdlib.h>

/* A swap takes longer than a copy, so this many attempts fail only if swaps never pause. */
#define TRIES 100

struct bp_ruleset *bp_rules_copy(const struct bp_shm *m, char *err, size_t err_size)
{
	const struct bp_generation *g = &m->rules;
	/* aligned as the bank is, since struct bp_rule asks for it */
	struct bp_ruleset *copy = aligned_alloc(64, (g->bank_size + 63) / 64 * 64);
	enum bp_generation_copied copied = BP_GENERATION_CHANGED;

	for (int i = 0; copy && copied == BP_GENERATION_CHANGED && i < TRIES; i++)
		copied = bp_generation_copy(g, bp_generation_active(g), copy, sizeof(*copy));
	if (copy && copied == BP_GENERATION_COPIED) {
		if (copy->generation == 0)
			copy->n_rules = copy->n_policy = copy->policy_given = copy->policy_preset =
				0;
		if (bp_ruleset_valid(copy, copy->size, m->max_rules))
			return copy;
	}
	snprintf(err, err_size, "%s",
		!copy ? "not enough memory"
		: copied == BP_GENERATION_CHANGED
			? "the rules change too fast to be read; try again"
			: "the rules in the segment are damaged; restart biplane");
	free(copy);
	return NULL;
}
