/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/alarm_copies.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/alarms/envelope.h"
#include "controlplane/alarms/keeper.h"
#include "controlplane/alarms/publisher.h"
#include "controlplane/mqtt/adopted_alarm.h"
#include "controlplane/mqtt/copy_table.h"
#include "controlplane/mqtt/shared_states.h"
#include "controlplane/process/clock.h"
#include "controlplane/process/ring_events.h"
#include "daemon/log.h"

/* A broker that answers acknowledges within this time, and the alarm needs no copy. */
#define DELAY_NS 10000000ull
#define TICK_MS 100
#define TICKS_PER_SECOND 10u
/* The states of others that were read so long ago are still good. */
#define STATES_NS (3 * TICK_MS * 1000000ull)
/* A process that did not run for this time may have been declared dead. */
#define PAUSED_NS (BP_ALARM_LEASE_NS / 2)
/* Copies that are read from a spool in one iteration of the event loop. */
#define ROWS_MAX 64u
/* Records of the rings that are read in one iteration. */
#define RECORDS_MAX 512u
_Static_assert(BP_ALARM_UID_TEXT == BP_ALARM_UID_LEN + 1, "the same identity");

/* The copies of this gateway that it does not know: claimed ones, or those that its disk lost. */
struct adoption {
	bool active, again, last;
	unsigned fetching;
	double after;
	struct bp_adopted page[BP_ALARM_PAGE];
	unsigned n;
	bool stuck; /* a disk failed: the page is tried again */
};

struct bp_alarm_copies {
	struct bp_shm *shm;
	struct bp_fleet_state *fleet;
	struct bp_publisher *publisher;
	struct bp_alarm_store *store;
	struct bp_alarm_keeper keeper;
	struct event *tick, *due;
	uint64_t wake_ns; /* when `due` fires; UINT64_MAX: it is not set */
	struct bp_copy_table table;
	struct bp_shared_states *states;
	uint64_t cursor[BP_MAX_WORKERS]; /* of the rings: records before it are in the table */
	struct bp_alarm *read;           /* the record of a ring that is added */
	uint64_t timeout_ns;
	unsigned ticks;
	bool leased;        /* on this connection */
	uint64_t leased_ns; /* since; monotonic */
	unsigned renewals;  /* without an answer */
	bool claiming;
	bool unread; /* records of the rings */
	bool full;   /* no copies are sent until the next second */
	/* Nothing is sent until it is known what others have claimed. */
	uint64_t hold_until_ns; /* 0: not */
	unsigned hold_renewals; /* answers until then; 0: the renewal is not sent yet */
	bool hold_listed;       /* the list was requested in this pause */
	unsigned lists;         /* requested, and not ended */
	uint64_t alive_ns;
	struct adoption adoption;
	uint64_t record[BP_FLEET_VALUE_MAX / sizeof(uint64_t)]; /* the copy that is sent */
	bool up;                                                /* the connection to Redis */
	void (*drained)(void *arg);                             /* NULL: called, or not draining */
	void *drained_arg;
	uint64_t drain_deadline_ns;
	struct bp_fleet_alarm_counters n, shown; /* shown: in the segment */
	struct bp_log_limit log_fenced, log_claimed, log_destination;
};

/* ---- the connection to the table ---- */

static void wake(struct bp_alarm_copies *c, uint64_t delay_ns)
{
	const struct timeval t = {0, (suseconds_t)(delay_ns / 1000)};
	const uint64_t at = bp_mono_ns() + delay_ns;

	if (at >= c->wake_ns)
		return;
	c->wake_ns = at;
	evtimer_add(c->due, &t);
}

static uint8_t destinations_of(const struct bp_alarm *a)
{
	return (uint8_t)(((a->flags & BP_ALARM_F_NOT_MQTT) == 0 ? 1u << BP_TO_MQTT : 0) |
			 ((a->flags & BP_ALARM_F_KAFKA) != 0 ? 1u << BP_TO_KAFKA : 0));
}

static struct bp_copy *add(struct bp_alarm_copies *c, const struct bp_alarm *a, uint8_t pending)
{
	struct bp_copy *e = bp_copy_by_id(&c->table, a->id);
	char uid[BP_ALARM_UID_TEXT];

	if (e == NULL) {
		/* the uid is a hash, which a full table does not need */
		if (c->table.n < c->table.max) {
			bp_alarm_uid(a, uid);
			e = bp_copy_add(&c->table, a->id, uid, BP_COPY_WAITING);
		}
		if (e == NULL) {
			c->n.full++;
			return NULL;
		}
		e->due_ns = bp_mono_ns() + DELAY_NS;
		/* an earlier process may have stored it */
		e->sent = c->publisher == NULL;
		wake(c, DELAY_NS);
	}
	e->pending |= pending;
	return e;
}

static void add_record(struct bp_alarm_copies *c, unsigned ring, uint64_t start, uint64_t end,
	const struct bp_alarm *a)
{
	struct bp_copy *e;

	if (end > c->cursor[ring])
		c->cursor[ring] = end;
	if (a == NULL || (a->flags & BP_ALARM_F_MIRROR) != 0 || a->id > INT64_MAX)
		return;
	bp_shared_states_alarm(c->states, a);
	e = add(c, a, destinations_of(a));
	if (e == NULL)
		return;
	e->ring = (uint16_t)(ring + 1);
	e->start = start;
}

/* The next record of a ring that is not in the table: its id, or 0 if it is too short for one;
 * UINT64_MAX: none. */
static uint64_t next_id(struct bp_alarm_copies *c, unsigned i)
{
	struct bp_ring *ring = bp_shm_ring(c->shm, i);
	const uint64_t tail = bp_ring_tail(ring);
	uint64_t end, id;
	const struct bp_alarm *a;
	uint32_t size;

	if (c->cursor[i] < tail)
		c->cursor[i] = tail;
	end = c->cursor[i];
	a = bp_ring_peek(ring, &end, &size);
	if (a == NULL) {
		c->cursor[i] = end; /* a damaged section is skipped */
		return UINT64_MAX;
	}
	if (size < BP_ALARM_HEAD)
		return 0;
	id = *(const volatile uint64_t *)&a->id;
	return id < UINT64_MAX ? id : 0;
}

/* The data plane can change the record at any time: it is copied once, and only the copy is checked
 * and used. */
static void read_record(struct bp_alarm_copies *c, unsigned ring)
{
	const uint64_t start = c->cursor[ring];
	uint64_t end = start;
	uint32_t size;
	const void *record = bp_ring_peek(bp_shm_ring(c->shm, ring), &end, &size);

	if (record != NULL)
		memcpy(c->read, record, size);
	add_record(c, ring, start, end,
		record != NULL && bp_alarm_valid(c->read, size) ? c->read : NULL);
}

/*
 * The publisher leaves records in the rings while its link is down: they are read here first. In
 * the order of their ids, as the alarms of one key can be in several rings. Returns whether more
 * than `max` are there.
 */
static bool read_records(struct bp_alarm_copies *c, uint64_t max)
{
	for (;; max--) {
		uint64_t id = UINT64_MAX;
		unsigned ring = 0;

		for (unsigned i = 0; i < c->shm->workers; i++) {
			const uint64_t is = next_id(c, i);

			if (is >= id)
				continue;
			id = is;
			ring = i;
		}
		if (id == UINT64_MAX || max == 0)
			return id != UINT64_MAX;
		read_record(c, ring);
	}
}

static void read_rings(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->unread = read_records(c, RECORDS_MAX);
	if (c->unread)
		wake(c, 0);
	if (c->store != NULL)
		bp_shared_states_send(c->states, c->store);
}

/* Whether Redis lacks something that it can be sent now. A gateway without its lease stores no
 * copies. */
static bool is_behind(const struct bp_alarm_copies *c)
{
	return bp_shared_states_behind(c->states) ||
	       (c->leased && !c->full && !TAILQ_EMPTY(&c->table.list[BP_COPY_WAITING])) ||
	       !TAILQ_EMPTY(&c->table.list[BP_COPY_STORING]) ||
	       !TAILQ_EMPTY(&c->table.list[BP_COPY_REMOVE]) ||
	       !TAILQ_EMPTY(&c->table.list[BP_COPY_REMOVING]);
}

static void check_drained(struct bp_alarm_copies *c)
{
	void (*done)(void *arg) = c->drained;

	if (done == NULL || (c->up && is_behind(c) && bp_mono_ns() < c->drain_deadline_ns))
		return;
	c->drained = NULL;
	done(c->drained_arg);
}

static void finish(struct bp_alarm_copies *c, struct bp_copy *e)
{
	if (!e->sent) {
		bp_copy_delete(&c->table, e);
		return;
	}
	if (e->state == BP_COPY_REMOVE || e->state == BP_COPY_REMOVING)
		return;
	bp_copy_set_state(&c->table, e, BP_COPY_REMOVE);
	wake(c, 0);
}

/* ---- for the publisher ---- */

static void on_seen(void *arg, const struct bp_alarm *a, const struct bp_ring *ring, uint64_t start,
	uint64_t end)
{
	struct bp_alarm_copies *c = arg;
	const unsigned i = (unsigned)(ring - bp_shm_ring(c->shm, 0));

	if (end > c->cursor[i])
		add_record(c, i, start, end, a);
}

static void on_row(void *arg, enum bp_alarm_destination to, const struct bp_alarm *a)
{
	(void)add(arg, a, (uint8_t)(1u << to));
}

static void on_finished(void *arg, enum bp_alarm_destination to, uint64_t id)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copy *e = bp_copy_by_id(&c->table, id);

	if (e == NULL)
		return;
	e->pending &= (uint8_t) ~(1u << to);
	if (e->pending == 0)
		finish(c, e);
}

static bool is_taken(void *arg, uint64_t id)
{
	const struct bp_alarm_copies *c = arg;
	struct bp_copy *e = c->n.taken != 0 ? bp_copy_by_id(&c->table, id) : NULL;

	if (e == NULL || !e->taken)
		return false;
	e->discarded = true; /* the publisher finishes it now */
	return true;
}

static void renew(struct bp_alarm_copies *c)
{
	const uint64_t epoch = bp_fleet_state_epoch(c->fleet);

	if (epoch == 0 || !bp_alarm_store_can_renew(c->store))
		return;
	bp_alarm_store_renew(c->store, epoch);
	c->renewals++;
	if (c->hold_until_ns != 0 && c->hold_renewals == 0)
		c->hold_renewals = c->renewals;
}

/* Answers to earlier renewals say nothing of the time of a pause. */
static void begin_hold(struct bp_alarm_copies *c, uint64_t now)
{
	c->hold_until_ns = now + c->timeout_ns;
	c->hold_renewals = 0;
	c->hold_listed = false;
	renew(c);
}

static bool is_held(void *arg, uint64_t now)
{
	struct bp_alarm_copies *c = arg;

	if (now - c->alive_ns > PAUSED_NS)
		begin_hold(c, now);
	c->alive_ns = now;
	if (c->hold_until_ns != 0 && now >= c->hold_until_ns)
		c->hold_until_ns = 0;
	return c->hold_until_ns != 0;
}

/* ---- to Redis ---- */

/* The record of an alarm, in c->record; its length, or 0. It can be longer than the buffer. */
static size_t find_record(struct bp_alarm_copies *c, const struct bp_copy *e)
{
	struct bp_ring *ring = e->ring != 0 ? bp_shm_ring(c->shm, e->ring - 1u) : NULL;
	uint64_t cursor = e->start;
	const struct bp_alarm *a = NULL;
	uint32_t size;
	uint64_t len;

	if (ring != NULL && e->start >= bp_ring_tail(ring))
		a = bp_ring_peek(ring, &cursor, &size);
	if (a == NULL || !bp_alarm_valid(a, size) || a->id != e->id)
		return bp_publisher_row(
			c->publisher, e->id, (struct bp_alarm *)c->record, sizeof(c->record));
	/* The record is in shared memory, and can change: its lengths are checked after the copy.
	 */
	if (size > sizeof(c->record))
		size = sizeof(c->record);
	memcpy(c->record, a, size);
	a = (const struct bp_alarm *)c->record;
	len = bp_alarm_size(a);
	return len <= size || len > sizeof(c->record) ? len : 0;
}

static void send_copy(struct bp_alarm_copies *c, struct bp_copy *e)
{
	struct bp_alarm *a = (struct bp_alarm *)c->record;
	const size_t size = find_record(c, e);

	if (size == 0) {
		c->n.unreadable++;
		bp_copy_set_state(&c->table, e, BP_COPY_RETRY);
		return;
	}
	if (size > sizeof(c->record)) {
		c->n.too_large++;
		/* an adopted one is longer than its copy, which Redis has */
		if (e->sent)
			bp_copy_set_state(&c->table, e, BP_COPY_STORED);
		else
			bp_copy_delete(&c->table, e);
		return;
	}
	if ((e->pending & 1u << BP_TO_MQTT) == 0)
		a->flags |= BP_ALARM_F_NOT_MQTT;
	if ((e->pending & 1u << BP_TO_KAFKA) == 0)
		a->flags &= (uint8_t)~BP_ALARM_F_KAFKA;
	if (!bp_copy_set_size(&c->table, e, size)) {
		c->n.full++;
		c->full = true;
		bp_copy_set_state(&c->table, e, BP_COPY_RETRY);
		return;
	}
	e->sent = true;
	bp_copy_set_state(&c->table, e, BP_COPY_STORING);
	bp_alarm_store_put(c->store, bp_fleet_state_epoch(c->fleet), e->uid, a, size);
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
	struct bp_alarm_copies *c = arg;
	const uint64_t now = bp_mono_ns();
	struct bp_copy *e;
	unsigned n = 0;

	(void)fd;
	(void)what;
	c->wake_ns = UINT64_MAX;
	if (c->unread)
		read_rings(c);
	/* also without a lease: it can be lost because Redis has no free memory */
	while (bp_alarm_store_ready(c->store) &&
		(e = TAILQ_FIRST(&c->table.list[BP_COPY_REMOVE])) != NULL) {
		bp_copy_set_state(&c->table, e, BP_COPY_REMOVING);
		/* the copy of a claimed one can be back here, if that gateway is dead, too */
		if (e->taken)
			bp_alarm_store_forget(c->store, e->uid);
		else
			bp_alarm_store_remove(c->store, e->uid);
	}
	check_drained(c);
	if (!c->leased || c->full)
		return;
	while (bp_alarm_store_ready(c->store) && n++ < ROWS_MAX && !c->full &&
		(e = TAILQ_FIRST(&c->table.list[BP_COPY_WAITING])) != NULL && e->due_ns <= now)
		send_copy(c, e);
	e = TAILQ_FIRST(&c->table.list[BP_COPY_WAITING]);
	if (e != NULL && bp_alarm_store_ready(c->store))
		wake(c, e->due_ns > now ? e->due_ns - now : 0);
}

/* ---- alarms of other gateways ---- */

static void next_page(struct bp_alarm_copies *c)
{
	if (bp_alarm_store_ready(c->store))
		bp_alarm_store_list(c->store, c->adoption.after);
	else
		c->adoption = (struct adoption){.again = true};
}

static void begin_adoption(struct bp_alarm_copies *c)
{
	if (c->adoption.active) {
		c->adoption.again = true;
		return;
	}
	c->adoption = (struct adoption){.active = true};
	next_page(c);
}

static void discard_page(struct adoption *a)
{
	for (unsigned i = 0; i < a->n; i++)
		free(a->page[i].alarm);
	a->n = 0;
}

/* A copy that cannot be published here would be read again at each connection, and fill Redis. */
static void reject(struct bp_alarm_copies *c, const char *uid)
{
	if (bp_alarm_store_ready(c->store))
		bp_alarm_store_reject(c->store, uid);
}

static void keep_adopted(struct bp_alarm_copies *c, const struct bp_adopted *a)
{
	struct bp_copy *e;
	char uid[BP_ALARM_UID_TEXT];

	if (a->wanted != destinations_of(a->alarm)) {
		c->n.no_destination++;
		bp_log_limited(&c->log_destination, BP_LOG_ERROR, NULL,
			"an alarm of another gateway of the fleet has a destination that this "
			"gateway lacks; the gateways of a fleet need the same destinations");
	}
	bp_alarm_uid(a->alarm, uid);
	if (a->wanted == 0) {
		reject(c, uid);
		return;
	}
	c->n.adopted++;
	e = bp_copy_add(&c->table, a->alarm->id, uid, BP_COPY_STORED);
	if (e == NULL) {
		c->n.full++;
		return;
	}
	e->sent = true;
	e->pending = a->wanted;
	e->adopting = true;
	(void)bp_copy_set_size(&c->table, e, bp_alarm_size(a->alarm));
}

/* One destination may have the alarms before the other: they are in the table from the first
 * attempt on, as they can be acknowledged. */
static void end_page(struct bp_alarm_copies *c)
{
	struct adoption *a = &c->adoption;
	const bool done = a->n == 0 || bp_publisher_adopt(c->publisher, a->n, a->page);

	for (unsigned i = 0; i < a->n; i++) {
		struct bp_copy *e;

		if (!a->stuck)
			keep_adopted(c, &a->page[i]);
		e = bp_copy_by_id(&c->table, a->page[i].alarm->id);
		if (e != NULL)
			e->adopting = !done;
	}
	c->n.disk_failed += done || a->stuck ? 0 : a->n;
	a->stuck = !done;
	if (!done)
		return;
	discard_page(a);
	if (a->last && a->again)
		*a = (struct adoption){.again = true};
	else if (a->last)
		a->active = false;
	else
		next_page(c);
}

/* A copy of this gateway is in Redis. Returns whether the gateway publishes that alarm already. */
static bool is_published_here(struct bp_alarm_copies *c, const char *uid)
{
	struct bp_copy *e = bp_copy_by_uid(&c->table, uid);

	if (e == NULL)
		return false;
	/* Claimed back from the gateway that had claimed it. Nothing has it any more if it was
	 * discarded: it is adopted after the entry has ended. */
	if (e->discarded)
		c->adoption.again = true;
	else
		e->taken = false;
	return true;
}

static void on_listed(void *arg, unsigned n, const char (*uid)[BP_ALARM_UID_TEXT], double after)
{
	struct bp_alarm_copies *c = arg;
	struct adoption *a = &c->adoption;

	a->last = n < BP_ALARM_PAGE;
	a->after = after;
	for (unsigned i = 0; i < n; i++) {
		if (is_published_here(c, uid[i]))
			continue;
		/* without an entry it would be adopted again at each connection */
		if (!bp_alarm_store_ready(c->store) || c->table.n + BP_ALARM_PAGE > c->table.max) {
			a->again = a->last = true;
			break;
		}
		bp_alarm_store_fetch(c->store, uid[i]);
		a->fetching++;
	}
	if (a->fetching == 0)
		end_page(c);
}

static void on_fetched(void *arg, const char *uid, const void *bytes, size_t len)
{
	struct bp_alarm_copies *c = arg;
	struct adoption *a = &c->adoption;

	a->fetching--;
	if (len != 0) {
		a->page[a->n] = (struct bp_adopted){.alarm = bp_adopted_alarm(bytes, len, uid)};
		if (a->page[a->n].alarm != NULL)
			a->n++;
		else {
			c->n.invalid++;
			reject(c, uid);
		}
	}
	if (a->fetching == 0)
		end_page(c);
}

static void claim(struct bp_alarm_copies *c)
{
	/* while it could not publish them, another gateway can */
	if (c->claiming || !bp_alarm_store_ready(c->store) || c->adoption.stuck ||
		c->table.n + BP_ALARM_PAGE > c->table.max || !bp_publisher_can_adopt(c->publisher))
		return;
	c->claiming = true;
	bp_alarm_store_claim(c->store, bp_fleet_state_epoch(c->fleet));
}

static void on_claimed(void *arg, uint32_t n)
{
	struct bp_alarm_copies *c = arg;

	c->claiming = false;
	if (n == 0)
		return;
	c->n.claimed += n;
	bp_log_limited(&c->log_claimed, BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_NUM("alarms", n)),
		"a gateway of the fleet is dead; this one publishes its unacknowledged alarms");
	begin_adoption(c);
	claim(c);
}

/* ---- answers of Redis ---- */

static void mark_taken(struct bp_alarm_copies *c, struct bp_copy *e)
{
	c->n.taken += !e->taken;
	e->taken = true;
}

static void on_stored(void *arg, const char *uid, enum bp_alarm_stored result)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copy *e = TAILQ_FIRST(&c->table.list[BP_COPY_STORING]);

	c->n.stored += result == BP_ALARM_STORED;
	c->n.full += result == BP_ALARM_STORE_FULL;
	c->full |= result == BP_ALARM_STORE_FULL;
	c->n.refused += result == BP_ALARM_STORE_REFUSED;
	wake(c, 0);
	if (e == NULL || strcmp(e->uid, uid) != 0)
		return; /* it was acknowledged meanwhile */
	if (result == BP_ALARM_STORE_TAKEN)
		mark_taken(c, e);
	else if (result == BP_ALARM_STORED)
		(void)is_published_here(c, uid);
	bp_copy_set_state(&c->table, e,
		result == BP_ALARM_STORED || result == BP_ALARM_STORE_TAKEN ? BP_COPY_STORED
									    : BP_COPY_RETRY);
}

static void on_removed(void *arg, const char *uid)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copy *e = TAILQ_FIRST(&c->table.list[BP_COPY_REMOVING]);

	wake(c, 0);
	if (e == NULL || strcmp(e->uid, uid) != 0)
		return; /* only a note of a claim */
	c->n.removed++;
	bp_copy_delete(&c->table, e);
}

/* The end of the list, or a claimed alarm. Notes of alarms that this gateway lacks are kept until
 * they expire: an alarm of a spool that cannot be read yet may be one. */
static void on_taken(void *arg, const char *uid)
{
	struct bp_alarm_copies *c = arg;
	struct bp_copy *e = uid != NULL ? bp_copy_by_uid(&c->table, uid) : NULL;

	if (uid == NULL && --c->lists == 0 && c->hold_listed)
		c->hold_until_ns = 0;
	if (e != NULL)
		mark_taken(c, e);
}

static void on_renewed(void *arg, bool held, uint64_t taken)
{
	struct bp_alarm_copies *c = arg;
	const bool after_hold = c->hold_renewals != 0 && --c->hold_renewals == 0;

	c->renewals--;
	if (!held) {
		c->leased = false;
		c->n.fenced++;
		bp_log_limited(&c->log_fenced, BP_LOG_ERROR, NULL,
			"another process of the fleet has the name of this gateway; set `name` to "
			"a different one at each gateway. Alarms have no copy");
		return;
	}
	if (!c->leased) {
		c->leased = true;
		c->leased_ns = bp_mono_ns();
		begin_adoption(c);
		wake(c, 0);
	}
	if (after_hold && taken == 0)
		c->hold_until_ns = 0;
	else if (after_hold && bp_alarm_store_can_renew(c->store)) {
		c->hold_listed = true;
		c->lists++;
		bp_alarm_store_list_taken(c->store);
	}
}

static void on_not_renewed(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->renewals--;
	c->hold_renewals -= c->hold_renewals != 0;
	c->leased = false;
}

static void on_up(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->up = true;
	renew(c);
	bp_shared_states_up(c->states, c->store);
}

static void on_state(void *arg, const void *bytes, size_t len)
{
	const struct bp_alarm_copies *c = arg;

	bp_shared_states_state(c->states, bytes, len);
}

static void on_state_put(void *arg, const char *uid, enum bp_alarm_state_put result)
{
	struct bp_alarm_copies *c = arg;

	bp_shared_states_put(c->states, uid, result);
	bp_shared_states_send(c->states, c->store);
	check_drained(c);
}

static void on_down(void *arg)
{
	struct bp_alarm_copies *c = arg;

	c->up = c->leased = c->claiming = false;
	c->renewals = c->hold_renewals = c->lists = 0;
	/* a page that a destination may have already ends without Redis */
	if (!c->adoption.stuck) {
		discard_page(&c->adoption);
		c->adoption = (struct adoption){0};
	}
	bp_copy_table_disconnected(&c->table);
	bp_shared_states_down(c->states);
}

static void on_failed(void *arg, enum bp_fleet_error why, const char *text)
{
	const struct bp_alarm_copies *c = arg;
	char named[BP_FLEET_ERROR_TEXT];

	snprintf(named, sizeof(named), "alarms: %.190s", text);
	bp_fleet_state_note_error(c->fleet, why, named);
}

/* ---- time ---- */

enum fate { HELD, DROPPED, LOST };

/* What has become of an alarm at the destinations that have not finished it. */
static enum fate fate_of(const struct bp_copy *e, const struct bp_publisher_bounds *b)
{
	bool dropped = true;

	for (unsigned to = 0; to < BP_DESTINATIONS; to++) {
		if ((e->pending & 1u << to) == 0)
			continue;
		if (e->id >= b[to].oldest)
			return HELD;
		dropped &= e->id <= b[to].dropped;
	}
	return dropped ? DROPPED : LOST;
}

/* The limits of a spool drop alarms without their ids. Of those that a disk has lost, the copy is
 * the only one: it is adopted. */
static void finish_gone(struct bp_alarm_copies *c)
{
	struct bp_publisher_bounds bounds[BP_DESTINATIONS];
	struct bp_copy *e, *next;
	bool lost = false;

	bp_publisher_bounds(c->publisher, bounds);
	for (unsigned i = 0; i < BP_COPY_REMOVE; i++) {
		for (e = TAILQ_FIRST(&c->table.list[i]); e != NULL; e = next) {
			const enum fate fate = e->adopting ? HELD : fate_of(e, bounds);

			next = TAILQ_NEXT(e, entry);
			if (fate == DROPPED)
				finish(c, e);
			if (fate != LOST)
				continue;
			bp_copy_delete(&c->table, e);
			lost = true;
		}
	}
	if (lost)
		begin_adoption(c);
}

static void retry(struct bp_alarm_copies *c)
{
	struct bp_copy *e;

	c->full = false;
	while ((e = TAILQ_FIRST(&c->table.list[BP_COPY_RETRY])) != NULL) {
		e->due_ns = 0;
		bp_copy_set_state(&c->table, e, BP_COPY_WAITING);
	}
	wake(c, 0);
}

static void show(struct bp_alarm_copies *c)
{
	struct bp_shm_fleet *f = &c->shm->control->fleet;

	bp_fleet_counters_show((uint64_t *)&f->alarms, (const uint64_t *)&c->n,
		(uint64_t *)&c->shown, sizeof(c->n) / sizeof(uint64_t));
	atomic_store_explicit(&f->leased, c->leased, memory_order_relaxed);
	atomic_store_explicit(&f->unacknowledged, c->table.n, memory_order_relaxed);
	bp_shared_states_show(c->states);
}

static void on_second(struct bp_alarm_copies *c)
{
	show(c);
	if (c->adoption.stuck)
		end_page(c);
	finish_gone(c);
	retry(c);
	if (!c->leased)
		return;
	renew(c);
	if (c->adoption.again && !c->adoption.active)
		begin_adoption(c);
	/* after an outage of Redis, all leases have expired: others need time to connect */
	if (bp_mono_ns() - c->leased_ns >
		BP_ALARM_LEASE_NS + BP_ALARM_BACKOFF_MAX_NS + c->timeout_ns)
		claim(c);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct bp_alarm_copies *c = arg;

	(void)fd;
	(void)what;
	(void)is_held(c, bp_mono_ns());
	if (!c->leased && c->renewals == 0)
		renew(c);
	bp_shared_states_tick(c->states, c->store);
	if (++c->ticks % TICKS_PER_SECOND == 0)
		on_second(c);
	check_drained(c);
}

/* ---- life cycle ---- */

struct bp_alarm_copies *bp_alarm_copies_new(struct event_base *base, struct bp_shm *shm,
	struct bp_ring_events *rings, struct bp_fleet_state *fleet, const struct bp_config *config,
	char *err, size_t err_size)
{
	struct bp_alarm_copies *c = calloc(1, sizeof(*c));
	const struct bp_alarm_store_owner owner = {.up = on_up,
		.down = on_down,
		.failed = on_failed,
		.renewed = on_renewed,
		.not_renewed = on_not_renewed,
		.stored = on_stored,
		.removed = on_removed,
		.claimed = on_claimed,
		.listed = on_listed,
		.fetched = on_fetched,
		.taken = on_taken,
		.state = on_state,
		.state_put = on_state_put,
		.arg = c};

	snprintf(err, err_size, "no memory for the alarms of the fleet");
	if (c == NULL)
		return NULL;
	c->shm = shm;
	c->fleet = fleet;
	c->alive_ns = bp_mono_ns();
	c->wake_ns = UINT64_MAX;
	c->timeout_ns = config->fleet.state.timeout_ns;
	c->keeper = (struct bp_alarm_keeper){.seen = on_seen,
		.row = on_row,
		.finished = on_finished,
		.taken = is_taken,
		.hold = is_held,
		.arg = c};
	c->tick = event_new(base, -1, EV_PERSIST, on_tick, c);
	c->due = evtimer_new(base, on_due, c);
	c->states = bp_shared_states_new(shm);
	c->read = malloc(bp_ring_record_max(bp_shm_ring(shm, 0)));
	if (!bp_copy_table_init(&c->table, BP_ALARM_STORE_MAX) || c->tick == NULL ||
		c->due == NULL || c->states == NULL || c->read == NULL ||
		!bp_ring_events_add(rings, bp_shm_ring(shm, 0), shm->workers, read_rings, c) ||
		(c->store = bp_alarm_store_new(
			 base, &config->fleet, config->name, &owner, err, err_size)) == NULL) {
		bp_alarm_copies_free(c);
		return NULL;
	}
	return c;
}

void bp_alarm_copies_start(struct bp_alarm_copies *c, struct bp_publisher *publisher)
{
	const struct timeval interval = {.tv_usec = TICK_MS * 1000};

	(void)read_records(c, UINT64_MAX);
	bp_publisher_set_keeper(publisher, &c->keeper);
	c->publisher = publisher;
	/* of an earlier process: it may have been dead for long */
	if (c->table.n != 0)
		begin_hold(c, bp_mono_ns());
	event_add(c->tick, &interval);
}

bool bp_alarm_copies_states_known(struct bp_alarm_copies *c)
{
	if (!bp_alarm_store_ready(c->store))
		return true;
	if (bp_mono_ns() - bp_alarm_store_polled_ns(c->store) > STATES_NS) {
		bp_alarm_store_poll_states(c->store);
		return false;
	}
	return bp_shared_states_known(c->states);
}

void bp_alarm_copies_drain(
	struct bp_alarm_copies *c, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	c->drained = done;
	c->drained_arg = arg;
	c->drain_deadline_ns = bp_mono_ns() + wait_ns;
	c->unread = read_records(c, UINT64_MAX);
	bp_shared_states_send(c->states, c->store);
	wake(c, 0);
}

void bp_alarm_copies_free(struct bp_alarm_copies *c)
{
	if (c == NULL)
		return;
	if (c->publisher != NULL)
		bp_publisher_set_keeper(c->publisher, NULL);
	bp_alarm_store_free(c->store);
	discard_page(&c->adoption);
	bp_copy_table_end(&c->table);
	bp_shared_states_free(c->states);
	free(c->read);
	if (c->tick != NULL)
		event_free(c->tick);
	if (c->due != NULL)
		event_free(c->due);
	free(c);
}

void bp_alarm_copies_status(const struct bp_alarm_copies *c, json_t *answer)
{
	bp_shared_states_status(c->states, answer);
	json_object_set_new(answer, "fleet_alarms",
		json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			  "s:I}",
			"leased", (int)c->leased, "unacknowledged", (json_int_t)c->table.n,
			"stored", (json_int_t)c->n.stored, "removed", (json_int_t)c->n.removed,
			"claimed", (json_int_t)c->n.claimed, "adopted", (json_int_t)c->n.adopted,
			"taken", (json_int_t)c->n.taken, "full", (json_int_t)c->n.full, "too_large",
			(json_int_t)c->n.too_large, "unreadable", (json_int_t)c->n.unreadable,
			"refused", (json_int_t)c->n.refused, "invalid", (json_int_t)c->n.invalid,
			"no_destination", (json_int_t)c->n.no_destination, "disk_failed",
			(json_int_t)c->n.disk_failed, "fenced", (json_int_t)c->n.fenced));
}
