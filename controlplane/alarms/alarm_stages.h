/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_ALARM_STAGES_H
#define BP_CONTROLPLANE_ALARMS_ALARM_STAGES_H

#include <stdint.h>

#include "biplane/alarm.h"
#include "shm/layout.h"

/*
 * Delay of each stage of the alarms that the publisher sends from a ring and the broker
 * acknowledges. All times are CLOCK_MONOTONIC, ns.
 */
struct bp_alarm_stamps {
	uint64_t received_ns, evaluated_ns; /* in the data plane; received_ns 0: not counted */
	uint64_t read_ns;                   /* by the publisher, for the first time */
};

/* Removes the values of an earlier control plane. */
void bp_alarm_stages_reset(struct bp_alarm_latency *l);

/*
 * Returns the stamps of an alarm that is read at `now_ns`. The data plane's times are not trusted:
 * if they contradict each other, are in the future, or are older than an hour, the alarm is counted
 * as invalid and its stages are not counted. NULL: the record has no times; it is not counted.
 */
struct bp_alarm_stamps bp_alarm_stages_read(
	struct bp_alarm_latency *l, const struct bp_alarm_times *times, uint64_t now_ns);

/* Counts all stages of an alarm that was written to the connection at written_ns (0: unknown), and
 * acknowledged now. */
void bp_alarm_stages_acknowledged(struct bp_alarm_latency *l, const struct bp_alarm_stamps *s,
	uint64_t written_ns, uint64_t now_ns);

#endif
