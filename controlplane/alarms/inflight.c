/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/inflight.h"

#include <string.h>

void bp_inflight_init(struct bp_inflight *f)
{
	memset(f, 0, sizeof(*f));
}

bool bp_inflight_add(struct bp_inflight *f, uint16_t mid, enum bp_inflight_kind kind, uint8_t lane,
	uint64_t ref, uint32_t bytes)
{
	struct bp_inflight_slot *s = &f->slot[mid];

	if (mid == 0 || s->kind != BP_INFLIGHT_FREE)
		return false;
	s->written_ns = 0;
	s->ref = ref;
	s->bytes = bytes;
	s->kind = (uint8_t)kind;
	s->lane = lane;
	s->older = f->newest;
	s->newer = 0;
	if (f->newest != 0)
		f->slot[f->newest].newer = mid;
	else
		f->oldest = mid;
	f->newest = mid;
	f->count++;
	f->backlog += kind == BP_INFLIGHT_BACKLOG;
	f->bytes += bytes;
	return true;
}

void bp_inflight_written(struct bp_inflight *f, uint64_t now_ns)
{
	for (uint16_t mid = f->newest; mid != 0 && f->slot[mid].written_ns == 0;
		mid = f->slot[mid].older)
		f->slot[mid].written_ns = now_ns;
}

struct bp_inflight_slot bp_inflight_take(struct bp_inflight *f, uint16_t mid)
{
	struct bp_inflight_slot *s = &f->slot[mid], taken = *s;

	if (taken.kind == BP_INFLIGHT_FREE)
		return taken;
	if (s->older != 0)
		f->slot[s->older].newer = s->newer;
	else
		f->oldest = s->newer;
	if (s->newer != 0)
		f->slot[s->newer].older = s->older;
	else
		f->newest = s->older;
	f->count--;
	f->backlog -= taken.kind == BP_INFLIGHT_BACKLOG;
	f->bytes -= taken.bytes;
	memset(s, 0, sizeof(*s));
	return taken;
}

void bp_inflight_acked(struct bp_inflight *f, uint64_t written_ns, uint64_t now_ns)
{
	if (written_ns == 0 || now_ns <= written_ns)
		return;
	f->rtt_ns = now_ns - written_ns;
	if (f->rtt_min_ns == 0 || f->rtt_ns < f->rtt_min_ns)
		f->rtt_min_ns = f->rtt_ns;
}

void bp_inflight_connected(struct bp_inflight *f)
{
	f->rtt_ns = 0;
	f->rtt_min_ns = 0;
}

uint32_t bp_inflight_window(const struct bp_inflight *f, uint32_t max)
{
	uint32_t less = max / 4 > BP_INFLIGHT_WINDOW_NEAR ? max / 4 : BP_INFLIGHT_WINDOW_NEAR;

	return less < max && f->rtt_ns / 4 > f->rtt_min_ns ? less : max;
}

void bp_inflight_to_backlog(struct bp_inflight *f, uint16_t mid, uint64_t id)
{
	struct bp_inflight_slot *s = &f->slot[mid];

	if (s->kind != BP_INFLIGHT_LIVE)
		return;
	s->kind = BP_INFLIGHT_BACKLOG;
	s->ref = id;
	f->backlog++;
}

void bp_inflight_drop(struct bp_inflight *f, uint16_t mid, uint64_t reason)
{
	struct bp_inflight_slot *s = &f->slot[mid];

	if (s->kind == BP_INFLIGHT_FREE)
		return;
	f->backlog -= s->kind == BP_INFLIGHT_BACKLOG;
	s->kind = BP_INFLIGHT_DROPPED;
	s->ref = reason;
}
