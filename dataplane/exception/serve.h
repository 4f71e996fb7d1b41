/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_SERVE_H
#define BP_DATAPLANE_EXCEPTION_SERVE_H

#include <stdint.h>

#include "biplane/counters.h"
#include "dataplane/exception/bucket.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/kernel_if.h"

/*
 * What the exception thread does, one step at a time and with the time as a parameter. Nothing here
 * waits.
 *
 * A round takes from each class, in the order of enum bp_exception_class, what its bucket allows
 * and at most BP_SERVE_BATCH frames; of these, each interface in turn an equal part, and what some
 * leave goes to the others. So a class waits for one batch of each of the others at most,
 * even when their rates together are more than this thread can do; and one that is within its rate
 * is never slowed down by the buckets of others; and an interface that sends less than its part of
 * its class's rate loses nothing to one that is flooded.
 *
 * Counters, in the row of this thread: KERNEL_<class> per frame that the kernel took, else
 * DROP_KERNEL_TX or, when its interface has none, DROP_NO_KERNEL. FROM_KERNEL is counted by the
 * worker that takes the frame; one that never reaches it is counted here twice, as FROM_KERNEL and
 * as a drop (DROP_KERNEL_RX), so that the sum holds.
 */
#define BP_SERVE_BATCH 32

struct bp_serve {
	struct bp_exception *x;
	struct bp_kernel_if *const *interface; /* [BP_MAX_INTERFACES]; NULL: none */
	struct bp_counters *counters;
	struct bp_bucket bucket[BP_EX_CLASSES];
	uint8_t queued[BP_MAX_INTERFACES], n_queued; /* the interfaces that have queues */
	uint8_t turn[BP_EX_CLASSES];                 /* which of them is first */
};

void bp_serve_init(struct bp_serve *s, struct bp_exception *x,
	struct bp_kernel_if *const interface[BP_MAX_INTERFACES], struct bp_counters *counters,
	const struct bp_config_punt *config, uint64_t now_ns);

/* One round. Returns how many frames left the queues. */
unsigned bp_serve_to_kernel(struct bp_serve *s, uint64_t now_ns);
/* Reads one batch of an interface, which must be there. Returns how many frames the kernel gave. */
unsigned bp_serve_from_kernel(struct bp_serve *s, unsigned interface);
/* At the end, when no worker runs any more: gives the kernel all that waits, whatever the buckets
 * say, and counts what waits for workers as dropped (DROP_FLUSHED). */
void bp_serve_finish(struct bp_serve *s);

#endif
