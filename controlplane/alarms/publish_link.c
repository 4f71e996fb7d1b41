/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of the link: what was acknowledged, refused, or is to be sent again. */
#include <stdatomic.h>

#include "controlplane/alarms/publisher_internal.h"
#include "controlplane/process/clock.h"

static void on_up(void *arg)
{
	struct bp_publisher *p = arg;

	bp_inflight_connected(&p->inflight);
	bp_count(&p->c->connects, 1);
	atomic_store_explicit(&p->c->connected, 1, memory_order_relaxed);
	bp_publish_update_brokers(p);
	bp_publish_reschedule(p);
}

static void on_unreachable(void *arg)
{
	struct bp_publisher *p = arg;

	if (atomic_load_explicit(&p->c->connected, memory_order_relaxed) == 0)
		return;
	bp_count(&p->c->disconnects, 1);
	atomic_store_explicit(&p->c->connected, 0, memory_order_relaxed);
	p->down_since_ns = bp_mono_ns();
	bp_publish_reschedule(p);
}

static void on_down(void *arg)
{
	struct bp_publisher *p = arg;

	on_unreachable(p);
	p->window_full = false;
	while (p->inflight.oldest != 0) {
		struct bp_inflight_slot s = bp_inflight_take(&p->inflight, p->inflight.oldest);

		if (s.kind == BP_INFLIGHT_DROPPED) {
			bp_publish_dropped(p, (enum bp_publish_drop)s.ref, 1);
		} else if (s.kind == BP_INFLIGHT_LIVE) {
			struct bp_lane *l = &p->lane[s.lane];
			struct bp_lane_entry *e = bp_lane_entry(l, s.ref);

			bp_lane_set_pending(l, e);
			bp_publish_wait(p, e);
		} else {
			bp_backlog_returned(&p->backlog, s.ref);
		}
	}
	bp_publish_reschedule(p);
}

/* An answer to one alarm: the others wait from now on. */
static void note_answer(struct bp_publisher *p, uint64_t now)
{
	p->unacked_ns = p->inflight.count != 0 ? now : 0;
}

static void on_acked(void *arg, uint16_t mid)
{
	struct bp_publisher *p = arg;
	struct bp_inflight_slot s = bp_inflight_take(&p->inflight, mid);
	uint64_t now = bp_mono_ns();
	struct bp_lane_entry *e;

	note_answer(p, now);
	bp_inflight_acked(&p->inflight, s.written_ns, now);
	switch ((enum bp_inflight_kind)s.kind) {
	case BP_INFLIGHT_FREE:
		return;
	case BP_INFLIGHT_LIVE:
		e = bp_lane_entry(&p->lane[s.lane], s.ref);
		bp_publish_finished(p, e->id);
		bp_alarm_stages_acknowledged(p->latency, &e->stamps, s.written_ns, now);
		bp_lane_set_done(&p->lane[s.lane], e);
		break;
	case BP_INFLIGHT_BACKLOG:
		bp_publish_finished(p, s.ref);
		bp_backlog_acked(&p->backlog, s.ref);
		break;
	case BP_INFLIGHT_DROPPED: /* too early: it is delivered */
		break;
	}
	bp_count(&p->c->acked, 1);
}

/* The alarm is finished: it is counted and not delivered. */
static void on_rejected(void *arg, uint16_t mid, const char *why)
{
	struct bp_publisher *p = arg;
	struct bp_inflight_slot s = bp_inflight_take(&p->inflight, mid);
	struct bp_lane_entry *e;

	if (s.kind == BP_INFLIGHT_FREE)
		return;
	note_answer(p, bp_mono_ns());
	bp_count(&p->c->rejected, 1);
	p->rejected++;
	if (s.kind == BP_INFLIGHT_DROPPED)
		return;
	if (s.kind == BP_INFLIGHT_BACKLOG) {
		bp_publish_rejected(p, s.ref, why);
		bp_publish_finished(p, s.ref);
		bp_backlog_acked(&p->backlog, s.ref);
		return;
	}
	e = bp_lane_entry(&p->lane[s.lane], s.ref);
	bp_publish_rejected(p, e->id, why);
	bp_publish_finished(p, e->id);
	bp_lane_set_done(&p->lane[s.lane], e);
}

const struct bp_link_events bp_publish_link_events = {.up = on_up,
	.down = on_down,
	.unreachable = on_unreachable,
	.acked = on_acked,
	.rejected = on_rejected,
	.ready = bp_publish_ready};
