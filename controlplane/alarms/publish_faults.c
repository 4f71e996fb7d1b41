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

static void edge_faults(struct bp_publisher *p, uint64_t now)
{
	const bool away = p->edge.enabled && !bp_edge_link_up(p->link);
	const uint64_t since = away && now > p->down_since_ns ? now - p->down_since_ns : 0;
	const struct bp_log_field broker = BP_LOG_STR("broker", p->edge.broker.host),
				  port = BP_LOG_NUM("tcp_port", p->edge.broker.tcp_port);

	bp_fault_lasts(&p->faults, BP_FAULT_EDGE_UNREACHABLE,
		away && p->edge.unreachable_after_ns != 0 && since >= p->edge.unreachable_after_ns,
		since, 0,
		BP_LOG_FIELDS(broker, port, BP_LOG_NUM("spooled", bp_spool_rows(p->spool))));
	bp_fault_lasts(&p->faults, BP_FAULT_EDGE_SETTINGS, p->settings_bad, 0, 0,
		p->settings_bad
			? BP_LOG_FIELDS(broker, port, BP_LOG_STR("reason", p->settings_error))
			: BP_LOG_FIELDS(broker, port));
}

static void spool_faults(struct bp_publisher *p, uint64_t now)
{
	const uint64_t rows = bp_spool_rows(p->spool), limit = p->backlog_warning;
	const bool bad = p->spool_broken ||
			 (p->disk_failed_ns != 0 && now - p->disk_failed_ns < DISK_QUIET_NS);

	if (limit == 0)
		p->backlog_bad = false;
	else if (!p->spool_broken) /* otherwise the number of rows is unknown */
		p->backlog_bad = rows >= limit || (p->backlog_bad && rows >= limit / 2 + 1);
	bp_fault_lasts(&p->faults, BP_FAULT_SPOOL_BACKLOG, p->backlog_bad, 0, rows,
		BP_LOG_FIELDS(BP_LOG_NUM("spooled", rows), BP_LOG_NUM("limit", limit)));
	bp_fault_lasts(&p->faults, BP_FAULT_SPOOL_ERROR, bad, 0, 0,
		bad ? BP_LOG_FIELDS(BP_LOG_STR("reason", bp_spool_error(p->spool)))
		    : BP_LOG_FIELDS({.key = NULL}));
}

void bp_publish_faults(struct bp_publisher *p, uint64_t now)
{
	bp_faults_at(&p->faults, now, bp_unix_ns());
	edge_faults(p, now);
	spool_faults(p, now);
	bp_fault_happens(&p->faults, BP_FAULT_ALARMS_DROPPED, p->dropped);
	p->dropped = 0;
	bp_fault_happens(&p->faults, BP_FAULT_ALARMS_LOST, growth(&p->lost, lost(p)));
	bp_fault_happens(
		&p->faults, BP_FAULT_NOT_EVALUATED, growth(&p->not_evaluated, not_evaluated(p)));
	bp_fault_happens(&p->faults, BP_FAULT_REFUSED,
		growth(&p->refused, bp_shm_counter(p->shm, BP_C_PUBLISH_REFUSED)));
}
