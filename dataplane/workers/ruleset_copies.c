/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/workers/ruleset_copies.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "shm/rules/policy.h"

struct bp_ruleset_copies *bp_ruleset_copies_create(struct bp_shm *shm, unsigned workers)
{
	struct bp_ruleset_copies *b = aligned_alloc(_Alignof(struct bp_ruleset_copies), sizeof(*b));
	const uint64_t size = (shm->rules.bank_size + 63) / 64 * 64;

	if (!b)
		return NULL;
	memset(b, 0, sizeof(*b));
	b->shm = shm;
	b->seen_active = UINT64_MAX;
	b->main = pthread_self();
	b->copies = (struct bp_generation){.active = &b->active,
		.seen = b->seen,
		.readers = workers,
		.banks = aligned_alloc(64, 2 * size),
		.bank_size = size};
	if (!b->copies.banks) {
		free(b);
		return NULL;
	}
	/* generation 0: no rules */
	for (unsigned i = 0; i < 2; i++)
		memset(bp_generation_bank(&b->copies, i), 0, sizeof(struct bp_ruleset));
	bp_generation_reset(&b->copies);
	return b;
}

void bp_ruleset_copies_free(struct bp_ruleset_copies *b)
{
	if (b)
		free(b->copies.banks);
	free(b);
}

/* Whether every running worker uses the active copy. */
static bool settled(const struct bp_ruleset_copies *b)
{
	return bp_generation_pending(&b->copies) < 0;
}

/* Publishes that no worker needs another bank of the segment. */
static void announce(struct bp_ruleset_copies *b)
{
	for (unsigned w = 0; w < b->copies.readers; w++) {
		const bool runs = atomic_load_explicit(&b->seen[w], memory_order_relaxed) !=
				  BP_GENERATION_NONE;

		bp_generation_acknowledge(
			&b->shm->rules, w, runs ? b->seen_active : BP_GENERATION_NONE);
	}
}

void bp_ruleset_copies_begin(struct bp_ruleset_copies *b, unsigned worker)
{
	bp_generation_acknowledge(&b->copies, worker, bp_generation_active(&b->copies));
	bp_generation_acknowledge(&b->shm->rules, worker, b->seen_active);
}

/*
 * Zeroes the statistics slots that former rules used. No worker writes them now: all workers use
 * the active rules, which do not use these slots.
 */
static void clear_new_slots(struct bp_ruleset_copies *b, const struct bp_ruleset *next,
	const struct bp_ruleset *in_force)
{
	const uint64_t max = b->shm->max_rules;
	bool *used = calloc(max, sizeof(*used));

	if (!used)
		return; /* the new rule keeps old statistics: no reason to reject the rules */
	for (uint32_t i = 0; i < bp_ruleset_all(in_force); i++)
		used[bp_ruleset_rule(in_force, i)->slot] = true;
	for (uint32_t i = 0; i < bp_ruleset_all(next); i++) {
		const uint32_t slot = bp_ruleset_rule(next, i)->slot;

		for (uint64_t w = 0; w < b->copies.readers && !used[slot]; w++)
			memset(&b->shm->rule_stats[w * max + slot], 0,
				sizeof(b->shm->rule_stats[0]));
	}
	free(used);
}

static void clear_policy_slot(struct bp_ruleset_copies *b, uint64_t slot)
{
	const uint64_t row = b->shm->policy_slots;

	for (uint64_t w = 0; w < b->copies.readers && slot < row; w++)
		memset(&b->shm->policy_stats[w * row + slot], 0, sizeof(b->shm->policy_stats[0]));
}

/* The same for the policy. */
static void clear_new_policy_slots(struct bp_ruleset_copies *b, const struct bp_ruleset *next,
	const struct bp_ruleset *in_force)
{
	const uint32_t slots = b->shm->policy_slots;
	bool *used = calloc(slots, sizeof(*used));

	if (!used)
		return;
	if (next->policy_given != in_force->policy_given ||
		next->policy_preset != in_force->policy_preset)
		clear_policy_slot(b, 0);
	for (uint32_t i = 0; i < in_force->n_policy; i++)
		if (bp_policy_rule(in_force, i)->slot < slots)
			used[bp_policy_rule(in_force, i)->slot] = true;
	for (uint32_t i = 0; i < next->n_policy; i++) {
		const uint32_t slot = bp_policy_rule(next, i)->slot;

		if (slot < slots && !used[slot])
			clear_policy_slot(b, slot);
	}
	free(used);
}

#define WAKE_AGAIN_NS 10000000u

void bp_ruleset_copies_wake(struct bp_ruleset_copies *b, uint64_t mono_ns)
{
	uint64_t last = atomic_load_explicit(&b->woken_ns, memory_order_relaxed);

	if (b->wake_signal == 0 || mono_ns - last < WAKE_AGAIN_NS)
		return;
	if (atomic_compare_exchange_strong_explicit(
		    &b->woken_ns, &last, mono_ns, memory_order_relaxed, memory_order_relaxed))
		pthread_kill(b->main, b->wake_signal);
}

/*
 * The part of the control plane in the segment is new and has no rules yet. The rules of the
 * workers stay active until rules arrive.
 */
static bool is_between(const struct bp_ruleset_copies *b, uint64_t active)
{
	return active >> 1 == 0 && bp_generation_active(&b->copies) != 0;
}

static enum bp_ruleset_copies_result take(struct bp_ruleset_copies *b, uint64_t active)
{
	const uint64_t before = bp_generation_active(&b->copies);
	const uint64_t next = bp_generation_next(&b->copies);
	struct bp_ruleset *to = bp_generation_bank(&b->copies, next);
	const enum bp_generation_copied copied =
		bp_generation_copy(&b->shm->rules, active, to, sizeof(*to));

	if (copied == BP_GENERATION_CHANGED)
		return BP_RULESET_COPIES_UNCHANGED;
	b->seen_active = active;
	if (copied == BP_GENERATION_DAMAGED || !bp_ruleset_valid(to, to->size, b->shm->max_rules))
		return BP_RULESET_COPIES_REJECTED;
	if (to->generation != 0)
		to->generation = next >> 1;
	if (before != 0)
		clear_new_slots(b, to, bp_generation_bank(&b->copies, before));
	clear_new_policy_slots(b, to, bp_generation_bank(&b->copies, before));
	bp_generation_publish(&b->copies, next);
	return BP_RULESET_COPIES_APPLIED;
}

enum bp_ruleset_copies_result bp_ruleset_copies_poll(struct bp_ruleset_copies *b)
{
	const uint64_t active = bp_generation_active(&b->shm->rules);
	enum bp_ruleset_copies_result news = BP_RULESET_COPIES_UNCHANGED;

	if (!settled(b))
		return news;
	if (is_between(b, active))
		b->seen_active = active;
	else if (active != b->seen_active)
		news = take(b, active);
	if (news != BP_RULESET_COPIES_APPLIED || settled(b))
		announce(b);
	return news;
}
