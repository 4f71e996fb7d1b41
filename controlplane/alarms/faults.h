/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_FAULTS_H
#define BP_CONTROLPLANE_ALARMS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/pace.h"
#include "shm/layout.h"

/*
 * The control plane's faults: when each begins and ends, its row in the segment and its lines in
 * the log. A fault lasts (the edge broker is unreachable), or consists of single events (alarms
 * that were dropped), and is then over when there were none for log_interval.
 */
struct bp_fault {
	struct bp_fault_record is;     /* as the segment has it */
	uint64_t began_ns, last_ns;    /* monotonic: of this time; of its last event */
	uint64_t done_ns;              /* of the times that are over */
	uint64_t of_spell;             /* events of this time; the largest number of this time */
	uint64_t untold;               /* events since the last line */
	uint64_t remind_ns, remind_at; /* between two lines while it lasts, doubling */
	bool raise_logged;             /* that it began */
	struct bp_pace pace;
};

struct bp_faults {
	struct bp_fault_row *rows;
	uint64_t log_interval_ns;
	struct bp_fault fault[BP_FAULT_OF_CONTROLPLANE];
	uint64_t now_ns, unix_ns;
};

void bp_faults_init(struct bp_faults *f, struct bp_fault_row *rows, const char *subject,
	uint64_t log_interval_ns, uint64_t now_ns);
/* The moment of the calls that follow. */
void bp_faults_at(struct bp_faults *f, uint64_t now_ns, uint64_t unix_ns);

/*
 * What lasts: `bad` now, and since ago_ns; number: how many alarms wait, 0 where the kind has no
 * number. `what` is the line's middle, without a full stop: it may name the reason.
 */
void bp_fault_lasts(struct bp_faults *f, enum bp_fault_kind kind, bool bad, uint64_t ago_ns,
	uint64_t number, const char *what);
/* What happens: n times since the last call. */
void bp_fault_happens(struct bp_faults *f, enum bp_fault_kind kind, uint64_t n, const char *what);

#endif
