/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_ALARM_LOG_H
#define BP_CONTROLPLANE_ALARMS_ALARM_LOG_H

#include <stdint.h>

#include "shm/layout.h"

/*
 * The last BP_ALARM_LOG_LEN alarms, in the segment: the control plane writes, `biplane show alarms`
 * reads. The writer never waits; a reader skips an entry that is being written.
 */
struct bp_alarm_log_writer {
	struct bp_alarm_log *log;
	uint64_t next; /* position of the next entry */
};

/* Continues after the newest existing entry, so that a restart keeps the order of the log. */
void bp_alarm_log_open(struct bp_alarm_log_writer *w, struct bp_alarm_log *log);

/* Adds an alarm that passed bp_alarm_valid(). flow: its connection, or NULL if it is unknown. */
void bp_alarm_log_add(
	struct bp_alarm_log_writer *w, const struct bp_alarm *a, const struct bp_alarm_flow *flow);

/*
 * Copies the newest entries, at most `max`, oldest first, to `out`; returns their number. Strings
 * are terminated. Safe in any process and at any time.
 */
unsigned bp_alarm_log_read(const struct bp_alarm_log *log, struct bp_alarm_log *out, unsigned max);

#endif
