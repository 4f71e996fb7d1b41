/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "shm/rules/ruleset_draft.h"

/* The slots of a draft: a rule that an earlier set had keeps its statistics. */

struct known_slot {
	uint64_t uid;
	uint32_t slot; /* BP_RULE_NONE: free, or taken by a rule of the new set */
};

/* Gives unchanged rules their old slots (`known` has them by uid) and marks them in `taken`. */
static void slots_keep(struct bp_draft *d, struct known_slot *known, uint64_t mask, uint8_t *taken)
{
	for (uint32_t i = 0; i < d->n; i++) {
		for (uint64_t k = d->rules[i].uid;; k++) {
			struct known_slot *s = &known[k & mask];

			if (s->slot == BP_RULE_NONE && s->uid == 0)
				break;
			if (s->uid != d->rules[i].uid || s->slot == BP_RULE_NONE)
				continue;
			d->rules[i].slot = s->slot;
			taken[s->slot] = 2;
			s->slot = BP_RULE_NONE;
			break;
		}
	}
}

/* Assigns slots whose mark in `taken` is at most `most` to the remaining rules, lowest first. */
static void slots_take(struct bp_draft *d, uint32_t max_rules, uint8_t *taken, uint8_t most)
{
	uint32_t slot = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		if (d->rules[i].slot != BP_RULE_NONE)
			continue;
		while (slot < max_rules && taken[slot] > most)
			slot++;
		if (slot == max_rules)
			return;
		taken[slot] = 2;
		d->rules[i].slot = slot;
	}
}

int bp_draft_slots_assign(struct bp_draft *d, uint32_t max_rules, const struct bp_ruleset *old)
{
	const uint32_t n_old = old && old->generation ? bp_ruleset_all(old) : 0;
	const uint64_t size = bp_draft_power_of_two(2 * ((uint64_t)n_old + 1));
	struct known_slot *known = malloc(size * sizeof(*known));
	uint8_t *taken = calloc((size_t)max_rules + 1, 1); /* 1: by the old set, 2: by the new */

	if (!known || !taken) {
		free(known);
		free(taken);
		return bp_draft_no_memory(d);
	}
	for (uint64_t i = 0; i < size; i++)
		known[i] = (struct known_slot){0, BP_RULE_NONE};
	for (uint32_t i = 0; i < n_old; i++) {
		const struct bp_rule *r = bp_ruleset_rule(old, i);
		uint64_t k = r->uid;

		if (r->slot >= max_rules || taken[r->slot])
			continue; /* of a bank with more slots */
		while (known[k & (size - 1)].slot != BP_RULE_NONE)
			k++;
		known[k & (size - 1)] = (struct known_slot){r->uid, r->slot};
		taken[r->slot] = 1;
	}
	slots_keep(d, known, size - 1, taken);
	slots_take(d, max_rules, taken, 0);
	slots_take(d, max_rules, taken, 1);
	for (uint32_t i = d->n_specs; i < d->n; i++)
		d->rules[i].part.slot = d->rules[d->rules[i].part.combination].slot;
	free(known);
	free(taken);
	return 0;
}
