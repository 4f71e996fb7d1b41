/* SPDX-License-Identifier: BSD-3-Clause */
/* Order of alarms: which alarm waits for which, and until when. */
#include "controlplane/process/clock.h"
#include "controlplane/alarms/publisher_internal.h"

static bool show_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	const struct bp_publisher *p = arg;

	(void)id;
	if (a != NULL && p->keeper != NULL)
		p->keeper->row(p->keeper->arg, p->to->id, a);
	return true;
}

static bool on_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct bp_publisher *p = arg;

	if (a != NULL)
		bp_key_order_row(&p->order, bp_key_order_key(&p->order, a), id);
	return show_row(p, id, a);
}

void bp_publish_show_rows(struct bp_publisher *p)
{
	bool end;

	if (p->order_opened != 0 && !bp_spool_read(p->spool, 0, show_row, p, &end))
		bp_publish_unreadable(p, bp_mono_ns());
}

/* A newly opened file may contain unknown rows: all of them are read once. */
static void read_rows(struct bp_publisher *p, uint64_t now)
{
	const uint64_t opened = bp_spool_opened(p->spool);
	bool end;

	bp_key_order_forget_rows(&p->order);
	if (!bp_spool_read(p->spool, 0, on_row, p, &end)) {
		bp_publish_unreadable(p, now);
		return;
	}
	bp_publish_readable(p);
	bp_key_order_rows_known(&p->order);
	p->order_opened = opened;
}

/*
 * A row counts until it is deleted. While the spool is broken and rows cannot be deleted, a row
 * counts until it was sent.
 */
static uint64_t oldest_that_counts(const struct bp_publisher *p)
{
	if (!p->spool_broken)
		return bp_spool_oldest(p->spool);
	return p->backlog.end ? UINT64_MAX : p->backlog.from;
}

void bp_publish_unreadable(struct bp_publisher *p, uint64_t now)
{
	bp_publish_disk_failed(p, now);
	if (p->unreadable_ns == 0)
		p->unreadable_ns = now;
}

void bp_publish_readable(struct bp_publisher *p)
{
	p->unreadable_ns = 0;
}

void bp_publish_update_order(struct bp_publisher *p, uint64_t now)
{
	p->now_ns = now;
	if (p->order_opened != bp_spool_opened(p->spool) && !bp_publish_disk_rests(p, now))
		read_rows(p, now);
	if (bp_key_order_oldest(&p->order, oldest_that_counts(p)) || p->unreadable_ns != 0)
		bp_publish_rescan(p);
}

/*
 * While the link is up, an alarm that is in flight stays in its ring, and newer ones of its key may
 * be spooled. When the link is lost or the control plane restarts, it is older than rows of its
 * key: it becomes a row itself before any row is sent.
 */
void bp_publish_wait(struct bp_publisher *p, const struct bp_lane_entry *e)
{
	bp_key_order_wait(&p->order, e->key);
	if (e->id <= p->older_id || !bp_key_order_has_newer_row(&p->order, e->key, e->id))
		return;
	p->older_id = e->id;
	bp_publish_reschedule(p);
}

static uint64_t oldest_pending(const struct bp_lane *l)
{
	for (uint64_t n = l->first; l->pending != 0 && n != l->next; n++)
		if (bp_lane_entry(l, n)->state == BP_LANE_PENDING)
			return bp_lane_entry(l, n)->id;
	return UINT64_MAX;
}

bool bp_publish_older_wait(struct bp_publisher *p)
{
	for (unsigned i = 0; i < p->lanes && p->older_id != 0; i++)
		if (oldest_pending(&p->lane[i]) <= p->older_id)
			return true;
	p->older_id = 0;
	return false;
}

void bp_publish_rescan(struct bp_publisher *p)
{
	for (unsigned i = 0; i < p->lanes; i++)
		bp_lane_rescan(&p->lane[i]);
}

/*
 * Returns the id below which the tails of all rings may move. A finished entry of several alarms
 * that stays because of its last id also keeps its first one.
 */
static uint64_t release_limit(const struct bp_publisher *p)
{
	uint64_t limit = UINT64_MAX, before;

	do {
		before = limit;
		for (unsigned i = 0; i < p->lanes; i++) {
			const uint64_t id = bp_lane_oldest_after(&p->lane[i], limit);

			limit = id < limit ? id : limit;
		}
	} while (limit != before);
	return limit;
}

/*
 * The tail of a ring moves over finished alarms only up to the oldest unfinished alarm of all
 * rings: the alarms that a restart reads again are then all alarms from some id on, and end with
 * the newest alarm of each key. This holds for several destinations, too, if each of them counts
 * also the alarms that are only for another one: the lowest tail of each ring is then from the
 * lowest limit on. A nearly full ring does not wait.
 */
void bp_publish_release(struct bp_publisher *p)
{
	uint64_t limit;

	if (p->lanes == 1) {
		bp_lane_release(&p->lane[0]);
		return;
	}
	limit = release_limit(p);
	for (unsigned i = 0; i < p->lanes; i++)
		bp_lane_release_below(
			&p->lane[i], bp_lane_crowded(&p->lane[i]) ? UINT64_MAX : limit);
}
