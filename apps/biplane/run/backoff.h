/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_RUN_BACKOFF_H
#define BP_APPS_BIPLANE_RUN_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Delay before a plane is restarted: 100 ms at first, doubled after each further early exit. An
 * immediate retry does not help a plane that exited by itself (a missing file, a port in use), so
 * its delay grows to 5 s; a plane that was killed has no such cause, and its downtime matters, so
 * its delay is less than half a second.
 */
#define BP_BACKOFF_FIRST_NS 100000000ull
#define BP_BACKOFF_MAX_EXIT_NS 5000000000ull
#define BP_BACKOFF_MAX_SIGNAL_NS 500000000ull
#define BP_BACKOFF_FORGET_NS 60000000000ull /* a life of this length forgets all before it */

struct bp_backoff {
	uint64_t next_ns; /* 0: BP_BACKOFF_FIRST_NS */
};

/* The wait after a life of `lived_ns` that ended by a signal or else by an exit status. */
uint64_t bp_backoff_next(struct bp_backoff *b, uint64_t lived_ns, bool by_signal);

#endif
