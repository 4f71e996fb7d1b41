/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MONITORING_FAULT_MESSAGE_H
#define BP_DATAPLANE_MONITORING_FAULT_MESSAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/log.h"
#include "shm/fault.h"

struct bp_config_monitoring;

#define BP_FAULT_CPU_ANY UINT_MAX /* the worker has no CPU of its own */

enum bp_fault_change {
	BP_FAULT_RAISED,
	BP_FAULT_ONGOING, /* it continues, or was raised and cleared since the last line */
	BP_FAULT_CLEARED,
};

/* The fields of an event. */
struct bp_fault_message {
	enum bp_fault_kind kind;
	enum bp_fault_change news;
	const char *subject;
	const struct bp_config_monitoring *settings;
	bool active;     /* current state */
	uint64_t spells; /* number of times that it was raised since the last line */
	uint64_t events,
		/* since the last line: frames, or poll gaps and their total duration */
		events_ns;
	uint64_t all, all_ns; /* the same, since the fault was raised */
	uint64_t lasts_ns;    /* duration of the fault so far, or total */
	uint64_t line_ns;     /* time since the last line */
	uint64_t worst;       /* worst value since the fault was raised */
	uint32_t free, size;  /* mbufs of the pool */
	unsigned cpu;         /* CPU of the worker, or BP_FAULT_CPU_ANY */
	uint32_t connections; /* connections that are forwarded without inspection */
	bool never;           /* the link has not been up since the start */
};

/* An event of the log: what happened, and fields for the subject, counts and times. */
#define BP_FAULT_FIELDS_MAX 10
struct bp_fault_event {
	enum bp_log_level level;
	const char *message; /* a constant */
	struct bp_log_field field[BP_FAULT_FIELDS_MAX + 1];
	unsigned n_fields;
};
/* Formats the event. `e` points into *s. */
void bp_fault_message_format(const struct bp_fault_message *s, struct bp_fault_event *e);

#endif
