/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_KEEPER_H
#define BP_CONTROLPLANE_ALARMS_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/alarm.h"
#include "shm/layout.h"

/*
 * Who keeps copies of unacknowledged alarms outside this gateway. The publisher calls these
 * functions from the event loop; they must not call the publisher.
 */
struct bp_alarm_keeper {
	/* A record of a ring is read for the first time: [start, end) in the ring. */
	void (*seen)(void *arg, const struct bp_alarm *a, const struct bp_ring *ring,
		uint64_t start, uint64_t end);
	/* A row of a spool, when its file is opened. */
	void (*row)(void *arg, enum bp_alarm_destination to, const struct bp_alarm *a);
	/* The destination has acknowledged or refused the alarm. */
	void (*finished)(void *arg, enum bp_alarm_destination to, uint64_t id);
	/* Whether another gateway publishes the alarm: it is finished here. */
	bool (*taken)(void *arg, uint64_t id);
	/* Whether nothing may be sent yet, because it is not known what others have taken. */
	bool (*hold)(void *arg, uint64_t now_ns);
	void *arg;
};

#endif
