/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_PACE_H
#define BP_DAEMON_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How often a line may be written about one thing: BP_PACE_BURST at once, and on average one a
 * period. So in any time T no more than BP_PACE_BURST + T / period lines are written, whatever
 * happens. Time is a parameter, of a clock that does not go back.
 */
#define BP_PACE_BURST 4u

struct bp_pace {
	uint64_t period_ns;
	uint64_t filled_ns; /* up to here the lines that may be written are counted */
	uint64_t last_ns;   /* of the last line */
	uint32_t lines;     /* that may be written */
	bool written;       /* some was */
};

void bp_pace_init(struct bp_pace *p, uint64_t period_ns, uint64_t now_ns);
/* Whether a line may be written now. `urgent`: it tells that something began or ended; else only
 * that it goes on, and a period must have passed since the last line. */
bool bp_pace_may(struct bp_pace *p, bool urgent, uint64_t now_ns);
/* Notes that one was written, which bp_pace_may() has just allowed. */
void bp_pace_take(struct bp_pace *p, uint64_t now_ns);

#endif
