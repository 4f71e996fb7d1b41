/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/pace.h"

#include <string.h>

void bp_pace_init(struct bp_pace *p, uint64_t period_ns, uint64_t now_ns)
{
	memset(p, 0, sizeof(*p));
	p->period_ns = period_ns ? period_ns : 1;
	p->filled_ns = now_ns;
	p->lines = BP_PACE_BURST;
}

static void fill(struct bp_pace *p, uint64_t now_ns)
{
	uint64_t periods = now_ns > p->filled_ns ? (now_ns - p->filled_ns) / p->period_ns : 0;

	if (periods >= BP_PACE_BURST - p->lines) {
		p->lines = BP_PACE_BURST;
		/* a full budget does not grow */
		p->filled_ns = now_ns > p->filled_ns ? now_ns : p->filled_ns;
		return;
	}
	p->lines += (uint32_t)periods;
	p->filled_ns += periods * p->period_ns;
}

bool bp_pace_may(struct bp_pace *p, bool urgent, uint64_t now_ns)
{
	fill(p, now_ns);
	if (p->lines == 0)
		return false;
	return urgent || !p->written || now_ns - p->last_ns >= p->period_ns;
}

void bp_pace_take(struct bp_pace *p, uint64_t now_ns)
{
	p->lines--;
	p->last_ns = now_ns;
	p->written = true;
}
