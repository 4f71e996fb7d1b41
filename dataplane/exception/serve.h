/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_SERVE_H
#define BP_DATAPLANE_EXCEPTION_SERVE_H

#include <stdint.h>

#include "biplane/counters.h"
#include "dataplane/exception/bucket.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/kernel_if.h"

/*
 * The steps of the exception thread, with the time as a parameter. No function waits.
 *
 * A round takes from each class, in the order of enum bp_exception_class, the number of frames that
 * its bucket allows, at most BP_SERVE_BATCH. Each interface gets an equal part of them, and unused
 * parts go to the others. So a class waits for at most one batch of each other class, even if the
 * sum of their rates exceeds the capacity of this thread; the buckets of other classes do not slow
 * down a class within its rate; and an interface that sends less than its part of the rate of its
 * class loses no frame to a flooded one.
 *
 * Counters, in the row of this thread: KERNEL_<class> for each frame that the kernel accepted,
 * otherwise DROP_KERNEL_TX or, if the frame's interface has no kernel side, DROP_NO_KERNEL. The
 * worker that dequeues a frame counts FROM_KERNEL; a frame that does not reach a worker is counted
 * here twice, as FROM_KERNEL and as a drop (DROP_KERNEL_RX), so that the sum is exact.
 */
#define BP_SERVE_BATCH 32

struct bp_serve {
	struct bp_exception *x;
	struct bp_kernel_if *const *interface; /* [BP_MAX_INTERFACES]; NULL: none */
	struct bp_counters *counters;
	struct bp_bucket bucket[BP_EX_CLASSES];
	uint8_t queued[BP_MAX_INTERFACES], n_queued; /* the interfaces that have queues */
	/* index of the first one of the next round, by class */
	uint8_t turn[BP_EX_CLASSES];
};

void bp_serve_init(struct bp_serve *s, struct bp_exception *x,
	struct bp_kernel_if *const interface[BP_MAX_INTERFACES], struct bp_counters *counters,
	const struct bp_config_punt *config, uint64_t now_ns);

/* Runs one round. Returns the number of frames that left the queues. */
unsigned bp_serve_to_kernel(struct bp_serve *s, uint64_t now_ns);
/* Whether a frame waits in a queue: its bucket is empty, or it was enqueued since. */
bool bp_serve_has_frames(const struct bp_serve *s);
/* Reads one batch of an interface, which must be open. Returns the number of frames read. */
unsigned bp_serve_from_kernel(struct bp_serve *s, unsigned interface);
/*
 * Called at the end, when no worker runs: writes all queued frames to the kernel, regardless of the
 * buckets, and counts the frames queued for workers as dropped (DROP_FLUSHED).
 */
void bp_serve_finish(struct bp_serve *s);

#endif
