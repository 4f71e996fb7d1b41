/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_RUN_BACKOFF_H
#define BP_APPS_BIPLANE_RUN_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long to wait before a plane is started again: 100 ms at first, twice as long each time it
 * dies again soon. A plane that gave up by itself (a broker's file gone, a port taken) will not be
 * helped by haste, so its waits grow to 5 s; one that was killed lost nothing but its process, and
 * every moment counts for what it guards, so its waits stay below half a second.
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
