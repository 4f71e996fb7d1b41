/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/workers/rule_banks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "shm/words.h"

struct bp_rule_banks *bp_rule_banks_create(struct bp_shm *shm, unsigned workers)
{
	struct bp_rule_banks *b = aligned_alloc(_Alignof(struct bp_rule_banks), sizeof(*b));
	const uint64_t size = shm->rules_bank_size;

	if (!b)
		return NULL;
	memset(b, 0, sizeof(*b));
	b->shm = shm;
	b->workers = workers;
	b->bank_size = size;
	b->looked = UINT64_MAX;
	b->main = pthread_self();
	for (unsigned i = 0; i < 2; i++)
		b->bank[i] = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!b->bank[0] || !b->bank[1]) {
		bp_rule_banks_free(b);
		return NULL;
	}
	/* generation 0: no rules */
	memset(b->bank[0], 0, sizeof(struct bp_ruleset));
	memset(b->bank[1], 0, sizeof(struct bp_ruleset));
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&b->seen[w].active, UINT64_MAX);
	return b;
}

void bp_rule_banks_free(struct bp_rule_banks *b)
{
	if (!b)
		return;
	free(b->bank[0]);
	free(b->bank[1]);
	free(b);
}

/* Whether every worker that runs uses the bank in force. */
static bool settled(const struct bp_rule_banks *b)
{
	const uint64_t active = atomic_load_explicit(&b->active, memory_order_relaxed);

	/* pairs with the worker's fence between noting what it read and using it */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned w = 0; w < b->workers; w++) {
		const uint64_t seen =
			atomic_load_explicit(&b->seen[w].active, memory_order_acquire);

		if (seen != UINT64_MAX && seen != active)
			return false;
	}
	return true;
}

/* No worker needs any other bank of the segment. */
static void announce(struct bp_rule_banks *b)
{
	for (unsigned w = 0; w < b->workers; w++) {
		const bool runs = atomic_load_explicit(&b->seen[w].active, memory_order_relaxed) !=
				  UINT64_MAX;

		atomic_store_explicit(&b->shm->global->rules_seen[w], runs ? b->looked : UINT64_MAX,
			memory_order_release);
	}
}

/* Copies the image of `active` to the bank. False: it is not whole. */
static bool copy(struct bp_rule_banks *b, uint64_t active, unsigned bank)
{
	const struct bp_ruleset *from = bp_shm_rules(b->shm, active);
	struct bp_ruleset *to = (struct bp_ruleset *)(void *)b->bank[bank];
	uint64_t size;

	bp_words_load(to, from, sizeof(*to));
	size = to->size;
	if (to->generation != active >> 1)
		return false;
	if (to->generation == 0)
		return true;
	if (size < sizeof(*to) || size > b->bank_size)
		return false;
	bp_words_load(to + 1, from + 1, size - sizeof(*to));
	if (!bp_ruleset_valid(to, size, b->shm->max_rules))
		return false;
	/* What a connection or a topic remembers is a rule's index in a generation: of the copies,
	 * since the control plane may give two images one number. */
	to->generation = b->copies + 1;
	return true;
}

/*
 * A slot that a rule before it used begins at zero again. No worker writes it now: all of them use
 * the rules in force, and those do not use it.
 */
static void clear_new_slots(
	struct bp_rule_banks *b, const struct bp_ruleset *next, const struct bp_ruleset *in_force)
{
	const uint64_t max = b->shm->max_rules;
	bool *used = calloc(max, sizeof(*used));

	if (!used)
		return; /* old figures on a new rule: no reason to refuse the rules */
	for (uint32_t i = 0; i < in_force->n_rules; i++)
		used[bp_ruleset_rule(in_force, i)->slot] = true;
	for (uint32_t i = 0; i < next->n_rules; i++) {
		const uint32_t slot = bp_ruleset_rule(next, i)->slot;

		for (uint64_t w = 0; w < b->workers && !used[slot]; w++)
			memset(&b->shm->rule_stats[w * max + slot], 0,
				sizeof(b->shm->rule_stats[0]));
	}
	free(used);
}

#define WAKE_AGAIN_NS 10000000u

void bp_rule_banks_wake(struct bp_rule_banks *b, uint64_t mono_ns)
{
	uint64_t last = atomic_load_explicit(&b->woken_ns, memory_order_relaxed);

	if (b->wake_signal == 0 || mono_ns - last < WAKE_AGAIN_NS)
		return;
	if (atomic_compare_exchange_strong_explicit(
		    &b->woken_ns, &last, mono_ns, memory_order_relaxed, memory_order_relaxed))
		pthread_kill(b->main, b->wake_signal);
}

/* The control plane's part is new, and rules come; those that the workers have are in force until
 * then. */
static bool is_between(const struct bp_rule_banks *b, uint64_t active)
{
	return active >> 1 == 0 && b->copies != 0;
}

static enum bp_rule_banks_news take(struct bp_rule_banks *b, uint64_t active)
{
	const uint64_t before = atomic_load_explicit(&b->active, memory_order_relaxed);
	const unsigned bank = (before & 1) ^ 1;
	const bool whole = copy(b, active, bank);

	/* written again meanwhile: another look, the next time */
	if (atomic_load_explicit(&b->shm->control->rules_active, memory_order_acquire) != active)
		return BP_RULE_BANKS_SAME;
	b->looked = active;
	if (!whole)
		return BP_RULE_BANKS_REFUSED;
	if (b->copies != 0)
		clear_new_slots(b, bp_rule_bank(b, bank), bp_rule_bank(b, before));
	b->copies++;
	atomic_store_explicit(&b->active, b->copies << 1 | bank, memory_order_seq_cst);
	return BP_RULE_BANKS_TAKEN;
}

enum bp_rule_banks_news bp_rule_banks_poll(struct bp_rule_banks *b)
{
	const uint64_t active =
		atomic_load_explicit(&b->shm->control->rules_active, memory_order_acquire);
	enum bp_rule_banks_news news = BP_RULE_BANKS_SAME;

	if (!settled(b))
		return news;
	if (is_between(b, active))
		b->looked = active;
	else if (active != b->looked)
		news = take(b, active);
	if (news != BP_RULE_BANKS_TAKEN || settled(b))
		announce(b);
	return news;
}
