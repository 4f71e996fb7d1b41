/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/alarm_stages.h"

#include <stdbool.h>
#include <stddef.h>

/* The worker's clock, from the time-stamp counter, may be ahead by this. */
#define AHEAD_NS 1000000u
#define AGE_MAX_NS 3600000000000ull

void bp_alarm_stages_reset(struct bp_alarm_latency *l)
{
	atomic_store_explicit(&l->invalid, 0, memory_order_relaxed);
	for (unsigned i = 0; i < BP_ALARM_STAGES; i++)
		bp_histogram_reset(&l->stage[i]);
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_valid(const struct bp_alarm_times *t, uint64_t now_ns)
{
	return t->received_ns != 0 && t->received_ns <= t->evaluated_ns &&
	       (t->evaluated_ns <= now_ns || t->evaluated_ns - now_ns <= AHEAD_NS) &&
	       (t->received_ns >= now_ns || now_ns - t->received_ns <= AGE_MAX_NS);
}

struct bp_alarm_stamps bp_alarm_stages_read(
	struct bp_alarm_latency *l, const struct bp_alarm_times *times, uint64_t now_ns)
{
	if (times == NULL)
		return (struct bp_alarm_stamps){0};
	if (!is_valid(times, now_ns)) {
		atomic_fetch_add_explicit(&l->invalid, 1, memory_order_relaxed);
		return (struct bp_alarm_stamps){0};
	}
	return (struct bp_alarm_stamps){
		.received_ns = min(times->received_ns, now_ns),
		.evaluated_ns = min(times->evaluated_ns, now_ns),
		.read_ns = now_ns,
	};
}

void bp_alarm_stages_acknowledged(struct bp_alarm_latency *l, const struct bp_alarm_stamps *s,
	uint64_t written_ns, uint64_t now_ns)
{
	if (s->received_ns == 0)
		return;
	/* acknowledged while it was still being written */
	if (written_ns == 0)
		written_ns = now_ns;
	bp_histogram_add(&l->stage[BP_ALARM_EVALUATE], s->evaluated_ns - s->received_ns);
	bp_histogram_add(&l->stage[BP_ALARM_HANDOVER], s->read_ns - s->evaluated_ns);
	bp_histogram_add(&l->stage[BP_ALARM_PUBLISH], written_ns - s->read_ns);
	bp_histogram_add(&l->stage[BP_ALARM_ACKNOWLEDGE], now_ns - written_ns);
	bp_histogram_add(&l->stage[BP_ALARM_TOTAL], now_ns - s->received_ns);
}
