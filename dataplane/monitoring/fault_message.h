/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MONITORING_FAULT_MESSAGE_H
#define BP_DATAPLANE_MONITORING_FAULT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/log.h"
#include "shm/fault.h"

struct bp_config_monitoring;

enum bp_fault_change {
	BP_FAULT_RAISED,
	BP_FAULT_ONGOING, /* it goes on, or came and went while no line was to be written */
	BP_FAULT_CLEARED,
};

/* What a line tells. */
struct bp_fault_message {
	enum bp_fault_kind kind;
	enum bp_fault_change news;
	const char *subject;
	const struct bp_config_monitoring *settings;
	bool active;     /* now */
	uint64_t spells; /* times that it began since the last line */
	uint64_t events,
		events_ns;    /* since the last line: frames, or times away and for how long */
	uint64_t all, all_ns; /* of this time: the same */
	uint64_t lasts_ns;    /* this time, so far or in all */
	uint64_t line_ns;     /* since the last line */
	uint64_t worst;       /* of this time */
	uint32_t free, size;  /* buffers of the pool */
	unsigned cpu;         /* the worker's */
	uint32_t connections; /* that pass unread */
	bool never;           /* the link has not been up since the start */
};

/* The line, NUL terminated, without a line break. */
#define BP_FAULT_LINE 512
enum bp_log_level bp_fault_message_format(
	const struct bp_fault_message *s, char line[BP_FAULT_LINE]);

#endif
