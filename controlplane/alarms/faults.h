/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_FAULTS_H
#define BP_CONTROLPLANE_ALARMS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/log.h"
#include "daemon/pace.h"
#include "shm/layout.h"

/*
 * The control plane's faults: begin and end of each, its row in the segment and its lines in the
 * log. A fault is a lasting condition (the edge broker is unreachable), or consists of single
 * events (dropped alarms) and ends when there were none for log_interval.
 */
struct bp_fault {
	struct bp_fault_record is;  /* as in the segment */
	uint64_t began_ns, last_ns; /* monotonic: begin of the current occurrence; its last event */
	uint64_t done_ns;           /* total duration of earlier occurrences */
	uint64_t of_spell;          /* events of the current occurrence; the largest number of it */
	uint64_t n_unlogged;        /* events since the last line */
	uint64_t logged_ns;         /* monotonic: the last line */
	uint64_t remind_ns, remind_at; /* interval of lines while it lasts, doubling */
	bool raise_logged;             /* the begin was logged */
	struct bp_pace pace;
};

struct bp_faults {
	struct bp_fault_row *rows;
	struct bp_event_ring *events; /* NULL: none; set after bp_faults_init() */
	uint64_t log_interval_ns;
	struct bp_fault fault[BP_FAULT_OF_CONTROLPLANE];
	uint64_t now_ns, unix_ns;
};

void bp_faults_init(struct bp_faults *f, struct bp_fault_row *rows, const char *subject,
	uint64_t log_interval_ns, uint64_t now_ns);
/* Sets the time of the following calls. */
void bp_faults_at(struct bp_faults *f, uint64_t now_ns, uint64_t unix_ns);

/*
 * Reports a lasting condition: `bad`: active now, and since ago_ns; number: waiting alarms, 0 if
 * the kind has no number. `fields`: at most BP_FAULT_FIELDS_OF_CALLER fields for the lines, such as
 * the broker; duration and fault are added.
 */
#define BP_FAULT_FIELDS_OF_CALLER 8
void bp_fault_lasts(struct bp_faults *f, enum bp_fault_kind kind, bool bad, uint64_t ago_ns,
	uint64_t number, const struct bp_log_field *fields);
/* Reports n events since the last call. */
void bp_fault_happens(struct bp_faults *f, enum bp_fault_kind kind, uint64_t n);

#endif
