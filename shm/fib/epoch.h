/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_EPOCH_H
#define BP_SHM_FIB_EPOCH_H

#include "shm/fib/fib.h"

/*
 * Decides when memory that readers may still use can be reused. The writer unlinks it, requests the
 * epoch in which it was retired, and reuses it once every running worker has begun a walk in that
 * epoch or a later one (struct bp_fib_control: epoch; struct bp_fib_readers).
 */
struct bp_epoch {
	struct bp_fib_control *control;
	const struct bp_fib_readers *readers;
	bool (*readers_gone)(
		void *arg); /* no worker can be running: nothing to wait for; or NULL */
	void *arg;
	uint64_t passed; /* at the last check every worker had passed this epoch */
};

/* fib: its control and readers alone are used. */
void bp_epoch_init(
	struct bp_epoch *e, const struct bp_fib *fib, bool (*readers_gone)(void *arg), void *arg);

/* After the unlinking: the epoch to wait for. */
uint64_t bp_epoch_retire(struct bp_epoch *e);

/* Whether all workers have passed it. Cheap when they have passed it long ago. */
bool bp_epoch_passed(struct bp_epoch *e, uint64_t epoch);

#endif
