/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of the publisher: conditions in which alarms are not delivered. */
#include "biplane/counters/mqtt.h"
#include "controlplane/process/clock.h"
#include "controlplane/alarms/publisher_internal.h"

/* A failed disk must work without a failure for this time. */
#define DISK_QUIET_NS 5000000000ull

static uint64_t lost(const struct bp_publisher *p)
{
	return bp_shm_counter(p->shm, BP_C_ALARM_QUEUE_FULL) +
	       bp_shm_counter(p->shm, BP_C_ALARM_TOO_LARGE);
}

static uint64_t not_evaluated(const struct bp_publisher *p)
{
	/* long payloads that exceed reassembly_per_connection are evaluated by their beginning */
	return bp_shm_counter(p->shm, BP_C_PUBLISH_VALUE_TRUNCATED) +
	       bp_shm_counter(p->shm, BP_C_REASSEMBLY_LIMIT_TOTAL);
}

/* Returns the increase of a sum; the sum restarts with the data plane. */
static uint64_t growth(uint64_t *before, uint64_t now)
{
	uint64_t n = now >= *before ? now - *before : now;

	*before = now;
	return n;
}

void bp_publish_faults_begin(struct bp_publisher *p)
{
	p->lost = lost(p);
	p->not_evaluated = not_evaluated(p);
	p->refused = bp_shm_counter(p->shm, BP_C_PUBLISH_REFUSED);
}

/* Returns since when the destination acknowledges nothing; 0: it does. A link that repeats alarms
 * by itself may be replaced again and again, and be up in between. */
static uint64_t away_since(const struct bp_publisher *p, uint64_t now)
{
	const uint64_t unacked = p->to->repeats ? p->unacked_ns : 0;

	if (!p->limits.enabled)
		return 0;
	if (bp_publish_up(p))
		return bp_publish_unresponsive(p, now) ? unacked : 0;
	return unacked != 0 && unacked < p->down_since_ns ? unacked : p->down_since_ns;
}

static void link_faults(struct bp_publisher *p, uint64_t now)
{
	struct bp_faults *f = &p->first->faults;
	const uint64_t began = away_since(p, now);
	const bool away = began != 0;
	const uint64_t since = away && now > began ? now - began : 0;
	const uint64_t limit = p->limits.unreachable_after_ns;
	struct bp_log_field field[BP_DESTINATION_FIELDS + 3] = {{.key = NULL}};

	p->to->fields(&p->settings, field);
	field[BP_DESTINATION_FIELDS] =
		(struct bp_log_field)BP_LOG_NUM("spooled", bp_spool_rows(p->spool));
	if (away && p->to->error(p->link)[0] != '\0')
		field[BP_DESTINATION_FIELDS + 1] =
			(struct bp_log_field)BP_LOG_STR("reason", p->to->error(p->link));
	bp_fault_lasts(
		f, p->to->unreachable, away && limit != 0 && since >= limit, since, 0, field);
	field[BP_DESTINATION_FIELDS] =
		p->settings_bad ? (struct bp_log_field)BP_LOG_STR("reason", p->settings_error)
				: (struct bp_log_field){.key = NULL};
	field[BP_DESTINATION_FIELDS + 1] = (struct bp_log_field){.key = NULL};
	bp_fault_lasts(f, p->to->settings, p->settings_bad, 0, 0, field);
}

static void spool_faults(struct bp_publisher *p, uint64_t now)
{
	struct bp_faults *f = &p->first->faults;
	const uint64_t rows = bp_spool_rows(p->spool), limit = p->backlog_warning;
	const bool bad = p->spool_broken ||
			 (p->disk_failed_ns != 0 && now - p->disk_failed_ns < DISK_QUIET_NS);

	if (limit == 0)
		p->backlog_bad = false;
	else if (!p->spool_broken) /* otherwise the number of rows is unknown */
		p->backlog_bad = rows >= limit || (p->backlog_bad && rows >= limit / 2 + 1);
	bp_fault_lasts(f, p->to->backlog, p->backlog_bad, 0, rows,
		BP_LOG_FIELDS(BP_LOG_NUM("spooled", rows), BP_LOG_NUM("limit", limit)));
	bp_fault_lasts(f, p->to->spool_error, bad, 0, 0,
		bad ? BP_LOG_FIELDS(BP_LOG_STR("reason", bp_spool_error(p->spool)))
		    : BP_LOG_FIELDS({.key = NULL}));
}

void bp_publish_faults(struct bp_publisher *p, uint64_t now)
{
	struct bp_faults *f = &p->first->faults;

	bp_faults_at(f, now, bp_unix_ns());
	link_faults(p, now);
	spool_faults(p, now);
	bp_fault_happens(f, BP_FAULT_ALARMS_DROPPED, p->dropped);
	p->dropped = 0;
	if (p->to->id == BP_TO_KAFKA)
		bp_fault_happens(f, BP_FAULT_ALARMS_REJECTED, p->rejected);
	p->rejected = 0;
	if (p != p->first)
		return; /* the rings and the workers have no destination */
	bp_fault_happens(f, BP_FAULT_ALARMS_LOST, growth(&p->lost, lost(p)));
	bp_fault_happens(f, BP_FAULT_NOT_EVALUATED, growth(&p->not_evaluated, not_evaluated(p)));
	bp_fault_happens(f, BP_FAULT_REFUSED,
		growth(&p->refused, bp_shm_counter(p->shm, BP_C_PUBLISH_REFUSED)));
}
