/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_RULESET_COPIES_H
#define BP_DATAPLANE_WORKERS_RULESET_COPIES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

/*
 * The data plane's own copy of the rules in force. The main thread copies a new generation from the
 * segment, validates the copy, and only then lets the workers have it: what the control plane
 * writes later, by whatever fault, no worker sees.
 *
 * Handed over to the workers as in the segment: the next generation goes where none reads any more.
 */
struct bp_ruleset_copies {
	struct bp_shm *shm;
	/* The copies. Their generations count them: what a connection or a topic remembers is a
	 * rule's index in one of them, and the control plane may give two images one number. */
	struct bp_generation copies;
	_Atomic uint64_t seen_active; /* rules_active, as it was copied or refused last */
	/* How a worker that sees a new generation wakes the main thread: 0: not at all. */
	int wake_signal;
	pthread_t main;
	_Atomic uint64_t woken_ns; /* when it did so last */
	_Atomic uint64_t active;   /* the words of `copies` */
	_Atomic uint64_t seen[BP_MAX_WORKERS] __attribute__((aligned(64)));
};

/* NULL: no memory. */
struct bp_ruleset_copies *bp_ruleset_copies_create(struct bp_shm *shm, unsigned workers);
void bp_ruleset_copies_free(struct bp_ruleset_copies *b); /* NULL is allowed */

enum bp_ruleset_copies_result {
	BP_RULESET_COPIES_UNCHANGED, /* nothing new, or workers still use the bank that it would go
					to */
	BP_RULESET_COPIES_APPLIED,
	BP_RULESET_COPIES_REJECTED, /* it is damaged: the rules before it stay in force */
};
/*
 * Main thread, a few times a second: takes a new generation, and says in the segment what workers
 * no longer read. Statistics of rules that are new begin at zero.
 */
enum bp_ruleset_copies_result bp_ruleset_copies_poll(struct bp_ruleset_copies *b);

/* Worker: wakes the main thread for a new generation, a hundred times a second at most. */
void bp_ruleset_copies_wake(struct bp_ruleset_copies *b, uint64_t mono_ns);

/* Worker: whether there is one that was not looked at yet. */
static inline bool bp_ruleset_copies_pending(const struct bp_ruleset_copies *b)
{
	return atomic_load_explicit(&b->shm->control->rules_active, memory_order_relaxed) !=
	       atomic_load_explicit(&b->seen_active, memory_order_relaxed);
}

#endif
