/* SPDX-License-Identifier: BSD-3-Clause */
/* From the rings to the link. */
#include "controlplane/process/clock.h"
#include "controlplane/alarms/publisher_internal.h"

/* Maximum number of alarms per iteration of the event loop. */
#define SEND_BATCH 512u

/* Returns whether one more live alarm may be sent: a share of the window is reserved for the
 * backlog. */
static bool live_can_send(const struct bp_publisher *p, const struct bp_alarm *a)
{
	bool backlog = bp_spool_rows(p->spool) > p->backlog.n_done && !p->draining;
	uint32_t window = bp_publish_window(p);
	uint32_t share = backlog ? window / BP_PUBLISH_BACKLOG_SHARE : 0;

	return bp_publish_fits(p, a) && p->inflight.count - p->inflight.backlog < window - share;
}

enum send_result { SEND_OK, SEND_NONE, SEND_FULL };

/* Sends one alarm of the ring and records it as in flight. */
static enum send_result send_live(struct bp_publisher *p, unsigned lane, const struct bp_alarm *a,
	uint64_t number, uint16_t *mid)
{
	int rc;

	if (bp_publish_taken(p, a->id))
		return SEND_NONE;
	if (!live_can_send(p, a))
		return SEND_FULL;
	rc = bp_publish_alarm(p, a, mid);
	if (rc < 0)
		return SEND_FULL;
	if (rc > 0) {
		bp_publish_invalid(p, a, "the client library rejects it");
		bp_publish_finished(p, a->id);
		return SEND_NONE;
	}
	if (!bp_inflight_add(&p->inflight, *mid, BP_INFLIGHT_LIVE, (uint8_t)lane, number,
		    bp_publish_weight(a))) {
		p->mid_clash = true;
		return SEND_FULL;
	}
	return SEND_OK;
}

/*
 * Returns the first pending entry of the lane that may be sent; NULL: none. The order of a key is
 * abandoned when its rows are unreadable for so long that alarms would be lost.
 */
static struct bp_lane_entry *sendable(struct bp_publisher *p, struct bp_lane *l)
{
	struct bp_lane_entry *e;

	while ((e = bp_lane_scan(l)) != NULL && bp_key_order_has_rows(&p->order, e->key) &&
		!bp_publish_order_given_up(p, l))
		l->scan++;
	return e;
}

/* Sends an alarm that waited in the ring. */
static bool send_pending(struct bp_publisher *p, unsigned lane, struct bp_lane_entry *e)
{
	struct bp_lane *l = &p->lane[lane];
	const struct bp_alarm *a = bp_lane_record(l, e);
	uint16_t mid = 0;

	switch (a == NULL ? SEND_NONE : send_live(p, lane, a, l->scan, &mid)) {
	case SEND_OK:
		if (bp_key_order_has_rows(&p->order, e->key))
			bp_count(&p->c->unordered, 1);
		bp_key_order_go(&p->order, e->key);
		bp_lane_set_sent(l, e, mid);
		break;
	case SEND_NONE:
		bp_key_order_go(&p->order, e->key);
		bp_lane_set_done(l, e);
		break;
	case SEND_FULL:
		return false;
	}
	return true;
}

/* Records when the record before `end` was read for the first time. */
static void stamp(struct bp_publisher *p, struct bp_lane *l, uint64_t end)
{
	struct bp_alarm_times times;

	if (l->stamped == end)
		return;
	l->stamped = end;
	l->read_ns = bp_mono_ns();
	l->stamps = bp_alarm_stages_read(
		p->latency, bp_lane_times(l, &times) ? &times : NULL, l->read_ns);
}

static bool push_done(
	struct bp_publisher *p, struct bp_lane *l, uint64_t end, const struct bp_alarm *a)
{
	const uint64_t id = bp_publish_order_id(p, a);

	return bp_lane_push_done(l, end, id, id);
}

/* Reads one new record: sends it, or marks it as waiting for older ones. */
static bool take_next(struct bp_publisher *p, unsigned lane)
{
	struct bp_lane *l = &p->lane[lane];
	uint64_t cursor = l->cursor, key;
	const struct bp_alarm *a;
	uint16_t mid = 0;

	if (!bp_lane_read(l, &cursor, &a))
		return true;
	if (!bp_publish_check(p, l, l->cursor, cursor, a))
		return push_done(p, l, cursor, a);
	stamp(p, l, cursor);
	if (bp_lane_full(l))
		return false;
	key = bp_key_order_key(&p->order, a);
	if (bp_key_order_is_blocked(&p->order, key)) {
		bp_publish_record(l, bp_lane_push_pending(l, cursor), a->id, key);
		bp_publish_wait(p, bp_lane_entry(l, l->next - 1));
		return true;
	}
	switch (send_live(p, lane, a, l->next, &mid)) {
	case SEND_OK:
		bp_publish_record(l, bp_lane_push_sent(l, cursor, mid), a->id, key);
		return true;
	case SEND_NONE:
		return push_done(p, l, cursor, a);
	case SEND_FULL:
		break;
	}
	return false;
}

/* Returns the id of the next alarm of a lane, or false. An invalid record is processed
 * immediately. */
static bool next_id(struct bp_publisher *p, struct bp_lane *l, uint64_t *id)
{
	const struct bp_lane_entry *e = sendable(p, l);
	uint64_t cursor = l->cursor;
	const struct bp_alarm *a;

	if (e != NULL) {
		*id = e->id;
		return true;
	}
	if (!bp_lane_read(l, &cursor, &a))
		return false;
	*id = a == NULL ? 0 : a->id;
	return true;
}

/* Selects the next lane by id: alarms of one topic may come from several workers. */
static bool next_lane(struct bp_publisher *p, uint64_t *ids, const bool *has, unsigned *lane)
{
	bool found = false;

	for (unsigned i = 0; i < p->lanes; i++) {
		if (!has[i] || (found && ids[i] >= ids[*lane]))
			continue;
		*lane = i;
		found = true;
	}
	return found;
}

/* Whether the next record is not to be published here, and there was an entry for it. */
static bool skip_next(struct bp_publisher *p, struct bp_lane *l)
{
	uint64_t cursor = l->cursor;
	const struct bp_alarm *a;

	return bp_lane_read(l, &cursor, &a) && !bp_publish_check(p, l, l->cursor, cursor, a) &&
	       push_done(p, l, cursor, a);
}

void bp_publish_skip(struct bp_publisher *p)
{
	for (unsigned i = 0; i < p->lanes; i++)
		for (unsigned n = 0; n < SEND_BATCH && skip_next(p, &p->lane[i]); n++)
			;
}

void bp_publish_lanes(struct bp_publisher *p)
{
	uint64_t ids[BP_MAX_WORKERS];
	bool has[BP_MAX_WORKERS];
	unsigned budget = SEND_BATCH, lane = 0;

	p->window_full = false;
	for (unsigned i = 0; i < p->lanes; i++)
		has[i] = next_id(p, &p->lane[i], &ids[i]);
	while (budget != 0 && next_lane(p, ids, has, &lane)) {
		struct bp_lane_entry *e = sendable(p, &p->lane[lane]);

		p->window_full = !(e != NULL ? send_pending(p, lane, e) : take_next(p, lane));
		if (p->window_full)
			return;
		has[lane] = next_id(p, &p->lane[lane], &ids[lane]);
		budget--;
	}
	if (budget == 0)
		bp_publish_reschedule(p);
}
