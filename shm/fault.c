/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fault.h"

#include <stdio.h>
#include <string.h>

#include "biplane/counters/general.h"
#include "shm/words.h"

#define US_NS 1000ull
#define MS_NS 1000000ull
#define S_NS 1000000000ull
#define MINUTE_NS (60 * S_NS)
#define HOUR_NS (60 * MINUTE_NS)
#define TRIES 1000 /* a writer needs some nanoseconds, a few times a second */

const struct bp_fault_info bp_fault_info[BP_FAULT_KINDS] = {
	[BP_FAULT_LINK_DOWN] = {"link_down",
		"no link: cable, transceiver, the device at the other end", BP_C_LINK_DOWN,
		BP_FAULT_NS, BP_FAULT_NS, true},
	[BP_FAULT_NIC_MISSED] = {"nic_missed",
		"frames dropped by the NIC: add workers or rx_descriptors", BP_C_NIC_MISSED,
		BP_FAULT_FRAMES, BP_FAULT_NOTHING, false},
	[BP_FAULT_NIC_NO_MBUF] = {"nic_no_mbuf",
		"no mbuf for received frames: raise mbufs, or find their holder", BP_C_NIC_NO_MBUF,
		BP_FAULT_TIMES, BP_FAULT_NOTHING, false},
	[BP_FAULT_NIC_ERRORS] = {"nic_errors",
		"damaged or too long frames: check cable, transceiver, duplex, mtu",
		BP_C_NIC_ERRORS, BP_FAULT_FRAMES, BP_FAULT_NOTHING, false},
	[BP_FAULT_MBUFS_LOW] = {"mbufs_low", "few free mbufs: raise mbufs, or find their holder",
		BP_C_MBUFS_LOW, BP_FAULT_NS, BP_FAULT_BUFFERS, true},
	[BP_FAULT_WORKER_OVERRUN] = {"poll_gaps",
		"long poll gaps: isolate the CPU of the worker, or reduce its load", BP_C_POLL_GAPS,
		BP_FAULT_TIMES, BP_FAULT_NS, false},
	[BP_FAULT_WORKER_STUCK] = {"worker_stalls",
		"the worker does not poll: restart the data plane, and report it",
		BP_C_WORKER_STALLS, BP_FAULT_NS, BP_FAULT_NS, true},
	[BP_FAULT_NOT_INSPECTED] = {"connections_not_inspected",
		"MQTT not inspected: `biplane show not-inspected` lists reasons and clients",
		BP_C_CONNECTIONS_NOT_INSPECTED, BP_FAULT_NS, BP_FAULT_CONNECTIONS, true},
	[BP_FAULT_EDGE_UNREACHABLE] = {"edge_unreachable",
		"no connection to the edge broker: alarms wait in the spool", 0, BP_FAULT_NS,
		BP_FAULT_NS, true},
	[BP_FAULT_EDGE_SETTINGS] = {"edge_settings",
		"the password or TLS files of mqtt.publisher cannot be used: see the log", 0,
		BP_FAULT_NS, BP_FAULT_NS, true},
	[BP_FAULT_SPOOL_BACKLOG] = {"spool_backlog",
		"the spool reached backlog_warning: edge broker unreachable, or too slow", 0,
		BP_FAULT_NS, BP_FAULT_ALARMS, true},
	[BP_FAULT_SPOOL_ERROR] = {"spool_error",
		"the spool cannot be read or written: disk full, permissions", 0, BP_FAULT_NS,
		BP_FAULT_NS, true},
	[BP_FAULT_ALARMS_DROPPED] = {"alarms_dropped",
		"alarms dropped: the spool is over max_size or max_age, or its disk fails", 0,
		BP_FAULT_ALARMS, BP_FAULT_NOTHING, false},
	[BP_FAULT_ALARMS_LOST] = {"alarms_lost",
		"alarms did not fit in the alarm queue: raise mqtt.alarm_queue_size", 0,
		BP_FAULT_ALARMS, BP_FAULT_NOTHING, false},
	[BP_FAULT_NOT_EVALUATED] = {"not_evaluated",
		"publications too long to evaluate: raise reassembly_per_connection, "
		"reassembly_total",
		0, BP_FAULT_PUBLICATIONS, BP_FAULT_NOTHING, false},
	[BP_FAULT_REFUSED] = {"publications_refused",
		"a broker refuses publications: check the rights of the clients, or set "
		"mqtt.evaluate",
		0, BP_FAULT_PUBLICATIONS, BP_FAULT_NOTHING, false},
	[BP_FAULT_FLEET_STATE] = {"fleet_state",
		"Redis does not take the state of the fleet: `biplane status --json` has the "
		"reason",
		0, BP_FAULT_NS, BP_FAULT_NS, true},
	[BP_FAULT_FLEET_AGENT] = {"fleet_agent",
		"no report of the agent of the fleet: it does not run or hangs, see its log", 0,
		BP_FAULT_NS, BP_FAULT_NS, true},
	[BP_FAULT_KAFKA_UNREACHABLE] = {"kafka_unreachable",
		"Kafka does not acknowledge alarms: they wait in the spool", 0, BP_FAULT_NS,
		BP_FAULT_NS, true},
	[BP_FAULT_KAFKA_SETTINGS] = {"kafka_settings",
		"the password or TLS files of mqtt.kafka cannot be used: see the log", 0,
		BP_FAULT_NS, BP_FAULT_NS, true},
	[BP_FAULT_KAFKA_BACKLOG] = {"kafka_backlog",
		"the spool of Kafka reached backlog_warning: unreachable, or too slow", 0,
		BP_FAULT_NS, BP_FAULT_ALARMS, true},
	[BP_FAULT_KAFKA_SPOOL_ERROR] = {"kafka_spool_error",
		"the spool of Kafka cannot be read or written: disk full, permissions", 0,
		BP_FAULT_NS, BP_FAULT_NS, true},
	[BP_FAULT_ALARMS_REJECTED] = {"alarms_rejected",
		"Kafka refuses alarms for ever, most often for their size: see the log", 0,
		BP_FAULT_ALARMS, BP_FAULT_NOTHING, false},
};

_Static_assert(sizeof(struct bp_fault_record) % 4 == 0, "copied word by word");

void bp_fault_write(struct bp_fault_row *row, const struct bp_fault_record *t)
{
	uint32_t seq = atomic_load_explicit(&row->seq, memory_order_relaxed) & ~1u;

	atomic_store_explicit(&row->seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	bp_words_store(&row->is, t, sizeof(*t));
	/* 0: the row is unused */
	atomic_store_explicit(&row->seq, seq + 2 ? seq + 2 : 2, memory_order_release);
}

void bp_fault_event(struct bp_event_ring *events, const struct bp_fault_record *t, uint64_t unix_ns)
{
	struct bp_event e = {.time_ns = unix_ns,
		.type = BP_EVENT_FAULT,
		.action = t->active ? BP_EVENT_FAULT_RAISED : BP_EVENT_FAULT_CLEARED,
		.number = {t->began_ns, t->kind}};

	if (events == NULL)
		return;
	bp_event_text(&e, 0, t->subject, strnlen(t->subject, sizeof(t->subject)));
	bp_event_write(events, &e);
}

bool bp_fault_read(const struct bp_fault_row *row, struct bp_fault_record *t)
{
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t seq = atomic_load_explicit(&row->seq, memory_order_acquire);

		if (seq == 0)
			return false;
		bp_words_load(t, &row->is, sizeof(*t));
		atomic_thread_fence(memory_order_acquire);
		if (seq & 1 || atomic_load_explicit(&row->seq, memory_order_relaxed) != seq)
			continue;
		t->subject[sizeof(t->subject) - 1] = '\0';
		return t->kind < BP_FAULT_KINDS;
	}
	return false;
}

const char *bp_fault_duration(uint64_t ns, char out[BP_FAULT_DURATION_LEN])
{
	if (ns < MS_NS)
		snprintf(out, BP_FAULT_DURATION_LEN, "%u us", (unsigned)(ns / US_NS));
	else if (ns < S_NS)
		snprintf(out, BP_FAULT_DURATION_LEN, "%u ms", (unsigned)(ns / MS_NS));
	else if (ns < 2 * MINUTE_NS)
		snprintf(out, BP_FAULT_DURATION_LEN, "%u.%u s", (unsigned)(ns / S_NS),
			(unsigned)(ns % S_NS / (S_NS / 10)));
	else if (ns < 2 * HOUR_NS)
		snprintf(out, BP_FAULT_DURATION_LEN, "%u min", (unsigned)(ns / MINUTE_NS));
	else
		snprintf(out, BP_FAULT_DURATION_LEN, "%u h", (unsigned)(ns / HOUR_NS));
	return out;
}
