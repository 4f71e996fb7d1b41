/* SPDX-License-Identifier: BSD-3-Clause */
/* From the rings to the spool. */
#include <stdlib.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/alarms/publisher_internal.h"

/* While the link is down, one transaction collects the alarms of this interval. */
#define SPOOL_PAUSE_NS 20000000ull
/* Delay after a failure of the disk. */
#define SPOOL_RETRY_NS 1000000000ull
/* Maximum number of alarms spooled per iteration of the event loop; while a ring is almost full, so
 * that alarms are about to be lost. */
#define SPOOL_BATCH 512u
#define SPOOL_BATCH_FULL 2048u
#define SPOOL_BATCH_BYTES (4u << 20)

void bp_publish_disk_failed(struct bp_publisher *p, uint64_t now)
{
	bp_count(&p->c->spool_errors, 1);
	p->spool_broken = true;
	p->spool_retry_ns = now + SPOOL_RETRY_NS;
	p->disk_failed_ns = now;
}

void bp_publish_dropped(struct bp_publisher *p, enum bp_publish_drop reason, uint64_t n)
{
	_Atomic uint64_t *const counter[] = {[BP_DROP_SIZE] = &p->c->dropped_size,
		[BP_DROP_AGE] = &p->c->dropped_age,
		[BP_DROP_DISK] = &p->c->dropped_disk};

	bp_count(counter[reason], n);
	p->dropped += n;
}

/* Returns how many of the rows that were dropped are in flight; they are counted at their end. */
static uint64_t dropped_in_flight(struct bp_publisher *p, enum bp_publish_drop reason)
{
	const uint64_t oldest = bp_spool_oldest(p->spool);
	struct bp_inflight *f = &p->inflight;
	uint64_t n = 0;

	for (uint16_t mid = f->oldest; mid != 0; mid = f->slot[mid].newer) {
		const struct bp_inflight_slot *s = &f->slot[mid];

		if (s->kind != BP_INFLIGHT_BACKLOG || s->ref >= oldest)
			continue;
		bp_backlog_dropped(&p->backlog, s->ref);
		bp_inflight_drop(f, mid, reason);
		n++;
	}
	return n;
}

static void count_rows(struct bp_publisher *p, enum bp_publish_drop reason, uint64_t dropped)
{
	uint64_t known;

	if (dropped == 0)
		return;
	known = dropped_in_flight(p, reason) +
		bp_backlog_dropped_done(&p->backlog, bp_spool_oldest(p->spool));
	bp_publish_dropped(p, reason, dropped > known ? dropped - known : 0);
}

void bp_publish_count_dropped(struct bp_publisher *p)
{
	struct bp_spool_events e = bp_spool_take_events(p->spool);

	count_rows(p, BP_DROP_SIZE, e.dropped_size);
	count_rows(p, BP_DROP_AGE, e.dropped_age);
}

/* Returns a copy of the alarm with a new unique id. */
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
		atomic_fetch_add_explicit(&p->shm->shared->next_alarm_id, 1, memory_order_relaxed);
	return p->renumbered;
}

/* Alarms that a transaction takes from the rings: the first state, the first two, all. */
enum spool_mode { SPOOL_PENDING, SPOOL_UNREAD, SPOOL_SENT };

/* The rows of one transaction, with the updates for each row after the commit. */
struct spool_row {
	uint64_t id, key, number; /* number: of its lane entry, if it had one */
	unsigned lane;
	bool entry;
};
struct spool_batch {
	struct spool_row row[SPOOL_BATCH_FULL];
	unsigned rows, rows_max;
	uint64_t bytes, added;
	/* per lane: the next entry and the next record, and the ids of the records before it */
	uint64_t number[BP_MAX_WORKERS], cursor[BP_MAX_WORKERS];
	uint64_t first_id[BP_MAX_WORKERS], last_id[BP_MAX_WORKERS];
};

static bool batch_full(const struct spool_batch *b)
{
	return b->rows == b->rows_max || b->bytes >= SPOOL_BATCH_BYTES;
}

static bool spool_add(struct bp_publisher *p, struct spool_batch *b, const struct bp_alarm *a,
	struct spool_row row)
{
	enum bp_spool_added r = bp_spool_add(p->spool, a);

	/* After a loss of the segment, its ids may restart below those of the spool: at most as
	 * many conflicts as rows, unless the data plane keeps resetting the ids. */
	for (uint64_t tries = 0; r == BP_SPOOL_CONFLICT; tries++) {
		if (tries > bp_spool_rows(p->spool) + SPOOL_BATCH)
			return false;
		bp_publish_finished(p, a->id);
		a = renumber(p, a);
		if (a == NULL)
			return false;
		if (p->keeper != NULL)
			p->keeper->row(p->keeper->arg, p->to->id, a);
		r = bp_spool_add(p->spool, a);
	}
	if (r == BP_SPOOL_FAILED)
		return false;
	b->added += r == BP_SPOOL_ADDED;
	b->bytes += bp_alarm_size(a);
	row.id = a->id;
	b->row[b->rows++] = row;
	return true;
}

/* Returns whether this entry is taken. */
static bool takes(struct bp_lane *l, const struct bp_lane_entry *e, enum spool_mode mode)
{
	return (e->state == BP_LANE_PENDING || (e->state == BP_LANE_SENT && mode == SPOOL_SENT)) &&
	       bp_lane_record(l, e) != NULL;
}

/* Returns the id of the next alarm of the lane, an entry or a record; false: none. */
static bool next_of_lane(struct bp_publisher *p, struct spool_batch *b, unsigned lane,
	enum spool_mode mode, uint64_t *id)
{
	struct bp_lane *l = &p->lane[lane];
	uint64_t end = b->cursor[lane];
	const struct bp_alarm *a;

	for (; b->number[lane] != l->next; b->number[lane]++) {
		const struct bp_lane_entry *e = bp_lane_entry(l, b->number[lane]);

		if (!takes(l, e, mode))
			continue;
		*id = e->id;
		return true;
	}
	/* Without a free entry an unread record cannot be tracked: it is taken later. */
	if (mode == SPOOL_PENDING || bp_lane_full(l) || !bp_lane_read(l, &end, &a))
		return false;
	*id = a == NULL ? 0 : a->id;
	return true;
}

/* Takes the alarm; false when the disk fails. */
static bool take_of_lane(struct bp_publisher *p, struct spool_batch *b, unsigned lane)
{
	struct bp_lane *l = &p->lane[lane];
	struct spool_row row = {.lane = lane, .number = b->number[lane]};
	uint64_t end = b->cursor[lane], id;
	const struct bp_alarm *a;

	if (row.number != l->next) {
		row.entry = true;
		row.key = bp_lane_entry(l, row.number)->key;
		b->number[lane]++;
		return spool_add(p, b, bp_lane_record(l, bp_lane_entry(l, row.number)), row);
	}
	if (!bp_lane_read(l, &end, &a))
		return true;
	if (bp_publish_check(p, l, b->cursor[lane], end, a)) {
		row.key = bp_key_order_key(&p->order, a);
		if (!spool_add(p, b, a, row))
			return false;
	}
	b->cursor[lane] = end;
	id = bp_publish_order_id(p, a);
	if (b->first_id[lane] == 0)
		b->first_id[lane] = id;
	if (id != 0)
		b->last_id[lane] = id;
	return true;
}

/* Fills the batch, lowest ids first over all lanes. False when the disk fails. */
static bool fill(struct bp_publisher *p, struct spool_batch *b, enum spool_mode mode)
{
	for (unsigned looks = 0; !batch_full(b) && looks < 8 * b->rows_max; looks++) {
		uint64_t lowest = 0, id;
		unsigned lane = p->lanes;

		for (unsigned i = 0; i < p->lanes; i++) {
			if (!next_of_lane(p, b, i, mode, &id) || (lane != p->lanes && id >= lowest))
				continue;
			lowest = id;
			lane = i;
		}
		if (lane == p->lanes)
			return true;
		if (!take_of_lane(p, b, lane))
			return false;
	}
	bp_publish_reschedule(p);
	return true;
}

/* The batch is on disk: its alarms can be released from the rings. */
static void spool_committed(struct bp_publisher *p, const struct spool_batch *b)
{
	for (unsigned i = 0; i < b->rows; i++) {
		const struct spool_row *r = &b->row[i];
		struct bp_lane *l = &p->lane[r->lane];
		struct bp_lane_entry *e = r->entry ? bp_lane_entry(l, r->number) : NULL;
		bool in_flight = e != NULL && e->state == BP_LANE_SENT;

		bp_backlog_added(&p->backlog, r->id, in_flight);
		bp_key_order_row(&p->order, r->key, r->id);
		if (in_flight)
			bp_inflight_to_backlog(&p->inflight, e->mid, r->id);
		if (e != NULL && !in_flight)
			bp_key_order_go(&p->order, r->key);
		if (e != NULL)
			bp_lane_set_done(l, e);
	}
	for (unsigned i = 0; i < p->lanes; i++)
		if (b->cursor[i] != p->lane[i].cursor)
			bp_lane_push_done(&p->lane[i], b->cursor[i], b->first_id[i], b->last_id[i]);
	bp_count(&p->c->spooled, b->added);
	bp_publish_count_dropped(p);
	if (b->rows != 0)
		bp_publish_reschedule(p);
}

/*
 * Spools the waiting alarms of the rings in one transaction, ordered by id. Returns false when the
 * disk fails; the state is then unchanged.
 */
static bool spool_lanes(struct bp_publisher *p, enum spool_mode mode, uint64_t now)
{
	static struct spool_batch b; /* too large for the stack; only the event loop uses it */

	b.rows = 0;
	b.bytes = 0;
	b.added = 0;
	b.rows_max = SPOOL_BATCH;
	for (unsigned i = 0; i < p->lanes; i++) {
		if (bp_lane_used(&p->lane[i]) > p->lane[i].ring->capacity / 8 * 7)
			b.rows_max = SPOOL_BATCH_FULL;
		b.number[i] = p->lane[i].first;
		b.cursor[i] = p->lane[i].cursor;
		b.first_id[i] = b.last_id[i] = 0;
	}
	if (!bp_spool_begin(p->spool) || !fill(p, &b, mode))
		goto failed;
	if (b.rows == 0)
		bp_spool_rollback(p->spool);
	else if (!bp_spool_commit(p->spool))
		goto failed;
	spool_committed(p, &b);
	bp_publish_release(p);
	return true;
failed:
	bp_spool_rollback(p->spool);
	bp_publish_disk_failed(p, now);
	return false;
}

/* Returns whether any alarm of the lane waits while the link is down. */
static bool lane_waits(const struct bp_publisher *p, const struct bp_lane *l)
{
	return l->pending != 0 || bp_lane_unread(l) != 0 || (p->to->repeats && l->sent != 0);
}

void bp_publish_spool_down(struct bp_publisher *p, uint64_t now)
{
	bool grace = now - p->down_since_ns < BP_PUBLISH_DOWN_GRACE_NS;
	bool pause = now - p->spooled_ns < SPOOL_PAUSE_NS;
	bool waits = false, urgent = false;

	for (unsigned i = 0; i < p->lanes; i++) {
		waits |= lane_waits(p, &p->lane[i]);
		urgent |= lane_waits(p, &p->lane[i]) && bp_lane_crowded(&p->lane[i]);
	}
	if (!waits || ((grace || pause) && !urgent))
		return;
	p->spooled_ns = now;
	spool_lanes(p, p->to->repeats ? SPOOL_SENT : SPOOL_UNREAD, now);
}

/* Finished entries may be before the oldest alarm: they wait for other rings. */
static bool lane_overdue(const struct bp_publisher *p, const struct bp_lane *l, uint64_t now)
{
	uint64_t n = l->first;

	if (l->sent + l->pending == 0)
		return false;
	while (bp_lane_entry(l, n)->state == BP_LANE_DONE)
		n++;
	return now > bp_lane_entry(l, n)->read_ns &&
	       now - bp_lane_entry(l, n)->read_ns > p->ack_timeout_ns;
}

bool bp_publish_spool_overdue(struct bp_publisher *p, uint64_t now)
{
	bool unresponsive = p->to->repeats && bp_publish_unresponsive(p, now);
	bool pause = now - p->spooled_ns < SPOOL_PAUSE_NS, overdue = false;

	for (unsigned i = 0; i < p->lanes && p->to->repeats; i++)
		overdue |= lane_overdue(p, &p->lane[i], now) ||
			   (unresponsive && !pause && lane_waits(p, &p->lane[i]));
	if (!overdue)
		return false;
	p->spooled_ns = now;
	spool_lanes(p, SPOOL_SENT, now);
	return true;
}

/* Returns true with *mode when the lane overflows. */
static bool lane_overflows(
	const struct bp_publisher *p, const struct bp_lane *l, enum spool_mode *mode)
{
	uint64_t capacity = l->ring->capacity, used = bp_lane_used(l), unread = bp_lane_unread(l);

	if (used > capacity / 4 * 3) {
		*mode = SPOOL_SENT;
		return true;
	}
	return unread != 0 && (used > capacity / 2 || (p->spilling && unread > capacity / 8));
}

/*
 * The broker is too slow: unread records go to the spool when a ring is half full, until it is down
 * to an eighth; alarms in flight go too when they alone hold three quarters of the ring. When the
 * broker is fast enough, only alarms that wait for older ones of their key go to the spool, and
 * only from a ring that is half full: in most cases the backlog is sent before.
 */
void bp_publish_spool_overflow(struct bp_publisher *p, uint64_t now)
{
	enum spool_mode mode = SPOOL_UNREAD;
	bool spilling = false, held = bp_publish_older_wait(p);

	for (unsigned i = 0; i < p->lanes; i++) {
		const struct bp_lane *l = &p->lane[i];

		if (p->window_full || p->spilling)
			spilling |= lane_overflows(p, l, &mode);
		held |= l->pending != 0 && bp_lane_crowded(l);
	}
	p->spilling = spilling && spool_lanes(p, mode, now);
	if (!spilling && held)
		spool_lanes(p, SPOOL_PENDING, now);
	p->overload = spilling || held;
}

/* Whether an alarm of another gateway is to be added for this destination. */
static bool lacks(const struct bp_publisher *p, const struct bp_adopted *a)
{
	return bp_publish_is_for(p, a->alarm) && (a->added & 1u << p->to->id) == 0;
}

static bool add_adopted(struct bp_publisher *p, unsigned n, const struct bp_adopted *alarms)
{
	for (unsigned i = 0; i < n; i++)
		if (lacks(p, &alarms[i]) &&
			bp_spool_add(p->spool, alarms[i].alarm) != BP_SPOOL_ADDED)
			return false;
	return true;
}

static void adopted(struct bp_publisher *p, unsigned n, struct bp_adopted *alarms)
{
	for (unsigned i = 0; i < n; i++) {
		const struct bp_alarm *a = alarms[i].alarm;

		if (!lacks(p, &alarms[i]))
			continue;
		bp_backlog_added(&p->backlog, a->id, false);
		bp_key_order_row(&p->order, bp_key_order_key(&p->order, a), a->id);
		bp_count(&p->c->spooled, 1);
		alarms[i].added |= (uint8_t)(1u << p->to->id);
	}
	bp_publish_count_dropped(p);
	bp_publish_reschedule(p);
}

bool bp_publish_adopt(struct bp_publisher *p, unsigned n, struct bp_adopted *alarms, uint64_t now)
{
	unsigned lacking = 0;

	for (unsigned i = 0; i < n; i++) {
		lacking += lacks(p, &alarms[i]);
		if (bp_publish_is_for(p, alarms[i].alarm))
			alarms[i].wanted |= (uint8_t)(1u << p->to->id);
	}
	if (lacking == 0)
		return true;
	if (bp_publish_disk_rests(p, now))
		return false;
	if (!bp_spool_begin(p->spool) || !add_adopted(p, n, alarms) || !bp_spool_commit(p->spool)) {
		bp_spool_rollback(p->spool);
		bp_publish_disk_failed(p, now);
		return false;
	}
	adopted(p, n, alarms);
	return true;
}

static uint64_t lanes_used(const struct bp_publisher *p)
{
	uint64_t used = 0;

	for (unsigned i = 0; i < p->lanes; i++)
		used += bp_lane_used(&p->lane[i]);
	return used;
}

/* Of this publisher: another destination may keep the tails of the rings. */
static uint64_t lanes_tails(const struct bp_publisher *p)
{
	uint64_t tails = 0;

	for (unsigned i = 0; i < p->lanes; i++)
		tails += p->lane[i].tail;
	return tails;
}

/* Spools all alarms of the rings, in flight or not. The next control plane takes the alarms that
 * workers add meanwhile. */
void bp_publish_spool_rest(struct bp_publisher *p, uint64_t now)
{
	uint64_t left = lanes_used(p), moved;

	while (left != 0 && lanes_used(p) != 0) {
		uint64_t tails = lanes_tails(p);

		if (!spool_lanes(p, SPOOL_SENT, now))
			return;
		moved = lanes_tails(p) - tails;
		if (moved == 0)
			return;
		left = moved < left ? left - moved : 0;
	}
}

/* Drops the first alarm of the lane: an entry, or an unread record. */
static bool drop_first(struct bp_publisher *p, struct bp_lane *l)
{
	struct bp_lane_entry *e = bp_lane_entry(l, l->first);
	uint64_t cursor = l->cursor;
	const struct bp_alarm *a;

	if (l->first == l->next) {
		if (!bp_lane_read(l, &cursor, &a))
			return false;
		if (bp_publish_check(p, l, l->cursor, cursor, a))
			bp_publish_dropped(p, BP_DROP_DISK, 1);
		bp_lane_push_done(l, cursor, 0, 0);
	} else if (e->state == BP_LANE_SENT) {
		bp_inflight_drop(&p->inflight, e->mid, BP_DROP_DISK);
		bp_lane_set_done(l, e);
	} else if (e->state == BP_LANE_PENDING) {
		bp_key_order_go(&p->order, e->key);
		bp_publish_dropped(p, BP_DROP_DISK, 1);
		bp_lane_set_done(l, e);
	}
	bp_lane_release(l);
	return true;
}

void bp_publish_give_up(struct bp_publisher *p)
{
	for (unsigned i = 0; i < p->lanes; i++) {
		struct bp_lane *l = &p->lane[i];
		const uint64_t capacity = l->ring->capacity;

		if (l->other == NULL || bp_ring_used(l->ring) <= capacity / 8 * 7)
			continue;
		while (l->tail < l->other->tail && bp_ring_used(l->ring) > capacity / 4 * 3 &&
			drop_first(p, l))
			;
	}
}
