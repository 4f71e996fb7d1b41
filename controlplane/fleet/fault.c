/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/fault.h"

#include <stdio.h>

#include "controlplane/fleet/state.h"

static bool is_bad(struct bp_fleet_fault *f, const struct bp_fleet_state *s, uint64_t now_ns)
{
	/* one that gets no epoch connects again and again */
	if (f->good_ns == 0 || (bp_fleet_state_connected(s) && bp_fleet_state_epoch(s) != 0))
		f->good_ns = now_ns;
	return now_ns - f->good_ns >= BP_FLEET_FAULT_NS ||
	       bp_fleet_state_lag_ns(s) >= BP_FLEET_FAULT_NS;
}

void bp_fleet_fault_set(struct bp_fleet_fault *f, enum bp_fault_kind kind, bool bad,
	uint64_t after_ns, struct bp_fault_row *rows, struct bp_event_ring *events, uint64_t now_ns,
	uint64_t unix_ns)
{
	const bool was = f->is.active != 0;

	f->is.kind = kind;
	snprintf(f->is.subject, sizeof(f->is.subject), "fleet");
	if (bad && !was) {
		f->is.spells++;
		f->is.began_ns = unix_ns - after_ns;
		f->is.ended_ns = 0;
		f->began_ns = now_ns - after_ns;
	}
	if (bad || was) {
		const uint64_t lasted = now_ns - f->began_ns;

		f->is.total = f->ended_total_ns + lasted;
		if (lasted > f->is.worst)
			f->is.worst = lasted;
	}
	if (was && !bad) {
		f->is.ended_ns = unix_ns;
		f->ended_total_ns = f->is.total;
	}
	f->is.active = bad;
	/* each time: the publisher initialises the table when it starts */
	bp_fault_write(&rows[kind - BP_FAULT_CONTROLPLANE_FIRST], &f->is);
	if (bad != was)
		bp_fault_event(events, &f->is, unix_ns);
}

void bp_fleet_fault_update(struct bp_fleet_fault *f, const struct bp_fleet_state *s,
	struct bp_fault_row *rows, struct bp_event_ring *events, uint64_t now_ns, uint64_t unix_ns)
{
	bp_fleet_fault_set(f, BP_FAULT_FLEET_STATE, is_bad(f, s, now_ns), BP_FLEET_FAULT_NS, rows,
		events, now_ns, unix_ns);
}
