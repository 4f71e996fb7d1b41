/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/mqtt/alarm_copies.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "controlplane/alarms/envelope.h"
#include "controlplane/mqtt/copies_internal.h"
#include "controlplane/mqtt/shared_holds.h"
#include "controlplane/process/clock.h"
#include "controlplane/process/ring_events.h"

#define TICK_MS 100
#define TICKS_PER_SECOND 10u
/* A process that did not run for this time may have been declared dead. */
#define PAUSED_NS (BP_ALARM_LEASE_NS / 2)
/* Copies that are read from a spool in one iteration of the event loop. */
#define ROWS_MAX 64u
_Static_assert(BP_ALARM_UID_TEXT == BP_ALARM_UID_LEN + 1, "the same identity");

/* ---- the table ---- */

void bp_copies_wake(struct bp_alarm_copies *c, uint64_t delay_ns)
{
	const struct timeval t = {0, (suseconds_t)(delay_ns / 1000)};
	const uint64_t at = bp_mono_ns() + delay_ns;

	if (at >= c->wake_ns)
		return;
	c->wake_ns = at;
	evtimer_add(c->due, &t);
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

void bp_copies_check_drained(struct bp_alarm_copies *c)
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
	bp_copies_wake(c, 0);
}

/* ---- for the publisher ---- */

static void on_seen(void *arg, const struct bp_alarm *a, const struct bp_ring *ring, uint64_t start,
	uint64_t end)
{
	struct bp_alarm_copies *c = arg;
	const unsigned i = (unsigned)(ring - bp_shm_ring(c->shm, 0));

	if (end > c->cursor[i])
		bp_copies_add_record(c, i, start, end, a);
}

static void on_row(void *arg, enum bp_alarm_destination to, const struct bp_alarm *a)
{
	(void)bp_copies_add(arg, a, (uint8_t)(1u << to));
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

void bp_copies_renew(struct bp_alarm_copies *c)
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
	bp_copies_renew(c);
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

static void send_copy(struct bp_alarm_copies *c, struct bp_copy *e)
{
	struct bp_alarm *a = (struct bp_alarm *)c->record;
	const size_t size = bp_copies_find_record(c, e);

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
		bp_copies_read_rings(c);
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
	bp_copies_check_drained(c);
	if (!c->leased || c->full)
		return;
	while (bp_alarm_store_ready(c->store) && n++ < ROWS_MAX && !c->full &&
		(e = TAILQ_FIRST(&c->table.list[BP_COPY_WAITING])) != NULL && e->due_ns <= now)
		send_copy(c, e);
	e = TAILQ_FIRST(&c->table.list[BP_COPY_WAITING]);
	if (e != NULL && bp_alarm_store_ready(c->store))
		bp_copies_wake(c, e->due_ns > now ? e->due_ns - now : 0);
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
		bp_copies_begin_adoption(c);
}

static void retry(struct bp_alarm_copies *c)
{
	struct bp_copy *e;

	c->full = false;
	while ((e = TAILQ_FIRST(&c->table.list[BP_COPY_RETRY])) != NULL) {
		e->due_ns = 0;
		bp_copy_set_state(&c->table, e, BP_COPY_WAITING);
	}
	bp_copies_wake(c, 0);
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
		bp_copies_end_page(c);
	finish_gone(c);
	retry(c);
	if (!c->leased)
		return;
	bp_copies_renew(c);
	if (c->adoption.again && !c->adoption.active)
		bp_copies_begin_adoption(c);
	/* after an outage of Redis, all leases have expired: others need time to connect */
	if (bp_mono_ns() - c->leased_ns >
		BP_ALARM_LEASE_NS + BP_ALARM_BACKOFF_MAX_NS + c->timeout_ns)
		bp_copies_claim(c);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct bp_alarm_copies *c = arg;

	(void)fd;
	(void)what;
	(void)is_held(c, bp_mono_ns());
	if (!c->leased && c->renewals == 0)
		bp_copies_renew(c);
	bp_shared_states_tick(c->states, c->store);
	if (++c->ticks % TICKS_PER_SECOND == 0)
		on_second(c);
	bp_copies_check_drained(c);
}

/* ---- life cycle ---- */

struct bp_alarm_copies *bp_alarm_copies_new(struct event_base *base, struct bp_shm *shm,
	struct bp_ring_events *rings, struct bp_fleet_state *fleet, const struct bp_config *config,
	char *err, size_t err_size)
{
	struct bp_alarm_copies *c = calloc(1, sizeof(*c));
	const struct bp_alarm_store_owner owner = bp_copies_owner(c);

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
	c->states = bp_shared_states_new(shm, &config->fleet.state, config->name);
	c->read = malloc(bp_ring_record_max(bp_shm_ring(shm, 0)));
	if (!bp_copy_table_init(&c->table, BP_ALARM_STORE_MAX) || c->tick == NULL ||
		c->due == NULL || c->states == NULL || c->read == NULL ||
		!bp_ring_events_add(
			rings, bp_shm_ring(shm, 0), shm->workers, bp_copies_read_rings, c) ||
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

	bp_copies_read_all(c);
	bp_publisher_set_keeper(publisher, &c->keeper);
	c->publisher = publisher;
	/* of an earlier process: it may have been dead for long */
	if (c->table.n != 0)
		begin_hold(c, bp_mono_ns());
	event_add(c->tick, &interval);
}

bool bp_alarm_copies_states_known(struct bp_alarm_copies *c, uint64_t since_ns)
{
	if (bp_alarm_store_polled_ns(c->store) < since_ns) {
		if (bp_alarm_store_ready(c->store))
			bp_alarm_store_poll_states(c->store);
		return false;
	}
	return bp_shared_holds_read(bp_shared_states_holds(c->states)) &&
	       bp_shared_states_known(c->states);
}

bool bp_alarm_copies_states_stored(struct bp_alarm_copies *c, const struct bp_connection_key *k)
{
	bp_copies_read_more(c);
	return !c->unread && bp_shared_states_stored(c->states, k);
}

struct bp_shared_holds *bp_alarm_copies_holds(struct bp_alarm_copies *c)
{
	return bp_shared_states_holds(c->states);
}

void bp_alarm_copies_drain(
	struct bp_alarm_copies *c, uint64_t wait_ns, void (*done)(void *arg), void *arg)
{
	c->drained = done;
	c->drained_arg = arg;
	c->drain_deadline_ns = bp_mono_ns() + wait_ns;
	bp_copies_read_all(c);
	bp_shared_states_send(c->states, c->store);
	bp_copies_wake(c, 0);
}

void bp_alarm_copies_free(struct bp_alarm_copies *c)
{
	if (c == NULL)
		return;
	if (c->publisher != NULL)
		bp_publisher_set_keeper(c->publisher, NULL);
	bp_alarm_store_free(c->store);
	bp_copies_discard_page(&c->adoption);
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
