/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/faults.h"

#include <stdio.h>
#include <string.h>

#include "daemon/log.h"

/* A fault that lasts is logged again after one, two and four minutes and so on, and then every
 * hour. */
#define REMIND_MIN_NS 60000000000ull
#define REMIND_MAX_NS 3600000000000ull
#define NS_PER_MS 1000000u

static struct bp_fault *of_kind(struct bp_faults *f, enum bp_fault_kind kind)
{
	return &f->fault[kind - BP_FAULT_CONTROLPLANE_FIRST];
}

static void publish(struct bp_faults *f, const struct bp_fault *t)
{
	bp_fault_write(&f->rows[t - f->fault], &t->is);
}

void bp_faults_init(struct bp_faults *f, struct bp_fault_row *rows, const char *subject,
	uint64_t log_interval_ns, uint64_t now_ns)
{
	memset(f, 0, sizeof(*f));
	f->rows = rows;
	f->log_interval_ns = log_interval_ns;
	for (unsigned i = 0; i < BP_FAULT_OF_CONTROLPLANE; i++) {
		struct bp_fault *t = &f->fault[i];

		t->is.kind = BP_FAULT_CONTROLPLANE_FIRST + i;
		snprintf(t->is.subject, sizeof(t->is.subject), "%s", subject);
		bp_pace_init(&t->pace, log_interval_ns, now_ns);
		publish(f, t);
	}
}

void bp_faults_at(struct bp_faults *f, uint64_t now_ns, uint64_t unix_ns)
{
	f->now_ns = now_ns;
	f->unix_ns = unix_ns;
}

/* Returns whether a line may be written now, and counts it as written. */
static bool may_log(struct bp_faults *f, struct bp_fault *t)
{
	if (!bp_pace_may(&t->pace, true, f->now_ns))
		return false;
	bp_pace_take(&t->pace, f->now_ns);
	return true;
}

static void begin(struct bp_faults *f, struct bp_fault *t, uint64_t ago_ns)
{
	t->is.active = 1;
	t->is.spells++;
	t->is.began_ns = f->unix_ns - ago_ns;
	t->is.ended_ns = 0;
	t->began_ns = f->now_ns - ago_ns;
	t->of_spell = 0;
	t->remind_ns = REMIND_MIN_NS;
	t->remind_at = f->now_ns + t->remind_ns;
	bp_fault_event(f->events, &t->is, f->unix_ns);
}

static void end(struct bp_faults *f, struct bp_fault *t)
{
	t->is.active = 0;
	t->is.ended_ns = f->unix_ns;
	t->done_ns += f->now_ns - t->began_ns;
	bp_fault_event(f->events, &t->is, f->unix_ns);
}

/* Messages of the log: what happened, and the remedy. */
struct message {
	const char *raised, *cleared;
};

static const struct message messages[BP_FAULT_OF_CONTROLPLANE] = {
#define OF(kind_) [BP_FAULT_##kind_ - BP_FAULT_CONTROLPLANE_FIRST]
	OF(EDGE_UNREACHABLE) = {"no connection to the edge broker; alarms wait in the spool",
		"connected to the edge broker"},
	OF(EDGE_SETTINGS) = {"the password or TLS files of mqtt.publisher cannot be used; alarms "
			     "wait in the spool until they can",
		"the password and TLS files of mqtt.publisher can be used"},
	OF(SPOOL_BACKLOG) = {"alarms in the spool reached mqtt.spool.backlog_warning; check the "
			     "connection to the edge broker and its load",
		"alarms in the spool are below mqtt.spool.backlog_warning again"},
	OF(SPOOL_ERROR) = {"the spool cannot be read or written; the directory of mqtt.spool.path "
			   "must be writable and have free space: alarms stay in memory until then",
		"the spool can be read and written again"},
	OF(ALARMS_DROPPED) = {"alarms dropped: the spool is over mqtt.spool.max_size or max_age, "
			      "or its disk fails; they are not delivered",
		"no more alarms dropped"},
	OF(ALARMS_LOST) = {"alarms lost because they did not fit in the alarm queue; raise "
			   "mqtt.alarm_queue_size, and check the edge broker and the disk",
		"no more alarms lost"},
	OF(NOT_EVALUATED) = {"publications too long to evaluate; raise "
			     "mqtt.reassembly_per_connection or reassembly_total",
		"all publications are evaluated"},
	OF(REFUSED) = {"publications refused by a broker (PUBACK or PUBREC); check the rights of "
		       "the clients with awaits_ack in `biplane show connections --json`",
		"no more publications refused"},
	OF(KAFKA_UNREACHABLE) = {"no acknowledgement from Kafka; alarms wait in its spool",
		"Kafka acknowledges alarms"},
	OF(KAFKA_SETTINGS) = {"the password or TLS files of mqtt.kafka cannot be used; alarms "
			      "wait in the spool until they can",
		"the password and TLS files of mqtt.kafka can be used"},
	OF(KAFKA_BACKLOG) = {"alarms in the spool of Kafka reached mqtt.spool.backlog_warning; "
			     "check the brokers and their load",
		"alarms in the spool of Kafka are below mqtt.spool.backlog_warning again"},
	OF(KAFKA_SPOOL_ERROR) = {"the spool of Kafka cannot be read or written; the directory of "
				 "mqtt.spool.path must be writable and have free space: alarms "
				 "stay in memory until then",
		"the spool of Kafka can be read and written again"},
	OF(ALARMS_REJECTED) = {"alarms refused by Kafka: they are not delivered; raise "
			       "max.message.bytes of the topic and mqtt.kafka.max_message_size",
		"no more alarms refused by Kafka"},
#undef OF
};

/* Writes an event with the fields of the caller, those of the state, and the fault's name. */
struct event {
	struct bp_log_field field[BP_LOG_FIELDS_MAX + 1];
	unsigned n;
};

static void add_number(struct event *e, const char *key, uint64_t n)
{
	e->field[e->n++] = (struct bp_log_field){.key = key, .number = n};
}

static void write_event(const struct bp_fault *t, struct event *e)
{
	const struct message *m = &messages[t->is.kind - BP_FAULT_CONTROLPLANE_FIRST];

	e->field[e->n++] =
		(struct bp_log_field){.key = "fault", .value = bp_fault_info[t->is.kind].name};
	bp_log_event(t->is.active ? BP_LOG_ERROR : BP_LOG_INFO, e->field, "%s",
		t->is.active ? m->raised : m->cleared);
}

static void log_lasting(
	const struct bp_faults *f, struct bp_fault *t, const struct bp_log_field *fields)
{
	struct event e = {.n = 0};

	for (; e.n < BP_FAULT_FIELDS_OF_CALLER && fields[e.n].key != NULL; e.n++)
		e.field[e.n] = fields[e.n];
	add_number(&e, "duration_ms", (f->now_ns - t->began_ns) / NS_PER_MS);
	write_event(t, &e);
	t->raise_logged = t->is.active;
}

void bp_fault_lasts(struct bp_faults *f, enum bp_fault_kind kind, bool bad, uint64_t ago_ns,
	uint64_t number, const struct bp_log_field *fields)
{
	struct bp_fault *t = of_kind(f, kind);
	uint64_t lasted;

	if (!t->is.active && !bad && !t->raise_logged)
		return;
	if (bad && !t->is.active)
		begin(f, t, ago_ns);
	if (t->is.active) {
		lasted = f->now_ns - t->began_ns;
		t->is.total = t->done_ns + lasted;
		if (bp_fault_info[kind].worst == BP_FAULT_NS)
			number = lasted;
		if (number > t->is.worst)
			t->is.worst = number;
	}
	if (t->is.active && !bad)
		end(f, t);
	publish(f, t);
	if (t->is.active == t->raise_logged && (!t->raise_logged || f->now_ns < t->remind_at))
		return;
	if (!may_log(f, t))
		return;
	if (t->raise_logged && t->is.active) {
		t->remind_ns = t->remind_ns * 2 > REMIND_MAX_NS ? REMIND_MAX_NS : t->remind_ns * 2;
		t->remind_at = f->now_ns + t->remind_ns;
	}
	log_lasting(f, t, fields);
}

static void log_events(const struct bp_faults *f, struct bp_fault *t)
{
	struct event e = {.n = 0};

	if (t->is.active)
		add_number(&e, "count", t->n_unlogged);
	if (t->is.active && t->raise_logged)
		add_number(&e, "interval_ms", (f->now_ns - t->logged_ns) / NS_PER_MS);
	add_number(&e, "total", t->of_spell);
	write_event(t, &e);
	t->n_unlogged = 0;
	t->logged_ns = f->now_ns;
	t->raise_logged = t->is.active;
}

void bp_fault_happens(struct bp_faults *f, enum bp_fault_kind kind, uint64_t n)
{
	struct bp_fault *t = of_kind(f, kind);

	if (n != 0) {
		if (!t->is.active)
			begin(f, t, 0);
		t->last_ns = f->now_ns;
		t->is.total += n;
		t->of_spell += n;
		t->n_unlogged += n;
	} else if (t->is.active && f->now_ns - t->last_ns >= f->log_interval_ns) {
		end(f, t);
	} else if (!t->raise_logged && t->n_unlogged == 0) {
		return;
	}
	publish(f, t);
	/* logs begin and end immediately, and repetitions once per log_interval */
	if (t->raise_logged == t->is.active && (!t->raise_logged || t->n_unlogged == 0))
		return;
	if (t->raise_logged && t->is.active && !bp_pace_may(&t->pace, false, f->now_ns))
		return;
	if (may_log(f, t))
		log_events(f, t);
}
