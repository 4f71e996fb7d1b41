/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_COPIES_INTERNAL_H
#define BP_CONTROLPLANE_MQTT_COPIES_INTERNAL_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/alarms/keeper.h"
#include "controlplane/alarms/publisher.h"
#include "controlplane/mqtt/alarm_copies.h"
#include "controlplane/mqtt/copy_table.h"
#include "controlplane/mqtt/shared_states.h"
#include "daemon/log.h"
#include "shm/layout.h"

/*
 * Files of the copies of alarms: alarm_copies.c (for the publisher, to Redis, start, end, timers),
 * copies_rings.c (alarms of the rings), copies_answers.c (answers of Redis), copies_adopt.c (alarms
 * of other gateways). Only these files include this header.
 */

/* The copies of this gateway that it does not know: claimed ones, or those that its disk lost. */
struct bp_copies_adoption {
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
	bool unread;   /* records of the rings */
	uint64_t left; /* records that can be read before the next call of bp_copies_read_rings() */
	bool full;     /* no copies are sent until the next second */
	/* Nothing is sent until it is known what others have claimed. */
	uint64_t hold_until_ns; /* 0: not */
	unsigned hold_renewals; /* answers until then; 0: the renewal is not sent yet */
	bool hold_listed;       /* the list was requested in this pause */
	unsigned lists;         /* requested, and not ended */
	uint64_t alive_ns;
	struct bp_copies_adoption adoption;
	uint64_t record[BP_FLEET_VALUE_MAX / sizeof(uint64_t)]; /* the copy that is sent */
	bool up;                                                /* the connection to Redis */
	void (*drained)(void *arg);                             /* NULL: called, or not draining */
	void *drained_arg;
	uint64_t drain_deadline_ns;
	struct bp_fleet_alarm_counters n, shown; /* shown: in the segment */
	struct bp_log_limit log_fenced, log_claimed, log_destination;
};

/* alarm_copies.c: on_due runs after this time, or earlier. */
void bp_copies_wake(struct bp_alarm_copies *c, uint64_t delay_ns);
void bp_copies_renew(struct bp_alarm_copies *c);
/* Ends bp_alarm_copies_drain(), if it is time. */
void bp_copies_check_drained(struct bp_alarm_copies *c);

/* copies_rings.c: its destinations, as bits. */
uint8_t bp_copies_destinations(const struct bp_alarm *a);
/* An unacknowledged alarm. NULL: there is no place. */
struct bp_copy *bp_copies_add(struct bp_alarm_copies *c, const struct bp_alarm *a, uint8_t pending);
/* The record [start, end) of a ring. a: a copy that was checked; NULL: it is invalid. */
void bp_copies_add_record(struct bp_alarm_copies *c, unsigned ring, uint64_t start, uint64_t end,
	const struct bp_alarm *a);
/*
 * The publisher leaves records in the rings while its link is down: they are read here first. In
 * the order of their ids, as the alarms of one key can be in several rings. Sets c->unread: more
 * are there than are read in one iteration of the event loop.
 */
void bp_copies_read_rings(void *arg);
/* For callers that run often in one iteration: what that bound has left. */
void bp_copies_read_more(struct bp_alarm_copies *c);
/* Without a bound. */
void bp_copies_read_all(struct bp_alarm_copies *c);
/* The record of an alarm, in c->record; its length, or 0. It can be longer than the buffer. */
size_t bp_copies_find_record(struct bp_alarm_copies *c, const struct bp_copy *e);

/* copies_answers.c: what the store of copies calls. */
struct bp_alarm_store_owner bp_copies_owner(struct bp_alarm_copies *c);

/* copies_adopt.c: alarms of dead gateways become those of this one. */
void bp_copies_claim(struct bp_alarm_copies *c);
/* Reads the copies of this gateway that it does not know. */
void bp_copies_begin_adoption(struct bp_alarm_copies *c);
void bp_copies_discard_page(struct bp_copies_adoption *a);
/* One destination may have the alarms before the other: they are in the table from the first
 * attempt on, as they can be acknowledged. */
void bp_copies_end_page(struct bp_alarm_copies *c);
/* A copy of this gateway is in Redis. Returns whether the gateway publishes that alarm already. */
bool bp_copies_is_published_here(struct bp_alarm_copies *c, const char *uid);
void bp_copies_listed(void *arg, unsigned n, const char (*uid)[BP_ALARM_UID_TEXT], double after);
void bp_copies_fetched(void *arg, const char *uid, const void *bytes, size_t len);
void bp_copies_claimed(void *arg, uint32_t n);

#endif
