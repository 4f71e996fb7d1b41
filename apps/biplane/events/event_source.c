/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/events/event_source.h"

#include <stdio.h>
#include <string.h>

#include "apps/biplane/events/event_reader.h"

/* Records of other types that are skipped before other sources get their turn. */
#define SKIP_MAX 1024u

_Static_assert(offsetof(struct bp_alarm_log, seq) == 0, "its sequence word is first");
_Static_assert(sizeof(struct bp_alarm_log) % 4 == 0, "copied word by word");

static void terminate(struct bp_alarm_log *a)
{
	a->rule[sizeof(a->rule) - 1] = '\0';
	a->client_id[sizeof(a->client_id) - 1] = '\0';
	a->topic[sizeof(a->topic) - 1] = '\0';
	a->to[sizeof(a->to) - 1] = '\0';
}

uint64_t bp_event_source_time(const struct bp_event_source *s)
{
	return s->alarms ? s->is.alarm.time_ns : s->is.event.time_ns;
}

/* Only of the backlog: the clock can be set back later. */
static bool is_old(const struct bp_event_source *s)
{
	return s->cursor.next <= s->cursor.opened && bp_event_source_time(s) <= s->since_ns;
}

static bool is_wanted(struct bp_event_source *s, unsigned types)
{
	if (s->alarms) {
		terminate(&s->is.alarm);
		return types & BP_EVENT_BIT(BP_EVENT_ALARM);
	}
	return s->is.event.type < BP_EVENT_TYPES && (types & BP_EVENT_BIT(s->is.event.type));
}

void bp_event_source_fill(struct bp_event_source *s, unsigned types)
{
	/* after the sequence word of an alarm */
	void *to = s->alarms ? (void *)((char *)&s->is.alarm + sizeof(s->is.alarm.seq))
			     : (void *)&s->is.event;

	for (unsigned i = 0; i < SKIP_MAX && !s->has; i++) {
		uint64_t lost = 0;

		switch (bp_event_cursor_read(&s->cursor, to, &lost)) {
		case BP_EVENT_GOT_NONE:
			return;
		case BP_EVENT_GOT_LOST:
			s->lost += lost;
			break;
		case BP_EVENT_GOT_RESET:
			/* damage can repeat in each call, and is reported once */
			s->reset |= s->settled;
			s->settled = false;
			return;
		case BP_EVENT_GOT_RECORD:
			s->settled = true;
			/* between the last event of the log and this one, others were overwritten
			 */
			s->gap |= s->wrapped && bp_event_source_time(s) > s->since_ns;
			s->wrapped = false;
			s->has = is_wanted(s, types) && !is_old(s);
			break;
		}
	}
}

void bp_event_source_name(unsigned i, unsigned workers, char out[BP_EVENT_SOURCE_NAME])
{
	static const char *const name[] = {
		"data plane", "control plane", "health devices", "alarms"};

	if (i < workers)
		snprintf(out, BP_EVENT_SOURCE_NAME, "worker %u", i);
	else
		snprintf(out, BP_EVENT_SOURCE_NAME, "%s",
			name[i - workers < BP_EVENTS_OTHERS ? i - workers : BP_EVENTS_OTHERS]);
}

static void open_ring(struct bp_event_source *s, const struct bp_event_ring *r, unsigned part,
	uint64_t backlog, uint64_t since_ns)
{
	memset(s, 0, sizeof(*s));
	s->part = part;
	s->settled = true;
	s->since_ns = since_ns;
	bp_event_cursor_open(&s->cursor, r->slot, sizeof(*r->slot), r->size, backlog);
	s->wrapped = since_ns != 0 && s->cursor.next != 0;
}

unsigned bp_event_sources_open(
	struct bp_event_source *s, const struct bp_shm *m, uint64_t backlog, uint64_t since_ns)
{
	const unsigned workers = m->workers < BP_MAX_WORKERS ? m->workers : BP_MAX_WORKERS;
	struct bp_event_ring ring;

	for (unsigned w = 0; w < workers; w++) {
		ring = bp_shm_events(m, w);
		open_ring(&s[w], &ring, BP_SEG_DATA, backlog, since_ns);
	}
	s += workers;
	for (unsigned i = 0; i < BP_EVENTS_OTHERS; i++, s++) {
		ring = bp_shm_events_of(m, i);
		open_ring(s, &ring, i == BP_EVENTS_DATAPLANE ? BP_SEG_DATA : BP_SEG_CONTROL,
			backlog, since_ns);
	}
	memset(s, 0, sizeof(*s));
	s->part = BP_SEG_CONTROL;
	s->alarms = s->settled = true;
	s->since_ns = since_ns;
	bp_event_cursor_open(
		&s->cursor, m->alarm_log, sizeof(*m->alarm_log), BP_ALARM_LOG_LEN, backlog);
	s->wrapped = since_ns != 0 && s->cursor.next != 0;
	return workers + BP_EVENT_SOURCES_OTHER;
}
