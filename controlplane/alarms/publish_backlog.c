/* SPDX-License-Identifier: BSD-3-Clause */
/* From the spool to the link. */
#include "controlplane/process/clock.h"
#include "controlplane/alarms/publisher_internal.h"

/* Acknowledged rows wait this long, or for this number of rows, and are deleted together; the delay
 * is shorter while alarms of their keys wait for the deletion. */
#define DELETE_PAUSE_NS 100000000ull
#define DELETE_PAUSE_HELD_NS 10000000ull
#define DELETE_BATCH 1024u
/* Maximum number of acknowledged rows that cannot be deleted: above it no more rows are sent. */
#define DONE_MAX 65536u

static bool lanes_hold(const struct bp_publisher *p)
{
	for (unsigned i = 0; i < p->lanes; i++)
		if (p->lane[i].pending != 0)
			return true;
	return false;
}

/* If the disk has no space for a deletion, the whole file is replaced when all of its rows are
 * acknowledged. Returns the number of rows. */
static uint64_t start_over(struct bp_publisher *p)
{
	uint64_t rows = bp_spool_rows(p->spool);

	if (!bp_spool_full(p->spool) || !p->backlog.end || p->inflight.backlog != 0 ||
		!bp_spool_start_over(p->spool))
		return 0;
	bp_backlog_clear(&p->backlog);
	return rows;
}

bool bp_publish_delete_done(struct bp_publisher *p, uint64_t now)
{
	uint64_t deleted;

	if (p->backlog.n_done == 0 || bp_publish_disk_rests(p, now))
		return false;
	if (p->delete_due_ns == 0)
		p->delete_due_ns = now + (lanes_hold(p) ? DELETE_PAUSE_HELD_NS : DELETE_PAUSE_NS);
	if (p->backlog.n_done < DELETE_BATCH && now < p->delete_due_ns && !p->draining)
		return false;
	if (!bp_backlog_delete_done(&p->backlog, &deleted)) {
		bp_publish_disk_failed(p, now);
		deleted = start_over(p);
	}
	bp_count(&p->c->unspooled, deleted);
	p->delete_due_ns = 0;
	bp_publish_reschedule(p);
	return true;
}

/* Returns how many more rows may be sent: in overload all that live alarms leave of the window. */
static uint32_t backlog_room(const struct bp_publisher *p)
{
	uint32_t window = bp_publish_window(p), share = window / BP_PUBLISH_BACKLOG_SHARE;
	uint32_t limit = p->overload ? window : share == 0 ? 1 : share;
	uint32_t rows = p->inflight.backlog, all = p->inflight.count;

	if (rows >= limit || all >= window)
		return 0;
	return limit - rows < window - all ? limit - rows : window - all;
}

static bool lanes_old_unread(const struct bp_publisher *p)
{
	for (unsigned i = 0; i < p->lanes; i++)
		if (bp_lane_old_unread(&p->lane[i]))
			return true;
	return false;
}

static enum bp_backlog_sent send_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct bp_publisher *p = arg;
	uint16_t mid = 0;
	int rc;

	if (backlog_room(p) == 0 || !bp_publish_fits(p, a))
		return BP_BACKLOG_STOP;
	if (bp_publish_taken(p, id))
		return BP_BACKLOG_DISCARD;
	if (!bp_publishable(a)) {
		bp_publish_invalid(p, a, "its topic is not valid");
		bp_publish_finished(p, id);
		return BP_BACKLOG_DISCARD;
	}
	rc = bp_publish_alarm(p, a, &mid);
	if (rc > 0) {
		bp_publish_invalid(p, a, "the client library rejects it");
		bp_publish_finished(p, id);
		return BP_BACKLOG_DISCARD;
	}
	if (rc < 0)
		return BP_BACKLOG_STOP;
	p->mid_clash |= !bp_inflight_add(
		&p->inflight, mid, BP_INFLIGHT_BACKLOG, 0, id, bp_publish_weight(a));
	return p->mid_clash ? BP_BACKLOG_STOP : BP_BACKLOG_SENT;
}

void bp_publish_backlog(struct bp_publisher *p, uint64_t now)
{
	uint32_t room = backlog_room(p);

	if (p->draining || bp_publish_disk_rests(p, now) || p->backlog.n_done > DONE_MAX ||
		bp_spool_rows(p->spool) == 0)
		return;
	/* An alarm of a ring may have to be sent first. */
	if (bp_publish_older_wait(p) || lanes_old_unread(p))
		return;
	/* A query for only a few rows costs too much. */
	if (room == 0 || room < bp_publish_window(p) / BP_PUBLISH_BACKLOG_SHARE / 2)
		return;
	if (bp_backlog_offer(&p->backlog, send_row, p))
		bp_publish_readable(p);
	else
		bp_publish_unreadable(p, now);
}
