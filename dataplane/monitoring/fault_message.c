/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/monitoring/fault_message.h"

#include <stdlib.h>

#include "config/config.h"

#define NS_PER_MS 1000000u

static void add_number(struct bp_fault_event *e, const char *key, uint64_t n)
{
	e->field[e->n_fields++] = (struct bp_log_field){.key = key, .number = n};
}

static void add_text(struct bp_fault_event *e, const char *key, const char *value)
{
	e->field[e->n_fields++] = (struct bp_log_field){.key = key, .value = value};
}

static void add_ms(struct bp_fault_event *e, const char *key, uint64_t ns)
{
	add_number(e, key, ns / NS_PER_MS);
}

/* Appends the number of repetitions since the last line. */
static void add_repetition(struct bp_fault_event *e, const struct bp_fault_message *s, uint64_t n)
{
	add_number(e, "count", n);
	add_ms(e, "interval_ms", s->line_ns);
}

#define CHECK_LINK "check cable, transceiver and the peer device"

static void link_message(const struct bp_fault_message *s, struct bp_fault_event *e)
{
	add_text(e, "port", s->subject);
	switch (s->news) {
	case BP_FAULT_CLEARED:
		e->message = "link up";
		add_ms(e, "down_ms", s->lasts_ns);
		break;
	case BP_FAULT_ONGOING:
		e->message = "link flapping; " CHECK_LINK;
		add_text(e, "link", s->active ? "down" : "up");
		add_repetition(e, s, s->spells);
		break;
	default:
		e->message = "link down: frames to this port are lost; " CHECK_LINK;
		if (s->never) {
			e->message = "link has not come up since the start: frames to this port "
				     "are lost; " CHECK_LINK;
			add_ms(e, "down_ms", s->lasts_ns);
		}
	}
}

/*
 * Message for frames that were lost before biplane: the NIC counter that increases, and the remedy.
 */
static void frame_message(const struct bp_fault_message *s, const char *raised, const char *cleared,
	struct bp_fault_event *e)
{
	add_text(e, "port", s->subject);
	e->message = s->news == BP_FAULT_CLEARED ? cleared : raised;
	if (s->news == BP_FAULT_RAISED)
		add_number(e, "count", s->events);
	else if (s->news == BP_FAULT_ONGOING)
		add_repetition(e, s, s->events);
	add_number(e, "total", s->all);
}

#define FREE_MBUFS                                                                                 \
	"raise mbufs, or see which service holds them in `biplane show drops`, `show lcl` and "    \
	"`show aggregates`"

static void pool_message(const struct bp_fault_message *s, struct bp_fault_event *e)
{
	add_text(e, "pool", s->subject);
	add_number(e, "free", s->free);
	add_number(e, "size", s->size);
	if (s->news == BP_FAULT_CLEARED) {
		e->message = "free mbufs are above monitoring.mbuf_low_percent again";
		add_number(e, "min_free", s->worst);
		add_ms(e, "duration_ms", s->lasts_ns);
		return;
	}
	e->message = "free mbufs are below monitoring.mbuf_low_percent; frames are lost when none "
		     "is free; " FREE_MBUFS;
	add_number(e, "low_percent", s->settings->mbuf_low_percent);
	if (s->news == BP_FAULT_ONGOING) {
		add_text(e, "low", s->active ? "yes" : "no");
		add_repetition(e, s, s->spells);
	}
}

/* Appends the subject "worker N". */
static void add_worker(struct bp_fault_event *e, const struct bp_fault_message *s)
{
	add_number(e, "worker", strtoul(s->subject + sizeof("worker ") - 1, NULL, 10));
	if (s->cpu != BP_FAULT_CPU_ANY)
		add_number(e, "cpu", s->cpu);
}

static void poll_gap_message(const struct bp_fault_message *s, struct bp_fault_event *e)
{
	add_worker(e, s);
	if (s->news == BP_FAULT_CLEARED) {
		e->message = "no more poll gaps";
		add_number(e, "total", s->all);
		add_ms(e, "gap_ms", s->all_ns);
		return;
	}
	e->message = "poll gap above monitoring.poll_gap_warning: frames waited or were lost; give "
		     "the worker a CPU of its own (workers: [CPU], isolcpus), or use more workers";
	if (s->news == BP_FAULT_ONGOING)
		add_repetition(e, s, s->events);
	else
		add_number(e, "count", s->events);
	add_ms(e, "gap_ms", s->events_ns);
	add_ms(e, "limit_ms", s->settings->poll_gap_warning_ns);
}

static void stall_message(const struct bp_fault_message *s, struct bp_fault_event *e)
{
	add_worker(e, s);
	if (s->news == BP_FAULT_CLEARED) {
		e->message = "worker polls its queues again";
		add_ms(e, "duration_ms", s->lasts_ns);
		return;
	}
	e->message = "worker does not poll its queues: its ports forward nothing; if it does not "
		     "resume, restart biplane and report it with the output of `biplane show "
		     "nodes`";
	if (s->news == BP_FAULT_ONGOING) {
		add_text(e, "stalled", s->active ? "yes" : "no");
		add_repetition(e, s, s->spells);
	} else {
		add_ms(e, "duration_ms", s->lasts_ns);
	}
}

static void not_inspected_message(const struct bp_fault_message *s, struct bp_fault_event *e)
{
	add_worker(e, s);
	if (s->news == BP_FAULT_CLEARED) {
		e->message = "all MQTT connections are inspected";
		add_ms(e, "duration_ms", s->lasts_ns);
		return;
	}
	e->message = "MQTT connections are not inspected: their values raise no alarm; see "
		     "`biplane show not-inspected`";
	add_number(e, "connections", s->connections);
	if (s->news == BP_FAULT_ONGOING)
		add_repetition(e, s, s->spells);
	else
		add_ms(e, "duration_ms", s->lasts_ns);
}

void bp_fault_message_format(const struct bp_fault_message *s, struct bp_fault_event *e)
{
	*e = (struct bp_fault_event){.message = ""};
	switch (s->kind) {
	case BP_FAULT_LINK_DOWN:
		link_message(s, e);
		break;
	case BP_FAULT_NIC_MISSED:
		frame_message(s,
			"frames dropped by the NIC because no worker received them in time "
			"(imissed); use more workers, or raise ports[].rx_descriptors",
			"the NIC drops no more frames (imissed)", e);
		break;
	case BP_FAULT_NIC_NO_MBUF:
		/* Drivers count attempts: the next attempt may receive the frame. */
		frame_message(s, "no mbuf for received frames (rx_nombuf); " FREE_MBUFS,
			"mbufs for all received frames again (rx_nombuf)", e);
		break;
	case BP_FAULT_NIC_ERRORS:
		frame_message(s,
			"frames received with errors, or not at all (ierrors); check cable, "
			"transceiver, duplex and the MTU of both ends",
			"the NIC reports no more receive errors (ierrors)", e);
		break;
	case BP_FAULT_MBUFS_LOW:
		pool_message(s, e);
		break;
	case BP_FAULT_WORKER_OVERRUN:
		poll_gap_message(s, e);
		break;
	case BP_FAULT_WORKER_STUCK:
		stall_message(s, e);
		break;
	case BP_FAULT_NOT_INSPECTED:
		not_inspected_message(s, e);
		break;
	default: /* faults of the control plane */
		break;
	}
	add_text(e, "fault", bp_fault_info[s->kind].name);
	e->level = s->news == BP_FAULT_CLEARED        ? BP_LOG_INFO
		   : s->kind == BP_FAULT_WORKER_STUCK ? BP_LOG_ERROR
						      : BP_LOG_WARNING;
}
