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
	BP_FAULT_ONGOING, /* it continues, or was raised and cleared since the last line */
	BP_FAULT_CLEARED,
};

/* What an event reports. */
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

/* An event of the log: what happened, and fields for the subject, counts and times. */
#define BP_FAULT_FIELDS_MAX 10
struct bp_fault_event {
	enum bp_log_level level;
	const char *message; /* constant */
	struct bp_log_field field[BP_FAULT_FIELDS_MAX + 1];
	unsigned n_fields;
};
/* `e` points into *s. */
void bp_fault_message_format(const struct bp_fault_message *s, struct bp_fault_event *e);

#endif
