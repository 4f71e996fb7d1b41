/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_EVENTS_H
#define BP_CONTROLPLANE_HEALTH_EVENTS_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/health/phd.h"

/*
 * What workers can't do themselves, and tell by the rings in the segment (shm/health/phd.h): a
 * device is to be answered through the kernel, or the CSE lost what a session's instances go to. A
 * ring that is full loses what a worker wants to say. An answer is then repeated by the device; a
 * session that is BP_PHD_STALE is found by a look at all sessions, which takes BP_EVENTS_SWEEP_NS.
 *
 * What lies in a ring is believed as far as its token is true for the session that is in the slot
 * now.
 */
struct bp_worker_events;

#define BP_EVENTS_SWEEP_NS 10000000000ull
#define BP_EVENTS_TIME_SLICE_NS 10000000ull /* from one turn to the next */
#define BP_EVENTS_BATCH_MAX 256u            /* events in one turn, of all workers */

struct bp_worker_events_ops {
	/* An answer to a report: an APDU for the device of a session, as bp_phd_manager_send(). */
	void (*answer)(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len);
	/* The CSE does not have what the session's instances go to: BP_PHD_STALE is set. It is told
	 * again with each sweep until that is cleared. */
	void (*stale)(void *arg, uint32_t slot, uint16_t life);
};

/* Ever. */
struct bp_worker_events_counts {
	uint64_t answers; /* given */
	uint64_t stale;   /* told by an event */
	uint64_t swept;   /* found by the sweep */
	uint64_t known;   /* events of a session that is not stale any more */
	uint64_t untrue;  /* whose token is not that of the slot's session, or which are none */
};

/* `tables` and `arg` are the caller's and stay. base NULL: the caller makes the turns. NULL without
 * memory. */
struct bp_worker_events *bp_worker_events_new(struct event_base *base,
	const struct bp_phd_tables *tables, const struct bp_worker_events_ops *ops, void *arg);
void bp_worker_events_free(struct bp_worker_events *e);

/* Takes up to BP_EVENTS_BATCH_MAX events, and looks at the sessions that are due by mono_ns.
 * Whether there may be more events. */
bool bp_worker_events_poll(struct bp_worker_events *e, uint64_t mono_ns);

const struct bp_worker_events_counts *bp_worker_events_counts(const struct bp_worker_events *e);

#endif
