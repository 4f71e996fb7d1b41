/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_RING_EVENTS_H
#define BP_CONTROLPLANE_PROCESS_RING_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/ring.h"

struct event_base;

/*
 * New records in the workers' rings as events of the loop. Workers wake the loop with the doorbell
 * (shm/doorbell.h); the rings are examined before each sleep, so a burst of records costs one
 * wakeup, and none while the loop is busy. As long as no data plane has created the doorbell, a
 * timer examines the rings every 0.25 ms to 1 ms.
 *
 * A reader is called when records were written since its last call. Records that it leaves in its
 * ring are its own concern: it is not called again for them.
 */
struct bp_ring_events;

#define BP_RING_READERS_MAX 8

/*
 * runtime_dir and name: of the instance, and remain valid; NULL: no doorbell, as for rings that
 * this process writes. `sleeps`: struct bp_shm_control. Returns NULL without memory or timer.
 */
struct bp_ring_events *bp_ring_events_new(struct event_base *base, _Atomic uint64_t *sleeps,
	const char *runtime_dir, const char *name);
/*
 * From now on the loop never sleeps: it examines the rings without a pause, and checks its other
 * events in between (`controlplane_poll_mode: busy`). Workers do not ring.
 */
void bp_ring_events_busy(struct bp_ring_events *e);
void bp_ring_events_free(struct bp_ring_events *e);

/* Adds a reader of `n` rings, which remain valid. False: too many readers. The first call follows
 * if the rings are not empty. */
bool bp_ring_events_add(struct bp_ring_events *e, const struct bp_ring *ring, unsigned n,
	void (*read)(void *arg), void *arg);

#endif
