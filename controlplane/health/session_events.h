/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SESSION_EVENTS_H
#define BP_CONTROLPLANE_HEALTH_SESSION_EVENTS_H

#include "biplane/health.h"
#include "services/health/manager.h"
#include "shm/events/event_ring.h"
#include "shm/health/phd.h"

/* Events of sessions of health devices that are operating: shm/events/event.h. */
struct bp_session_events {
	struct bp_event_ring ring; /* opened; size 0: no events */
	const struct bp_phd_tables *tables;
};

/* c: the ports that the gateway listens on. */
void bp_session_event_associated(
	struct bp_session_events *x, const struct bp_config_phd *c, uint32_t slot);
void bp_session_event_closed(struct bp_session_events *x, const struct bp_config_phd *c,
	uint32_t slot, enum bp_phd_closed why);

#endif
