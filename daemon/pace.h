/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_PACE_H
#define BP_DAEMON_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Rate limit for log lines about one subject: a burst of BP_PACE_BURST lines, and one line per
 * period on average. In any time T at most BP_PACE_BURST + T / period lines are written. The caller
 * passes the time of a monotonic clock, in nanoseconds.
 */
#define BP_PACE_BURST 4u

struct bp_pace {
	uint64_t period_ns;
	uint64_t filled_ns; /* time of the last refill of the budget */
	uint64_t last_ns;   /* time of the last line */
	uint32_t lines;     /* remaining budget, lines */
	bool written;       /* at least one line was written */
};

void bp_pace_init(struct bp_pace *p, uint64_t period_ns, uint64_t now_ns);
/* Returns whether a line may be written now. `urgent`: the line reports a begin or an end. Other
 * lines report a condition that continues, and a period must have passed since the last line. */
bool bp_pace_may(struct bp_pace *p, bool urgent, uint64_t now_ns);
/* Records one line that bp_pace_may() has allowed. */
void bp_pace_take(struct bp_pace *p, uint64_t now_ns);

#endif
