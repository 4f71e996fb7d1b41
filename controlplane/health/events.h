/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_EVENTS_H
#define BP_CONTROLPLANE_HEALTH_EVENTS_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/health/phd.h"

/*
 * Work that workers cannot do themselves, and report in rings in the segment (shm/health/phd.h): an
 * answer to a device that must go through the kernel, or a missing resource of a session at the
 * CSE. A full ring loses events. The device then repeats a report without an answer; a session that
 * is BP_PHD_STALE is found by a sweep over all sessions, which takes BP_EVENTS_SWEEP_NS.
 *
 * An event in a ring is accepted only if its token is valid for the session that is in the slot
 * now.
 */
struct bp_worker_events;
struct bp_ring_events;

#define BP_EVENTS_SWEEP_NS 10000000000ull
#define BP_EVENTS_TIME_SLICE_NS 10000000ull /* interval of iterations */
#define BP_EVENTS_BATCH_MAX 256u            /* events per iteration, of all workers */

struct bp_worker_events_ops {
	/* An answer to a report: an APDU for the device of a session, as bp_phd_manager_send(). */
	void (*answer)(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len);
	/* The CSE does not have the resources of the session's instances: BP_PHD_STALE is set.
	 * Called again in each sweep until that is cleared. */
	void (*stale)(void *arg, uint32_t slot, uint16_t life);
};

/* Totals. */
struct bp_worker_events_counts {
	uint64_t answers; /* delivered */
	uint64_t stale;   /* reported by an event */
	uint64_t swept;   /* found by the sweep */
	uint64_t known;   /* events of a session that is no longer stale */
	uint64_t untrue;  /* invalid events, or with a token of another session */
};

/* The caller owns `tables` and `arg`, which must remain valid; `rings` ends before this; NULL: the
 * rings are read at the interval. base NULL: the caller runs the iterations. NULL without memory.
 */
struct bp_worker_events *bp_worker_events_new(struct event_base *base, struct bp_ring_events *rings,
	const struct bp_phd_tables *tables, const struct bp_worker_events_ops *ops, void *arg);
void bp_worker_events_free(struct bp_worker_events *e);

/* Processes up to BP_EVENTS_BATCH_MAX events, and checks the sessions that are due by mono_ns.
 * Returns whether there may be more events. */
bool bp_worker_events_poll(struct bp_worker_events *e, uint64_t mono_ns);

const struct bp_worker_events_counts *bp_worker_events_counts(const struct bp_worker_events *e);

#endif
