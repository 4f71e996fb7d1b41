/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/publisher.h"

#include <event2/event.h>
#include <inttypes.h>
#include <mosquitto.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "controlplane/alarm_log.h"
#include "controlplane/backlog.h"
#include "controlplane/clock.h"
#include "controlplane/edge_settings.h"
#include "controlplane/envelope.h"
#include "controlplane/inflight.h"
#include "controlplane/lane.h"
#include "controlplane/log.h"
#include "controlplane/mosquitto_link.h"
#include "proto/mqtt.h"

/*
 * A worker makes no system call to wake anybody, so the rings are looked at this often: while
 * alarms come, and after none came for a while.
 */
#define TICK_BUSY_NS 250000
#define TICK_IDLE_NS 1000000
#define TICK_BUSY_FOR_NS 100000000ull
/* A link that comes back within this time costs no disk write, unless a ring fills. */
#define DOWN_GRACE_NS 250000000ull
/* While the link is down a transaction gathers what comes in this time. */
#define SPOOL_PAUSE_NS 20000000ull
/* After a failure of the disk it is left alone for a moment. */
#define SPOOL_RETRY_NS 1000000000ull
/* Acknowledged rows wait so long, or for so many of them, to be deleted together. */
#define DELETE_PAUSE_NS 100000000ull
#define DELETE_BATCH 1024u
/* Acknowledged rows that can't be deleted: beyond this no more rows are sent. */
#define GONE_MAX 65536u
/* One turn of the event loop sends or spools at most so much. */
#define SEND_BATCH 512u
#define SPOOL_BATCH 512u
#define SPOOL_BATCH_BYTES (4u << 20)
/* Copies of alarms that libmosquitto may hold. */
#define INFLIGHT_BYTES_MAX (16ull << 20)
/* Of the window, what rows of the spool may take while live alarms flow. */
#define BACKLOG_SHARE 4u
#define LANE_ENTRIES (4 * BP_PUBLISHER_WINDOW_MAX)

struct bp_publisher {
	struct event_base *base;
	struct bp_shm *shm;
	struct bp_shm_global *g;
	struct bp_edge_link *link;
	struct bp_spool *spool;
	struct bp_backlog backlog;
	struct bp_alarm_log_writer log;
	struct bp_lane *lane;
	unsigned lanes, first_lane; /* first_lane: whose turn it is */
	uint32_t window;
	uint64_t ack_timeout_ns;
	int tick_fd;
	long tick_ns;                     /* its period */
	uint64_t tick_read, tick_read_ns; /* alarms read, and when that last changed */
	struct event *tick_event, *again_event, *second_event;
	bool window_full;
	/* The library came round to a message id that is still in flight: the broker left one alarm
	 * unacknowledged for 65,535 others. What it says of that id can't be told apart any more.
	 */
	bool mid_clash;
	uint64_t down_since_ns;  /* monotonic; while the link is down */
	uint64_t spooled_ns;     /* the last transaction that was not urgent */
	uint64_t spool_retry_ns; /* not before */
	bool spool_broken;       /* since the last success of reopen_spool() */
	uint64_t delete_due_ns;  /* 0: nothing to delete */
	bool spilling;           /* a ring overflowed: its unread part goes to the spool */
	/* draining */
	bool draining;
	uint64_t drain_deadline_ns;
	void (*drained)(void *arg);
	void *drained_arg;
	/* scratch */
	struct bp_text envelope;
	struct bp_alarm *renumbered;
	size_t renumbered_size;
	char topic[UINT16_MAX + 1];
	struct bp_log_limit log_invalid, log_disk, log_dropped, log_timeout, log_damaged;
	struct bp_inflight inflight;
};

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void set(_Atomic uint64_t *gauge, uint64_t v)
{
	atomic_store_explicit(gauge, v, memory_order_relaxed);
}

static void update_gauges(struct bp_publisher *p)
{
	set(&p->g->cp_inflight, p->inflight.count);
	set(&p->g->cp_spool_rows, bp_spool_rows(p->spool));
	set(&p->g->cp_spool_bytes, bp_spool_bytes(p->spool));
}

/* Comes back without waiting for the tick, after other events had their turn. */
static void again(struct bp_publisher *p)
{
	static const struct timeval now = {0, 0};

	/* A timer of zero, not event_active(): sockets are looked at in between. */
	evtimer_add(p->again_event, &now);
}

/* ---- one alarm ---- */

/* Whether the alarm can be published at all. Ids are signed 64-bit numbers in the spool. */
static bool publishable(const struct bp_alarm *a)
{
	return a->id <= INT64_MAX && bp_mqtt_topic_valid(bp_alarm_to(a), a->to_len) &&
	       mosquitto_pub_topic_check2(bp_alarm_to(a), a->to_len) == MOSQ_ERR_SUCCESS;
}

static void count_invalid(struct bp_publisher *p, const struct bp_alarm *a, const char *why)
{
	add(&p->g->cp_alarms_invalid, 1);
	bp_log_limited(&p->log_invalid, BP_LOG_ERROR,
		"alarm %" PRIu64 " of rule '%.*s' is not published: %s", a == NULL ? 0 : a->id,
		a == NULL ? 0 : (int)a->rule_len, a == NULL ? "" : bp_alarm_rule(a), why);
}

/* 0 with *mid, > 0: can never be sent, < 0: can't now. */
static int send_alarm(struct bp_publisher *p, const struct bp_alarm *a, uint16_t *mid)
{
	const void *payload = bp_alarm_payload(a);
	size_t len = a->payload_len;

	if ((a->flags & BP_ALARM_F_ENVELOPE) != 0) {
		if (!bp_envelope(a, &p->envelope))
			return -1;
		payload = p->envelope.data;
		len = p->envelope.len;
	}
	memcpy(p->topic, bp_alarm_to(a), a->to_len);
	p->topic[a->to_len] = '\0';
	return bp_edge_link_publish(p->link, p->topic, payload, (uint32_t)len, mid);
}

static uint32_t weight(const struct bp_alarm *a)
{
	uint64_t n = bp_alarm_size(a);

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Whether one more alarm fits in the window and in the memory bound. */
static bool fits(const struct bp_publisher *p, const struct bp_alarm *a)
{
	return p->inflight.count < p->window &&
	       (p->inflight.count == 0 || p->inflight.bytes + weight(a) <= INFLIGHT_BYTES_MAX);
}

/* ---- rings to link ---- */

/* Counts and logs a record the first time it is read. Returns whether it is to be published. */
static bool look_at(
	struct bp_publisher *p, struct bp_lane *l, uint64_t end, const struct bp_alarm *a)
{
	bool first = end > l->seen, clone = a != NULL && (a->flags & BP_ALARM_F_CLONE) != 0;
	bool good = a != NULL && (clone || publishable(a));

	if (first) {
		l->seen = end;
		add(&p->g->cp_alarms_read, 1);
		if (a == NULL)
			bp_log_limited(&p->log_damaged, BP_LOG_ERROR,
				"an alarm ring holds a damaged record; it is passed over");
		if (good)
			bp_alarm_log_add(&p->log, a);
		else
			count_invalid(p, a, "its topic or record is not valid");
	}
	return good && !clone;
}

/* Whether one more live alarm may go out: the backlog's share of the window is left to it. */
static bool live_fits(const struct bp_publisher *p, const struct bp_alarm *a)
{
	bool backlog = bp_spool_rows(p->spool) > p->backlog.n_gone && !p->spilling && !p->draining;
	uint32_t share = backlog ? p->window / BACKLOG_SHARE : 0;

	return fits(p, a) && p->inflight.count - p->inflight.backlog < p->window - share;
}

enum send_result { SEND_OK, SEND_NOTHING, SEND_FULL };

/* Sends one alarm of the ring and notes it in flight. */
static enum send_result send_live(struct bp_publisher *p, unsigned lane, const struct bp_alarm *a,
	uint64_t number, uint16_t *mid)
{
	int rc;

	if (!live_fits(p, a))
		return SEND_FULL;
	rc = send_alarm(p, a, mid);
	if (rc < 0)
		return SEND_FULL;
	if (rc > 0) {
		count_invalid(p, a, "the client library does not take it");
		return SEND_NOTHING;
	}
	if (!bp_inflight_add(&p->inflight, *mid, BP_INFLIGHT_LIVE, (uint8_t)lane, number, weight(a),
		    bp_mono_ns())) {
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
	if (look_at(p, l, cursor, a)) {
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

static void send_lanes(struct bp_publisher *p)
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
		again(p);
}

/* ---- spool ---- */

static bool disk_rests(const struct bp_publisher *p, uint64_t now)
{
	return now < p->spool_retry_ns;
}

static void disk_failed(struct bp_publisher *p, uint64_t now)
{
	add(&p->g->cp_spool_errors, 1);
	p->spool_broken = true;
	p->spool_retry_ns = now + SPOOL_RETRY_NS;
	bp_log_limited(&p->log_disk, BP_LOG_ERROR,
		"%s; alarms stay in memory until the disk takes them", bp_spool_error(p->spool));
}

static void count_dropped(struct bp_publisher *p)
{
	struct bp_spool_events e = bp_spool_take_events(p->spool);

	add(&p->g->cp_alarms_dropped_size, e.dropped_size);
	add(&p->g->cp_alarms_dropped_age, e.dropped_age);
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
		if (look_at(p, l, end, a) && !spool_add(p, b, a, false, 0))
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
	add(&p->g->cp_alarms_spooled, b->added);
	count_dropped(p);
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
		again(p);
	return true;
failed:
	bp_spool_rollback(p->spool);
	disk_failed(p, now);
	return false;
}

/* Whether anything of the lane waits while the link is down. */
static bool lane_waits(const struct bp_lane *l)
{
	return l->pending != 0 || bp_lane_unread(l) != 0;
}

static void spool_while_down(struct bp_publisher *p, uint64_t now)
{
	bool grace = now - p->down_since_ns < DOWN_GRACE_NS;
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
static void spool_overflow(struct bp_publisher *p, uint64_t now)
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

static void delete_gone(struct bp_publisher *p, uint64_t now)
{
	uint64_t deleted;

	if (p->backlog.n_gone == 0 || disk_rests(p, now))
		return;
	if (p->delete_due_ns == 0)
		p->delete_due_ns = now + DELETE_PAUSE_NS;
	if (p->backlog.n_gone < DELETE_BATCH && now < p->delete_due_ns && !p->draining)
		return;
	if (!bp_backlog_delete_gone(&p->backlog, &deleted))
		disk_failed(p, now);
	add(&p->g->cp_alarms_unspooled, deleted);
	p->delete_due_ns = 0;
}

/* ---- spool to link ---- */

static enum bp_backlog_sent send_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct bp_publisher *p = arg;
	uint32_t share = p->window / BACKLOG_SHARE;
	uint16_t mid = 0;
	int rc;

	if (p->inflight.backlog >= (share == 0 ? 1 : share) || !fits(p, a))
		return BP_BACKLOG_STOP;
	if (!publishable(a)) {
		count_invalid(p, a, "its topic is not valid");
		return BP_BACKLOG_DISCARD;
	}
	rc = send_alarm(p, a, &mid);
	if (rc > 0) {
		count_invalid(p, a, "the client library does not take it");
		return BP_BACKLOG_DISCARD;
	}
	if (rc < 0)
		return BP_BACKLOG_STOP;
	p->mid_clash |= !bp_inflight_add(
		&p->inflight, mid, BP_INFLIGHT_BACKLOG, 0, id, weight(a), bp_mono_ns());
	return p->mid_clash ? BP_BACKLOG_STOP : BP_BACKLOG_SENT;
}

static void send_backlog(struct bp_publisher *p, uint64_t now)
{
	uint32_t share = p->window / BACKLOG_SHARE;

	/* While live alarms overflow to the disk, a row sent would only put another there. */
	if (p->draining || p->spilling || disk_rests(p, now) || p->backlog.n_gone > GONE_MAX ||
		bp_spool_rows(p->spool) == 0)
		return;
	/* A few rows at a time would cost a query each. */
	if (p->inflight.backlog > share / 2)
		return;
	if (!bp_backlog_offer(&p->backlog, send_row, p))
		disk_failed(p, now);
}

/* ---- the link's events and the clock ---- */

static bool ack_timed_out(struct bp_publisher *p, uint64_t now)
{
	const struct bp_inflight_slot *oldest = &p->inflight.slot[p->inflight.oldest];

	return p->inflight.oldest != 0 && now > oldest->sent_ns &&
	       now - oldest->sent_ns > p->ack_timeout_ns;
}

static void pump(struct bp_publisher *p);

static void release_lanes(struct bp_publisher *p)
{
	for (unsigned i = 0; i < p->lanes; i++)
		bp_lane_release(&p->lane[i]);
}

static void on_up(void *arg)
{
	struct bp_publisher *p = arg;

	add(&p->g->cp_edge_connects, 1);
	atomic_store_explicit(&p->g->cp_edge_connected, 1, memory_order_relaxed);
	again(p);
}

static void on_down(void *arg)
{
	struct bp_publisher *p = arg;

	add(&p->g->cp_edge_disconnects, 1);
	atomic_store_explicit(&p->g->cp_edge_connected, 0, memory_order_relaxed);
	p->down_since_ns = bp_mono_ns();
	p->window_full = false;
	while (p->inflight.oldest != 0) {
		struct bp_inflight_slot s = bp_inflight_take(&p->inflight, p->inflight.oldest);

		if (s.kind == BP_INFLIGHT_LIVE) {
			struct bp_lane *l = &p->lane[s.lane];

			bp_lane_set_pending(l, bp_lane_entry(l, s.ref));
		} else {
			bp_backlog_returned(&p->backlog, s.ref);
		}
	}
	again(p);
}

static void on_acked(void *arg, uint16_t mid)
{
	struct bp_publisher *p = arg;
	struct bp_inflight_slot s = bp_inflight_take(&p->inflight, mid);

	switch ((enum bp_inflight_kind)s.kind) {
	case BP_INFLIGHT_FREE:
		return;
	case BP_INFLIGHT_LIVE:
		bp_lane_set_done(&p->lane[s.lane], bp_lane_entry(&p->lane[s.lane], s.ref));
		break;
	case BP_INFLIGHT_BACKLOG:
		bp_backlog_acked(&p->backlog, s.ref);
		break;
	}
	add(&p->g->cp_alarms_acked, 1);
}

static void on_ready(void *arg)
{
	pump(arg);
}

/* Nothing is left in the rings. */
static bool empty(const struct bp_publisher *p)
{
	if (p->inflight.count != 0)
		return false;
	for (unsigned i = 0; i < p->lanes; i++)
		if (bp_lane_used(&p->lane[i]) != 0)
			return false;
	return true;
}

/* Everything that is still in the rings, in flight or not, to the spool. */
static void spool_rest(struct bp_publisher *p, uint64_t now)
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

static void drain(struct bp_publisher *p, uint64_t now)
{
	void (*done)(void *) = p->drained;

	if (!empty(p) && bp_edge_link_up(p->link) && now < p->drain_deadline_ns)
		return;
	if (done == NULL)
		return;
	p->drained = NULL;
	spool_rest(p, now);
	p->spool_retry_ns = 0;
	delete_gone(p, now);
	update_gauges(p);
	done(p->drained_arg);
}

static void send_all(struct bp_publisher *p, uint64_t now)
{
	send_lanes(p);
	send_backlog(p, now);
	if (p->mid_clash)
		bp_edge_link_reset(p->link, "an alarm was passed over by all acknowledgements");
	p->mid_clash = false;
}

static void pump(struct bp_publisher *p)
{
	uint64_t now = bp_mono_ns();

	if (bp_edge_link_up(p->link) && ack_timed_out(p, now)) {
		bp_log_limited(&p->log_timeout, BP_LOG_WARNING,
			"the edge broker did not acknowledge an alarm in time; what is in flight "
			"goes "
			"to the spool");
		bp_edge_link_reset(p->link, "an alarm was not acknowledged within ack_timeout");
		p->down_since_ns = now - DOWN_GRACE_NS;
		p->spooled_ns = 0;
	}
	if (bp_edge_link_up(p->link))
		send_all(p, now);
	release_lanes(p);
	if (!disk_rests(p, now)) {
		if (bp_edge_link_up(p->link))
			spool_overflow(p, now);
		else
			spool_while_down(p, now);
	}
	delete_gone(p, now);
	update_gauges(p);
	/* Last, since it may find the connection lost. */
	bp_edge_link_flush(p->link);
	if (p->draining)
		drain(p, now);
}

static bool set_tick(struct bp_publisher *p, long ns)
{
	struct itimerspec t = {{0, ns}, {0, ns}};

	p->tick_ns = ns;
	return timerfd_settime(p->tick_fd, 0, &t, NULL) == 0;
}

/* Looks often while alarms come, and costs little while none do. */
static void adapt_tick(struct bp_publisher *p)
{
	uint64_t read_now = atomic_load_explicit(&p->g->cp_alarms_read, memory_order_relaxed);
	uint64_t now = bp_mono_ns();

	if (read_now != p->tick_read) {
		p->tick_read = read_now;
		p->tick_read_ns = now;
		if (p->tick_ns != TICK_BUSY_NS)
			set_tick(p, TICK_BUSY_NS);
	} else if (p->tick_ns != TICK_IDLE_NS && now - p->tick_read_ns > TICK_BUSY_FOR_NS) {
		set_tick(p, TICK_IDLE_NS);
	}
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct bp_publisher *p = arg;
	uint64_t expirations;

	(void)what;
	if (read(fd, &expirations, sizeof(expirations)) != (ssize_t)sizeof(expirations))
		return;
	pump(p);
	adapt_tick(p);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pump(arg);
}

/* After a failure the file may have been closed, or be another: look at all its rows again. */
static void reopen_spool(struct bp_publisher *p, uint64_t now)
{
	if (!bp_spool_ready(p->spool)) {
		disk_failed(p, now);
		return;
	}
	p->spool_broken = false;
	bp_backlog_look_again(&p->backlog);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct bp_publisher *p = arg;
	uint64_t now = bp_mono_ns();

	(void)fd;
	(void)what;
	if (disk_rests(p, now))
		return;
	if (p->spool_broken)
		reopen_spool(p, now);
	if (!bp_spool_expire(p->spool, bp_unix_ns()))
		disk_failed(p, now);
	count_dropped(p);
	if (bp_spool_rows(p->spool) == 0)
		bp_spool_shrink(p->spool);
	update_gauges(p);
}

/* ---- start and end ---- */

int bp_publisher_check(const struct bp_config_mqtt *mqtt, char *err, size_t err_size)
{
	struct bp_edge_link_settings s;
	int rc = bp_edge_settings(&mqtt->edge, &s, err, err_size);

	explicit_bzero(&s, sizeof(s));
	return rc;
}

int bp_publisher_configure(
	struct bp_publisher *p, const struct bp_config_mqtt *mqtt, char *err, size_t err_size)
{
	struct bp_edge_link_settings s;

	if (bp_edge_settings(&mqtt->edge, &s, err, err_size) != 0)
		return -1;
	p->window = mqtt->edge.inflight < 1 ? 1 : mqtt->edge.inflight;
	if (p->window > BP_PUBLISHER_WINDOW_MAX)
		p->window = BP_PUBLISHER_WINDOW_MAX;
	p->ack_timeout_ns = mqtt->edge.ack_timeout_ns;
	bp_spool_set_bounds(p->spool, mqtt->spool.max_bytes, mqtt->spool.max_age_ns);
	if (mqtt->edge.enabled)
		bp_edge_link_configure(p->link, &s);
	explicit_bzero(&s, sizeof(s));
	return 0;
}

/* Alarms that come now must be told apart from those that wait on disk. */
static void raise_next_id(struct bp_publisher *p)
{
	uint64_t want = bp_spool_max_id(p->spool) + 1;
	uint64_t next = atomic_load_explicit(&p->g->next_alarm_id, memory_order_relaxed);

	while (next < want && !atomic_compare_exchange_weak_explicit(&p->g->next_alarm_id, &next,
				      want, memory_order_relaxed, memory_order_relaxed))
		;
}

static bool open_lanes(struct bp_publisher *p)
{
	p->lane = calloc(p->shm->workers, sizeof(*p->lane));
	if (p->lane == NULL)
		return false;
	for (p->lanes = 0; p->lanes < p->shm->workers; p->lanes++)
		if (!bp_lane_open(&p->lane[p->lanes], bp_shm_ring(p->shm, p->lanes), LANE_ENTRIES))
			return false;
	return true;
}

static bool start_tick(struct bp_publisher *p)
{
	struct timeval second = {1, 0};

	p->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (p->tick_fd < 0 || !set_tick(p, TICK_BUSY_NS))
		return false;
	p->tick_event = event_new(p->base, p->tick_fd, EV_READ | EV_PERSIST, on_tick, p);
	p->again_event = event_new(p->base, -1, 0, on_again, p);
	p->second_event = event_new(p->base, -1, EV_PERSIST, on_second, p);
	return p->tick_event != NULL && p->again_event != NULL && p->second_event != NULL &&
	       event_add(p->tick_event, NULL) == 0 && event_add(p->second_event, &second) == 0;
}

/* The spool's file, when there is reason to open it now. */
static void open_spool(struct bp_publisher *p, const struct bp_config_mqtt *mqtt)
{
	if (!mqtt->edge.enabled && access(mqtt->spool.path, F_OK) != 0)
		return;
	if (!bp_spool_ready(p->spool))
		disk_failed(p, bp_mono_ns());
	else
		raise_next_id(p);
}

struct bp_publisher *bp_publisher_new(struct event_base *base, struct bp_shm *shm,
	const struct bp_config_mqtt *mqtt, char *err, size_t err_size)
{
	static const struct bp_edge_link_events events = {on_up, on_down, on_acked, on_ready};
	struct bp_publisher *p = calloc(1, sizeof(*p));

	if (p == NULL) {
		snprintf(err, err_size, "no memory for the publisher");
		return NULL;
	}
	p->base = base;
	p->shm = shm;
	p->g = shm->global;
	p->tick_fd = -1;
	p->down_since_ns = bp_mono_ns();
	bp_inflight_init(&p->inflight);
	bp_alarm_log_open(&p->log, shm->alarm_log);
	atomic_store_explicit(&p->g->cp_edge_connected, 0, memory_order_relaxed);
	p->spool = bp_spool_new(mqtt->spool.path, mqtt->spool.max_bytes, mqtt->spool.max_age_ns);
	bp_backlog_init(&p->backlog, p->spool);
	p->link = bp_edge_link_new(base, &events, p);
	if (p->spool == NULL || p->link == NULL || !open_lanes(p) || !start_tick(p)) {
		snprintf(err, err_size, "no memory or timer for the publisher");
		bp_publisher_free(p);
		return NULL;
	}
	open_spool(p, mqtt);
	if (bp_publisher_configure(p, mqtt, err, err_size) != 0) {
		bp_publisher_free(p);
		return NULL;
	}
	return p;
}

void bp_publisher_free(struct bp_publisher *p)
{
	if (p == NULL)
		return;
	bp_edge_link_free(p->link);
	if (p->tick_event != NULL)
		event_free(p->tick_event);
	if (p->again_event != NULL)
		event_free(p->again_event);
	if (p->second_event != NULL)
		event_free(p->second_event);
	if (p->tick_fd >= 0)
		close(p->tick_fd);
	for (unsigned i = 0; i < p->lanes; i++)
		bp_lane_close(&p->lane[i]);
	free(p->lane);
	bp_backlog_free(&p->backlog);
	bp_spool_free(p->spool);
	bp_text_free(&p->envelope);
	free(p->renumbered);
	atomic_store_explicit(&p->g->cp_edge_connected, 0, memory_order_relaxed);
	set(&p->g->cp_inflight, 0);
	free(p);
}

void bp_publisher_drain(
	struct bp_publisher *p, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	p->draining = true;
	p->drain_deadline_ns = bp_mono_ns() + wait_ns;
	p->drained = done;
	p->drained_arg = arg;
	again(p);
}
