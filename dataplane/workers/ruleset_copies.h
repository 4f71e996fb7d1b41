/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_RULESET_COPIES_H
#define BP_DATAPLANE_WORKERS_RULESET_COPIES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

/*
 * The data plane's copies of the active rules. The main thread copies a new generation from the
 * segment, validates the copy, and then passes it to the workers: later writes of a faulty control
 * plane do not reach them.
 *
 * The copies are generations, as in the segment: the next one is written where no worker reads.
 */
struct bp_ruleset_copies {
	struct bp_shm *shm;
	/*
	 * The copies. Their generations number them: a connection or a topic remembers a rule by
	 * its index in one of them, and the control plane may give two images the same number.
	 */
	struct bp_generation copies;
	_Atomic uint64_t seen_active; /* value of rules_active that was last copied or rejected */
	/* Signal by which a worker that sees a new generation wakes the main thread; 0: none. */
	int wake_signal;
	pthread_t main;
	_Atomic uint64_t woken_ns; /* time of the last wake-up */
	_Atomic uint64_t active;   /* atomic words of `copies` */
	_Atomic uint64_t seen[BP_MAX_WORKERS] __attribute__((aligned(64)));
};

/* NULL: no memory. */
struct bp_ruleset_copies *bp_ruleset_copies_create(struct bp_shm *shm, unsigned workers);
void bp_ruleset_copies_free(struct bp_ruleset_copies *b); /* NULL is allowed */

/*
 * Main thread, after the first bp_ruleset_copies_poll() and before worker `worker` starts: from now
 * on a new generation is active only when this worker uses it, even if it has not walked yet.
 */
void bp_ruleset_copies_begin(struct bp_ruleset_copies *b, unsigned worker);

enum bp_ruleset_copies_result {
	/* no change, or workers still use the bank that would be written */
	BP_RULESET_COPIES_UNCHANGED,
	BP_RULESET_COPIES_APPLIED,
	/* the new generation is damaged: the previous rules stay active */
	BP_RULESET_COPIES_REJECTED,
};
/*
 * Main thread, a few times a second: copies a new generation, and publishes in the segment which
 * one the workers have released. Statistics of new rules start at zero.
 */
enum bp_ruleset_copies_result bp_ruleset_copies_poll(struct bp_ruleset_copies *b);

/* Worker: wakes the main thread for a new generation, at most a hundred times a second. */
void bp_ruleset_copies_wake(struct bp_ruleset_copies *b, uint64_t mono_ns);

/* Worker: whether a new generation is pending. */
static inline bool bp_ruleset_copies_pending(const struct bp_ruleset_copies *b)
{
	return atomic_load_explicit(&b->shm->control->rules_active, memory_order_relaxed) !=
	       atomic_load_explicit(&b->seen_active, memory_order_relaxed);
}

#endif
