/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/monitoring/fault_message.h"

#include <inttypes.h>
#include <stdio.h>

#include "config/config.h"

static const char *times(uint64_t n)
{
	return n == 1 ? "time" : "times";
}

static const char *frames(uint64_t n)
{
	return n == 1 ? "frame" : "frames";
}

static void link_message(const struct bp_fault_message *s, char *line)
{
	char span[BP_FAULT_DURATION_LEN];

	if (s->news == BP_FAULT_CLEARED)
		snprintf(line, BP_FAULT_LINE, "port %s: link up again after %s", s->subject,
			bp_fault_duration(s->lasts_ns, span));
	else if (s->news == BP_FAULT_ONGOING)
		snprintf(line, BP_FAULT_LINE,
			"port %s: link went down %" PRIu64
			" more %s in the last %s, and is %s now; look at cable, transceiver and "
			"the device at the other end",
			s->subject, s->spells, times(s->spells),
			bp_fault_duration(s->line_ns, span), s->active ? "down" : "up");
	else if (s->never)
		snprintf(line, BP_FAULT_LINE,
			"port %s: link has not come up since the start, %s ago; what is to leave "
			"by it is lost; look at cable, transceiver and the device at the other end",
			s->subject, bp_fault_duration(s->lasts_ns, span));
	else
		snprintf(line, BP_FAULT_LINE,
			"port %s: link down; what is to leave by it is lost; look at cable, "
			"transceiver and the device at the other end",
			s->subject);
}

/* Of frames that never reached biplane: what befell them, and what to do. */
static void frame_message(
	const struct bp_fault_message *s, const char *fate, const char *advice, char *line)
{
	char span[BP_FAULT_DURATION_LEN];

	if (s->news == BP_FAULT_CLEARED)
		snprintf(line, BP_FAULT_LINE,
			"port %s: no more frames %s: none in the last %s, %" PRIu64 " before",
			s->subject, fate, bp_fault_duration(s->settings->log_interval_ns, span),
			s->all);
	else if (s->news == BP_FAULT_ONGOING)
		snprintf(line, BP_FAULT_LINE,
			"port %s: %" PRIu64 " more %s %s in the last %s, %" PRIu64 " since it "
			"began; %s",
			s->subject, s->events, frames(s->events), fate,
			bp_fault_duration(s->line_ns, span), s->all, advice);
	else
		snprintf(line, BP_FAULT_LINE, "port %s: %" PRIu64 " %s %s; %s", s->subject,
			s->events, frames(s->events), fate, advice);
}

static const char buffers_advice[] = "raise mbufs, or see in `biplane show drops`, `show lcl` and "
				     "`show aggregates` who holds them";

/* Drivers count attempts: a frame may be there for the next one. */
static void no_mbuf_message(const struct bp_fault_message *s, char *line)
{
	char span[BP_FAULT_DURATION_LEN];

	if (s->news == BP_FAULT_CLEARED)
		snprintf(line, BP_FAULT_LINE,
			"port %s: packet buffers for all frames again (rx_nombuf): none was "
			"missing in the last %s, %" PRIu64 " %s before",
			s->subject, bp_fault_duration(s->settings->log_interval_ns, span), s->all,
			times(s->all));
	else if (s->news == BP_FAULT_ONGOING)
		snprintf(line, BP_FAULT_LINE,
			"port %s: no packet buffer for frames, %" PRIu64
			" more %s in the last %s (rx_nombuf), %" PRIu64 " since it began; %s",
			s->subject, s->events, times(s->events),
			bp_fault_duration(s->line_ns, span), s->all, buffers_advice);
	else
		snprintf(line, BP_FAULT_LINE,
			"port %s: no packet buffer for frames, %" PRIu64
			" %s (rx_nombuf): they wait, or are lost; %s",
			s->subject, s->events, times(s->events), buffers_advice);
}

static void pool_message(const struct bp_fault_message *s, char *line)
{
	const unsigned low = s->settings->mbuf_low_percent;
	char span[BP_FAULT_DURATION_LEN];

	if (s->news == BP_FAULT_CLEARED)
		snprintf(line, BP_FAULT_LINE,
			"pool %s: packet buffers are no longer low: %u of %u are free; they were "
			"low for %s, with %" PRIu64 " free at the least",
			s->subject, s->free, s->size, bp_fault_duration(s->lasts_ns, span),
			s->worst);
	else if (s->news == BP_FAULT_ONGOING)
		snprintf(line, BP_FAULT_LINE,
			"pool %s: packet buffers fell below %u %% %" PRIu64
			" more %s in the last %s, and are %slow now: %u of %u are free; %s",
			s->subject, low, s->spells, times(s->spells),
			bp_fault_duration(s->line_ns, span), s->active ? "" : "not ", s->free,
			s->size, buffers_advice);
	else
		snprintf(line, BP_FAULT_LINE,
			"pool %s: %u of %u packet buffers are free, less than %u %% "
			"(monitoring.mbuf_low_percent); where none is free frames are lost; %s",
			s->subject, s->free, s->size, low, buffers_advice);
}

static void poll_gap_message(const struct bp_fault_message *s, char *line)
{
	static const char advice[] = "frames waited, or were lost; give it a CPU of its own "
				     "(workers: [CPU], isolcpus), or less to do (more workers)";
	char limit[BP_FAULT_DURATION_LEN], span[BP_FAULT_DURATION_LEN], away[BP_FAULT_DURATION_LEN];

	bp_fault_duration(s->settings->poll_gap_warning_ns, limit);
	if (s->news == BP_FAULT_CLEARED)
		snprintf(line, BP_FAULT_LINE,
			"%s on CPU %u: overran %" PRIu64 " %s, %s in all, and not in the last %s",
			s->subject, s->cpu, s->all, times(s->all),
			bp_fault_duration(s->all_ns, away),
			bp_fault_duration(s->settings->log_interval_ns, span));
	else if (s->news == BP_FAULT_ONGOING)
		snprintf(line, BP_FAULT_LINE,
			"%s on CPU %u: away from its queues %" PRIu64
			" more %s in the last %s, %s in all; %s",
			s->subject, s->cpu, s->events, times(s->events),
			bp_fault_duration(s->line_ns, span), bp_fault_duration(s->events_ns, away),
			advice);
	else
		snprintf(line, BP_FAULT_LINE,
			"%s on CPU %u: away from its queues %" PRIu64
			" %s for more than %s (monitoring.poll_gap_warning), %s in all; %s",
			s->subject, s->cpu, s->events, times(s->events), limit,
			bp_fault_duration(s->events_ns, away), advice);
}

static void stall_message(const struct bp_fault_message *s, char *line)
{
	static const char advice[] = "what it polls is not forwarded; if it does not come back, "
				     "restart biplane and report it with what `biplane show "
				     "nodes` says";
	char span[BP_FAULT_DURATION_LEN];

	if (s->news == BP_FAULT_CLEARED)
		snprintf(line, BP_FAULT_LINE, "%s on CPU %u: back at its queues after %s",
			s->subject, s->cpu, bp_fault_duration(s->lasts_ns, span));
	else if (s->news == BP_FAULT_ONGOING)
		snprintf(line, BP_FAULT_LINE,
			"%s on CPU %u: stuck %" PRIu64 " more %s in the last %s, and %s now; %s",
			s->subject, s->cpu, s->spells, times(s->spells),
			bp_fault_duration(s->line_ns, span), s->active ? "is stuck" : "runs",
			advice);
	else
		snprintf(line, BP_FAULT_LINE,
			"%s on CPU %u: stuck: it has not come back to its queues for %s; %s",
			s->subject, s->cpu, bp_fault_duration(s->lasts_ns, span), advice);
}

static void not_inspected_message(const struct bp_fault_message *s, char *line)
{
	static const char advice[] = "their values raise no alarm; `biplane show unread` says why, "
				     "and of which clients";
	const char *connections = s->connections == 1 ? "connection" : "connections";
	char span[BP_FAULT_DURATION_LEN];

	if (s->news == BP_FAULT_CLEARED)
		snprintf(line, BP_FAULT_LINE,
			"%s: no connection passes unread any more; some did for %s", s->subject,
			bp_fault_duration(s->lasts_ns, span));
	else if (s->news == BP_FAULT_ONGOING)
		snprintf(line, BP_FAULT_LINE,
			"%s: connections passed unread %" PRIu64
			" more %s in the last %s, and %u now; %s",
			s->subject, s->spells, times(s->spells),
			bp_fault_duration(s->line_ns, span), s->connections, advice);
	else
		snprintf(line, BP_FAULT_LINE,
			"%s: MQTT on %u %s passes unread, the longest for %s; %s", s->subject,
			s->connections, connections, bp_fault_duration(s->lasts_ns, span), advice);
}

enum bp_log_level bp_fault_message_format(
	const struct bp_fault_message *s, char line[BP_FAULT_LINE])
{
	line[0] = '\0';
	switch (s->kind) {
	case BP_FAULT_LINK_DOWN:
		link_message(s, line);
		break;
	case BP_FAULT_NIC_MISSED:
		frame_message(s, "dropped by the NIC because no worker took them in time (imissed)",
			"the workers have too little time or CPU (`biplane show nodes`): more "
			"workers, or more ports[].rx_descriptors",
			line);
		break;
	case BP_FAULT_NIC_NO_MBUF:
		no_mbuf_message(s, line);
		break;
	case BP_FAULT_NIC_ERRORS:
		frame_message(s, "received damaged or not at all (ierrors)",
			"look at cable, transceiver, duplex, and the mtu of both ends", line);
		break;
	case BP_FAULT_MBUFS_LOW:
		pool_message(s, line);
		break;
	case BP_FAULT_WORKER_OVERRUN:
		poll_gap_message(s, line);
		break;
	case BP_FAULT_WORKER_STUCK:
		stall_message(s, line);
		break;
	case BP_FAULT_NOT_INSPECTED:
		not_inspected_message(s, line);
		break;
	default: /* the control plane's */
		break;
	}
	if (s->news == BP_FAULT_CLEARED)
		return BP_LOG_INFO;
	return s->kind == BP_FAULT_WORKER_STUCK ? BP_LOG_ERROR : BP_LOG_WARNING;
}
