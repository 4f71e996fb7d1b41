/* SPDX-License-Identifier: BSD-3-Clause */
/* From the rings to the link. */
#include "controlplane/clock.h"
#include "controlplane/publisher_internal.h"

/* One turn of the event loop sends at most so much. */
#define SEND_BATCH 512u

/* Whether one more live alarm may go out: the backlog's share of the window is left to it. */
static bool live_fits(const struct bp_publisher *p, const struct bp_alarm *a)
{
	bool backlog = bp_spool_rows(p->spool) > p->backlog.n_gone && !p->spilling && !p->draining;
	uint32_t share = backlog ? p->window / BP_PUBLISH_BACKLOG_SHARE : 0;

	return bp_publish_fits(p, a) && p->inflight.count - p->inflight.backlog < p->window - share;
}

enum send_result { SEND_OK, SEND_NOTHING, SEND_FULL };

/* Sends one alarm of the ring and notes it in flight. */
static enum send_result send_live(struct bp_publisher *p, unsigned lane, const struct bp_alarm *a,
	uint64_t number, uint16_t *mid)
{
	int rc;

	if (!live_fits(p, a))
		return SEND_FULL;
	rc = bp_publish_alarm(p, a, mid);
	if (rc < 0)
		return SEND_FULL;
	if (rc > 0) {
		bp_publish_invalid(p, a, "the client library does not take it");
		return SEND_NOTHING;
	}
	if (!bp_inflight_add(&p->inflight, *mid, BP_INFLIGHT_LIVE, (uint8_t)lane, number,
		    bp_publish_weight(a), bp_mono_ns())) {
		p->mid_clash = true;
		return SEND_FULL;
	}
	return SEND_OK;
}

/* Sends what was in flight when the link was lost; false when the window is full. */
static bool send_pending(struct bp_publisher *p, unsigned lane)
{
	struct bp_lane *l = &p->lane[lane];
	uint16_t mid = 0;

	for (uint64_t n = l->first; l->pending != 0 && n != l->next; n++) {
		struct bp_lane_entry *e = bp_lane_entry(l, n);
		const struct bp_alarm *a;

		if (e->state != BP_LANE_PENDING)
			continue;
		a = bp_lane_record(l, e);
		switch (a == NULL ? SEND_NOTHING : send_live(p, lane, a, n, &mid)) {
		case SEND_OK:
			bp_lane_set_sent(l, e, mid);
			break;
		case SEND_NOTHING:
			bp_lane_set_done(l, e);
			break;
		case SEND_FULL:
			return false;
		}
	}
	return true;
}

/* Sends one record that was not read before. SEND_NOTHING: the ring has no more. */
static enum send_result send_next(struct bp_publisher *p, unsigned lane)
{
	struct bp_lane *l = &p->lane[lane];
	uint64_t cursor = l->cursor;
	const struct bp_alarm *a;
	uint16_t mid = 0;

	if (!bp_lane_read(l, &cursor, &a))
		return SEND_NOTHING;
	if (bp_publish_look_at(p, l, cursor, a)) {
		if (bp_lane_full(l))
			return SEND_FULL;
		switch (send_live(p, lane, a, l->next, &mid)) {
		case SEND_OK:
			bp_lane_push_sent(l, cursor, mid);
			return SEND_OK;
		case SEND_FULL:
			return SEND_FULL;
		case SEND_NOTHING:
			break;
		}
	}
	return bp_lane_push_done(l, cursor) ? SEND_OK : SEND_FULL;
}

/* One lane's turn; at most *budget alarms. False when the window is full. */
static bool send_lane(struct bp_publisher *p, unsigned lane, unsigned *budget)
{
	if (p->lane[lane].pending != 0 && !send_pending(p, lane))
		return false;
	while (*budget > 0) {
		switch (send_next(p, lane)) {
		case SEND_OK:
			(*budget)--;
			break;
		case SEND_NOTHING:
			return true;
		case SEND_FULL:
			return false;
		}
	}
	return true;
}

void bp_publish_lanes(struct bp_publisher *p)
{
	unsigned budget = SEND_BATCH;

	p->window_full = false;
	/* Each in its turn first, so that one busy worker can't keep the window to itself. */
	if (++p->first_lane >= p->lanes)
		p->first_lane = 0;
	for (unsigned i = 0; i < p->lanes && !p->window_full; i++) {
		unsigned lane = p->first_lane + i;

		p->window_full = !send_lane(p, lane < p->lanes ? lane : lane - p->lanes, &budget);
	}
	if (budget == 0)
		bp_publish_again(p);
}
