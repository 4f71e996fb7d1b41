/* SPDX-License-Identifier: BSD-3-Clause */
/* From the rings to the spool, and from there to the link. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/clock.h"
#include "controlplane/publisher_internal.h"

/* While the link is down a transaction gathers what comes in this time. */
#define SPOOL_PAUSE_NS 20000000ull
/* After a failure of the disk it is left alone for a moment. */
#define SPOOL_RETRY_NS 1000000000ull
/* Acknowledged rows wait so long, or for so many of them, to be deleted together. */
#define DELETE_PAUSE_NS 100000000ull
#define DELETE_BATCH 1024u
/* Acknowledged rows that can't be deleted: beyond this no more rows are sent. */
#define GONE_MAX 65536u
/* One turn of the event loop spools at most so much. */
#define SPOOL_BATCH 512u
#define SPOOL_BATCH_BYTES (4u << 20)

void bp_publish_disk_failed(struct bp_publisher *p, uint64_t now)
{
	bp_count(&p->g->cp_spool_errors, 1);
	p->spool_broken = true;
	p->spool_retry_ns = now + SPOOL_RETRY_NS;
	bp_log_limited(&p->log_disk, BP_LOG_ERROR,
		"%s; see that the folder of mqtt.spool.path can be written and has room: alarms "
		"stay in memory until then",
		bp_spool_error(p->spool));
}

void bp_publish_count_dropped(struct bp_publisher *p)
{
	struct bp_spool_events e = bp_spool_take_events(p->spool);

	bp_count(&p->g->cp_alarms_dropped_size, e.dropped_size);
	bp_count(&p->g->cp_alarms_dropped_age, e.dropped_age);
	if (e.dropped_size + e.dropped_age != 0)
		bp_log_limited(&p->log_dropped, BP_LOG_ERROR,
			"the spool gave up its %" PRIu64
			" oldest alarms, which never reached the edge broker: %s",
			e.dropped_size + e.dropped_age,
			e.dropped_size != 0 ? "it reached max_size"
					    : "they were older than max_age");
}

/* A copy of the alarm under an id that no other has. */
static const struct bp_alarm *renumber(struct bp_publisher *p, const struct bp_alarm *a)
{
	size_t size = bp_alarm_size(a);

	if (size > p->renumbered_size) {
		struct bp_alarm *bigger = realloc(p->renumbered, size);

		if (bigger == NULL)
			return NULL;
		p->renumbered = bigger;
		p->renumbered_size = size;
	}
	memcpy(p->renumbered, a, size);
	p->renumbered->id =
		atomic_fetch_add_explicit(&p->g->next_alarm_id, 1, memory_order_relaxed);
	return p->renumbered;
}

/*
 * What one transaction takes from a lane: for each row its id and the entry it was in flight as, to
 * be noted when it is committed.
 */
struct spool_row {
	uint64_t id, number;
	bool entry;
};
struct spool_batch {
	struct spool_row row[SPOOL_BATCH];
	unsigned rows;
	uint64_t bytes, added;
};

static bool batch_full(const struct spool_batch *b)
{
	return b->rows == SPOOL_BATCH || b->bytes >= SPOOL_BATCH_BYTES;
}

static bool spool_add(struct bp_publisher *p, struct spool_batch *b, const struct bp_alarm *a,
	bool entry, uint64_t number)
{
	enum bp_spool_added r = bp_spool_add(p->spool, a);

	/* After the segment was lost, its ids may begin again below those of the spool. */
	while (r == BP_SPOOL_CONFLICT) {
		a = renumber(p, a);
		if (a == NULL)
			return false;
		r = bp_spool_add(p->spool, a);
	}
	if (r == BP_SPOOL_FAILED)
		return false;
	b->added += r == BP_SPOOL_ADDED;
	b->bytes += bp_alarm_size(a);
	b->row[b->rows++] = (struct spool_row){a->id, number, entry};
	return true;
}

/* Adds what was or is in flight; false when the disk would not. */
static bool spool_entries(
	struct bp_publisher *p, struct spool_batch *b, struct bp_lane *l, bool sent_too)
{
	for (uint64_t n = l->first; n != l->next && !batch_full(b); n++) {
		struct bp_lane_entry *e = bp_lane_entry(l, n);
		const struct bp_alarm *a;

		if (e->state == BP_LANE_DONE || (e->state == BP_LANE_SENT && !sent_too))
			continue;
		a = bp_lane_record(l, e);
		if (a != NULL && !spool_add(p, b, a, true, n))
			return false;
	}
	return true;
}

/* Adds what was not read; *cursor moves behind it. */
static bool spool_unread(
	struct bp_publisher *p, struct spool_batch *b, struct bp_lane *l, uint64_t *cursor)
{
	while (!batch_full(b)) {
		uint64_t end = *cursor;
		const struct bp_alarm *a;

		if (!bp_lane_read(l, &end, &a))
			return true;
		if (bp_publish_look_at(p, l, end, a) && !spool_add(p, b, a, false, 0))
			return false;
		*cursor = end;
	}
	return true;
}

/* The batch is on disk: what it took from the ring is safe. */
static void spool_committed(
	struct bp_publisher *p, const struct spool_batch *b, struct bp_lane *l, uint64_t cursor)
{
	for (unsigned i = 0; i < b->rows; i++) {
		const struct spool_row *r = &b->row[i];
		struct bp_lane_entry *e = r->entry ? bp_lane_entry(l, r->number) : NULL;
		bool in_flight = e != NULL && e->state == BP_LANE_SENT;

		bp_backlog_added(&p->backlog, r->id, in_flight);
		if (in_flight)
			bp_inflight_to_backlog(&p->inflight, e->mid, r->id);
		if (e != NULL)
			bp_lane_set_done(l, e);
	}
	if (cursor != l->cursor)
		bp_lane_push_done(l, cursor);
	bp_count(&p->g->cp_alarms_spooled, b->added);
	bp_publish_count_dropped(p);
}

/*
 * One transaction: the lane's pending entries, with sent_too those in flight also, and what was not
 * read. Returns false when the disk would not; then nothing changed.
 */
static bool spool_lane(struct bp_publisher *p, struct bp_lane *l, bool sent_too, uint64_t now)
{
	static struct spool_batch b; /* too large for a stack; used by the event loop alone */
	uint64_t cursor = l->cursor;

	b.rows = 0;
	b.bytes = 0;
	b.added = 0;
	if (!bp_spool_begin(p->spool) || !spool_entries(p, &b, l, sent_too))
		goto failed;
	/* Without a free entry the unread part can't be noted: its turn comes later. */
	if (!bp_lane_full(l) && !spool_unread(p, &b, l, &cursor))
		goto failed;
	if (b.rows == 0)
		bp_spool_rollback(p->spool);
	else if (!bp_spool_commit(p->spool))
		goto failed;
	spool_committed(p, &b, l, cursor);
	bp_lane_release(l);
	if (batch_full(&b))
		bp_publish_again(p);
	return true;
failed:
	bp_spool_rollback(p->spool);
	bp_publish_disk_failed(p, now);
	return false;
}

/* Whether anything of the lane waits while the link is down. */
static bool lane_waits(const struct bp_lane *l)
{
	return l->pending != 0 || bp_lane_unread(l) != 0;
}

void bp_publish_spool_down(struct bp_publisher *p, uint64_t now)
{
	bool grace = now - p->down_since_ns < BP_PUBLISH_DOWN_GRACE_NS;
	bool pause = now - p->spooled_ns < SPOOL_PAUSE_NS;

	for (unsigned i = 0; i < p->lanes; i++) {
		struct bp_lane *l = &p->lane[i];
		bool urgent = bp_lane_used(l) > l->ring->capacity / 2;

		if (!lane_waits(l) || ((grace || pause) && !urgent))
			continue;
		p->spooled_ns = now;
		if (!spool_lane(p, l, false, now))
			return;
	}
}

/*
 * The broker does not keep up: what is not read yet goes to the spool once the ring is half full,
 * down to an eighth; what is in flight too once that alone holds three quarters of the ring.
 */
void bp_publish_spool_overflow(struct bp_publisher *p, uint64_t now)
{
	bool spilling = false;

	if (!p->window_full && !p->spilling)
		return;
	for (unsigned i = 0; i < p->lanes; i++) {
		struct bp_lane *l = &p->lane[i];
		uint64_t capacity = l->ring->capacity, used = bp_lane_used(l);
		bool stuck = used > capacity / 4 * 3;

		if (!stuck && used <= capacity / 2 &&
			!(p->spilling && bp_lane_unread(l) > capacity / 8))
			continue;
		if (!stuck && bp_lane_unread(l) == 0)
			continue;
		spilling = true;
		if (!spool_lane(p, l, stuck, now))
			break;
	}
	p->spilling = spilling;
}

void bp_publish_delete_gone(struct bp_publisher *p, uint64_t now)
{
	uint64_t deleted;

	if (p->backlog.n_gone == 0 || bp_publish_disk_rests(p, now))
		return;
	if (p->delete_due_ns == 0)
		p->delete_due_ns = now + DELETE_PAUSE_NS;
	if (p->backlog.n_gone < DELETE_BATCH && now < p->delete_due_ns && !p->draining)
		return;
	if (!bp_backlog_delete_gone(&p->backlog, &deleted))
		bp_publish_disk_failed(p, now);
	bp_count(&p->g->cp_alarms_unspooled, deleted);
	p->delete_due_ns = 0;
}

/* Everything that is still in the rings, in flight or not, to the spool. */
void bp_publish_spool_rest(struct bp_publisher *p, uint64_t now)
{
	for (unsigned i = 0; i < p->lanes; i++) {
		struct bp_lane *l = &p->lane[i];
		/* What the worker adds meanwhile is its next owner's. */
		uint64_t left = bp_lane_used(l);

		while (left != 0 && bp_lane_used(l) != 0) {
			uint64_t tail = bp_ring_tail(l->ring), moved;

			if (!spool_lane(p, l, true, now))
				return;
			moved = bp_ring_tail(l->ring) - tail;
			if (moved == 0)
				break;
			left = moved < left ? left - moved : 0;
		}
	}
}

/* ---- spool to link ---- */

static enum bp_backlog_sent send_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct bp_publisher *p = arg;
	uint32_t share = p->window / BP_PUBLISH_BACKLOG_SHARE;
	uint16_t mid = 0;
	int rc;

	if (p->inflight.backlog >= (share == 0 ? 1 : share) || !bp_publish_fits(p, a))
		return BP_BACKLOG_STOP;
	if (!bp_publishable(a)) {
		bp_publish_invalid(p, a, "its topic is not valid");
		return BP_BACKLOG_DISCARD;
	}
	rc = bp_publish_alarm(p, a, &mid);
	if (rc > 0) {
		bp_publish_invalid(p, a, "the client library does not take it");
		return BP_BACKLOG_DISCARD;
	}
	if (rc < 0)
		return BP_BACKLOG_STOP;
	p->mid_clash |= !bp_inflight_add(
		&p->inflight, mid, BP_INFLIGHT_BACKLOG, 0, id, bp_publish_weight(a), bp_mono_ns());
	return p->mid_clash ? BP_BACKLOG_STOP : BP_BACKLOG_SENT;
}

void bp_publish_backlog(struct bp_publisher *p, uint64_t now)
{
	uint32_t share = p->window / BP_PUBLISH_BACKLOG_SHARE;

	/* While live alarms overflow to the disk, a row sent would only put another there. */
	if (p->draining || p->spilling || bp_publish_disk_rests(p, now) ||
		p->backlog.n_gone > GONE_MAX || bp_spool_rows(p->spool) == 0)
		return;
	/* A few rows at a time would cost a query each. */
	if (p->inflight.backlog > share / 2)
		return;
	if (!bp_backlog_offer(&p->backlog, send_row, p))
		bp_publish_disk_failed(p, now);
}
