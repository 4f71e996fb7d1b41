/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_PUBLISHER_INTERNAL_H
#define BP_CONTROLPLANE_ALARMS_PUBLISHER_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/mqtt/settings.h"
#include "controlplane/alarms/alarm_log.h"
#include "controlplane/alarms/annotations.h"
#include "controlplane/alarms/backlog.h"
#include "controlplane/alarms/envelope.h"
#include "controlplane/alarms/faults.h"
#include "controlplane/alarms/inflight.h"
#include "controlplane/alarms/keeper.h"
#include "controlplane/alarms/key_order.h"
#include "controlplane/alarms/lane.h"
#include "daemon/log.h"
#include "controlplane/alarms/destination.h"
#include "controlplane/alarms/publisher.h"

/*
 * Files of the publisher: publisher.c (start, end, timers), publish_link.c (events of the link),
 * publish_alarm.c (one alarm), publish_live.c (rings to link), publish_spool.c (rings to spool),
 * publish_backlog.c (spool to link), publish_order.c (order of alarms), publish_copies.c (for their
 * copies at other gateways), publish_faults.c (faults). Only these files include this header.
 */

/* A link that returns within this time causes no disk write, unless a ring fills. */
#define BP_PUBLISH_DOWN_GRACE_NS 250000000ull
/* Maximum size of the copies of alarms in libmosquitto. */
#define BP_PUBLISH_INFLIGHT_BYTES_MAX (16ull << 20)
/* Rows that are unreadable for this time no longer block alarms, whatever the order. */
#define BP_PUBLISH_ORDER_GRACE_NS 10000000000ull
/* Divisor: the share of the window for rows of the spool while live alarms are sent. */
#define BP_PUBLISH_BACKLOG_SHARE 4u

/* Why an alarm is not delivered although it is valid: the limits of the spool, or its disk. */
enum bp_publish_drop { BP_DROP_SIZE, BP_DROP_AGE, BP_DROP_DISK };

struct bp_publisher {
	struct event_base *base;
	struct bp_shm *shm;
	struct bp_shm_control *g;
	struct bp_publisher_counters *c;
	const struct bp_destination *to;
	/* The publisher of the next destination; the first one owns the others and what they share.
	 * The link is `link` of `to`. */
	struct bp_publisher *first, *next;
	const struct bp_alarm_keeper *keeper; /* NULL: none */
	struct bp_annotations annotations;    /* of the first publisher, for all */
	struct bp_alarm_latency *latency;
	void *link;
	struct bp_spool *spool;
	struct bp_backlog backlog;
	struct bp_key_order order;
	uint64_t order_opened; /* bp_spool_opened() when its rows were last read into `order` */
	struct bp_alarm_log_writer log;
	struct bp_lane *lane;
	unsigned lanes;
	uint32_t window; /* max_inflight of the destination */
	uint64_t ack_timeout_ns;
	int tick_fd;
	long tick_ns;          /* period of the timer; 0: off */
	uint64_t tick_kept_ns; /* the last time that the state needed this period */
	struct event *tick_event, *reschedule_event, *second_event;
	bool window_full;
	/* The library reused a message id that is still in flight: the broker left one alarm
	 * unacknowledged during 65,535 others. An acknowledgement of that id is ambiguous. */
	bool mid_clash;
	uint64_t now_ns;         /* monotonic, of this iteration */
	uint64_t down_since_ns;  /* monotonic; while the link is down */
	uint64_t spooled_ns;     /* the last transaction that was not urgent */
	uint64_t spool_retry_ns; /* not before */
	bool spool_broken;       /* since the last success of reopen_spool() */
	uint64_t unreadable_ns;  /* monotonic: rows are unreadable since; 0: readable */
	uint64_t delete_due_ns;  /* 0: nothing to delete */
	bool spilling;           /* a ring overflowed: its unread part is spooled */
	uint64_t older_id; /* highest id of ring alarms older than a row of their key; 0: none */
	bool overload;     /* spilling, or alarms that wait for their keys fill a ring */
	struct bp_destination_settings settings;
	struct bp_destination_limits limits;
	/* While the password or TLS files cannot be used: retried with backoff. */
	bool settings_bad;
	uint64_t settings_retry_ns, settings_backoff_ns;
	char settings_error[640];
	struct bp_faults faults; /* of the first publisher, for all */
	bool backlog_bad;
	uint32_t backlog_warning; /* rows */
	uint64_t disk_failed_ns;  /* monotonic, of the last failure */
	/* Monotonic: alarms wait for an acknowledgement since, and none has arrived; 0: none waits.
	 * A new connection does not end this. */
	uint64_t unacked_ns;
	uint64_t dropped, rejected;            /* alarms, not reported yet */
	uint64_t lost, not_evaluated, refused; /* the last sums of the data plane's counters */
	/* draining */
	bool draining;
	uint64_t drain_deadline_ns;
	bool drained;
	void (*on_drained)(void *arg); /* of the first publisher, for all */
	void *drained_arg;
	/* scratch */
	struct bp_text envelope;
	struct bp_alarm *renumbered;
	size_t renumbered_size;
	char topic[UINT16_MAX + 1];
	struct bp_log_limit log_invalid, log_timeout, log_damaged, log_rejected;
	struct bp_inflight inflight;
};

static inline bool bp_publish_up(const struct bp_publisher *p)
{
	return p->to->up(p->link);
}

static inline void bp_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Returns the share of an alarm in BP_PUBLISH_INFLIGHT_BYTES_MAX. */
static inline uint32_t bp_publish_weight(const struct bp_alarm *a)
{
	uint64_t n = bp_alarm_size(a);

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static inline uint32_t bp_publish_window(const struct bp_publisher *p)
{
	return bp_inflight_window(&p->inflight, p->window);
}

/* Returns whether one more alarm fits in the window and in the memory limit. */
static inline bool bp_publish_fits(const struct bp_publisher *p, const struct bp_alarm *a)
{
	return p->inflight.count < bp_publish_window(p) &&
	       (p->inflight.count == 0 ||
		       p->inflight.bytes + bp_publish_weight(a) <= BP_PUBLISH_INFLIGHT_BYTES_MAX);
}

/* Returns whether alarms are sent before older ones of their key that the disk does not return. */
static inline bool bp_publish_order_given_up(const struct bp_publisher *p, const struct bp_lane *l)
{
	return p->unreadable_ns != 0 &&
	       (bp_lane_crowded(l) || p->now_ns - p->unreadable_ns > BP_PUBLISH_ORDER_GRACE_NS);
}

static inline void bp_publish_record(struct bp_lane *l, uint64_t number, uint64_t id, uint64_t key)
{
	struct bp_lane_entry *e = bp_lane_entry(l, number);

	e->id = e->first_id = id;
	e->key = key;
	e->stamps = l->stamps;
	e->read_ns = l->read_ns;
}

/* Returns the id by which a finished record keeps its place in the order of the rings; 0: none.
 * Only another destination may repeat it after a restart. */
static inline uint64_t bp_publish_order_id(const struct bp_publisher *p, const struct bp_alarm *a)
{
	const bool counts = a != NULL && (a->flags & BP_ALARM_F_MIRROR) == 0;

	return counts && p->lanes > 1 && p->first->next != NULL ? a->id : 0;
}

/* Returns whether the disk is in the delay after a failure. */
static inline bool bp_publish_disk_rests(const struct bp_publisher *p, uint64_t now)
{
	return now < p->spool_retry_ns;
}

/* publisher.c: runs again without waiting for the tick, after other events were handled. */
void bp_publish_reschedule(struct bp_publisher *p);

/* Runs again now: the link can take more. arg: the publisher. */
void bp_publish_ready(void *arg);
void bp_publish_update_brokers(struct bp_publisher *p);

/* publish_link.c: their arg is the publisher. */
extern const struct bp_link_events bp_publish_link_events;

/* publish_alarm.c: returns whether the alarm can be published at all. */
bool bp_publishable(const struct bp_alarm *a);
/* Counts and logs an alarm that cannot be published. NULL: a damaged record. */
void bp_publish_invalid(struct bp_publisher *p, const struct bp_alarm *a, const char *why);
/* Logs an alarm that the destination has refused for ever. */
void bp_publish_rejected(struct bp_publisher *p, uint64_t id, const char *why);
/* Counts and logs a record, [start, end) in the ring, the first time. Returns whether it is to be
 * published. */
bool bp_publish_check(struct bp_publisher *p, struct bp_lane *l, uint64_t start, uint64_t end,
	const struct bp_alarm *a);
/* Whether another gateway publishes the alarm, which is then finished here. */
bool bp_publish_taken(const struct bp_publisher *p, uint64_t id);
/* The destination has acknowledged or refused the alarm, or it can never be sent. */
void bp_publish_finished(const struct bp_publisher *p, uint64_t id);
/* Whether an alarm is for the destination of this publisher. */
bool bp_publish_is_for(const struct bp_publisher *p, const struct bp_alarm *a);
/* Sends an alarm to the link. Returns 0 with *mid; > 0: it can never be sent; < 0: it cannot be
 * sent now. */
int bp_publish_alarm(struct bp_publisher *p, const struct bp_alarm *a, uint16_t *mid);

/* publish_live.c: passes over the next records of the rings that are not to be published here. */
void bp_publish_skip(struct bp_publisher *p);
/* Sends the alarms of the rings, up to the window and the budget; sets window_full. */
void bp_publish_lanes(struct bp_publisher *p);

/* publisher.c: returns whether the link is up, but nothing was acknowledged for ack_timeout. */
bool bp_publish_unresponsive(const struct bp_publisher *p, uint64_t now);

/* publish_faults.c: takes the initial counts, which are not reported; then once per second. */
void bp_publish_faults_begin(struct bp_publisher *p);
void bp_publish_faults(struct bp_publisher *p, uint64_t now);

/* publish_order.c: updates `order` from the spool. */
void bp_publish_update_order(struct bp_publisher *p, uint64_t now);
/* Calls the keeper for all rows of the spool. */
void bp_publish_show_rows(struct bp_publisher *p);
/* Checks all waiting alarms again. */
void bp_publish_rescan(struct bp_publisher *p);
/* An alarm begins to wait in a ring. */
void bp_publish_wait(struct bp_publisher *p, const struct bp_lane_entry *e);
/* Returns whether alarms of the rings must be spooled before more rows are sent. */
bool bp_publish_older_wait(struct bp_publisher *p);
/* Moves the rings' tails over finished alarms. */
void bp_publish_release(struct bp_publisher *p);

/*
 * publish_spool.c. `now`: monotonic nanoseconds. Failures of the disk are counted and logged here,
 * and have no other effect.
 */
void bp_publish_disk_failed(struct bp_publisher *p, uint64_t now);
/* The same when rows cannot be read; and when they can be read again. */
void bp_publish_unreadable(struct bp_publisher *p, uint64_t now);
void bp_publish_readable(struct bp_publisher *p);
/* Counts the alarms that the spool's limits have dropped since the last call. Alarms in flight are
 * counted when they are known to be lost. */
void bp_publish_count_dropped(struct bp_publisher *p);
void bp_publish_dropped(struct bp_publisher *p, enum bp_publish_drop reason, uint64_t n);
/*
 * While the disk fails: drops the oldest alarms of an almost full ring that another destination has
 * finished, so that workers can add alarms for the other one.
 */
void bp_publish_give_up(struct bp_publisher *p);
/* While the link is down: spools the waiting alarms, in few transactions. */
void bp_publish_spool_down(struct bp_publisher *p, uint64_t now);
/* Spools all alarms of the rings when one of them has waited for longer than ack_timeout, or when
 * nothing was acknowledged for so long; they stay in flight. Only for a link that repeats alarms by
 * itself. Returns whether it did. */
bool bp_publish_spool_overdue(struct bp_publisher *p, uint64_t now);
/* Adds alarms of another gateway to the spool, of those that are for this destination the ones that
 * it lacks. False: the disk fails, and none was added. */
bool bp_publish_adopt(struct bp_publisher *p, unsigned n, struct bp_adopted *alarms, uint64_t now);
/* While the link is up, but the broker is too slow, or alarms wait for the backlog of their
 * keys. */
void bp_publish_spool_overflow(struct bp_publisher *p, uint64_t now);
/* Spools all alarms of the rings, in flight or not. */
void bp_publish_spool_rest(struct bp_publisher *p, uint64_t now);
/* Sends rows to the link, at the same time as live alarms. */
void bp_publish_backlog(struct bp_publisher *p, uint64_t now);
/* Deletes acknowledged rows, many at a time. Returns whether it has used the disk. */
bool bp_publish_delete_done(struct bp_publisher *p, uint64_t now);

#endif
