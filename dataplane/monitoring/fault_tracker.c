/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/monitoring/fault_tracker.h"

#include <stdio.h>
#include <string.h>

void bp_fault_tracker_init(struct bp_fault_tracker *t, const struct bp_fault_sink *sink,
	enum bp_fault_kind kind, const char *subject, uint64_t now_ns)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->is.subject, sizeof(t->is.subject), "%s", subject);
	t->is.kind = kind;
	/* the minimum number of free mbufs */
	if (bp_fault_info[kind].worst == BP_FAULT_BUFFERS)
		t->is.worst = UINT64_MAX;
	bp_pace_init(&t->pace, sink->settings.log_interval_ns, now_ns);
}

static void say(
	const struct bp_fault_check *l, struct bp_fault_tracker *t, struct bp_fault_message *s)
{
	struct bp_fault_event event;

	s->kind = (enum bp_fault_kind)t->is.kind;
	s->subject = t->is.subject;
	s->settings = &l->sink->settings;
	s->active = t->is.active;
	s->spells = t->unlogged_spells;
	s->events = t->unlogged;
	s->events_ns = t->unlogged_ns;
	s->all = t->of_spell;
	s->all_ns = t->of_spell_ns;
	s->lasts_ns = (t->is.active ? l->now_ns : t->ended_ns) - t->began_ns;
	s->line_ns = l->now_ns - t->pace.last_ns;
	s->worst = t->worst_of_spell;
	s->cpu = t->cpu;
	bp_fault_message_format(s, &event);
	l->sink->log(l->sink->arg, &event);
	bp_pace_take(&t->pace, l->now_ns);
	/* after a line about ongoing events, the line about their end is still to be logged */
	if (s->news != BP_FAULT_ONGOING || bp_fault_info[t->is.kind].state)
		t->logged = t->is.active;
	t->unlogged_spells = t->unlogged = t->unlogged_ns = 0;
}

/* For states: the changes since the last line. False: none. */
static bool state_change(const struct bp_fault_tracker *t, enum bp_fault_change *news)
{
	const bool active = t->is.active;

	if (t->logged == active && t->unlogged_spells == 0)
		return false;
	*news = active && !t->logged && t->unlogged_spells == 1 ? BP_FAULT_RAISED
		: t->logged && t->unlogged_spells == 0          ? BP_FAULT_CLEARED
								: BP_FAULT_ONGOING;
	return true;
}

/* For events: each series is logged once, and its end when all are logged. */
static bool events_change(const struct bp_fault_tracker *t, enum bp_fault_change *news)
{
	const bool active = t->is.active;

	if (t->logged == active && t->unlogged == 0)
		return false;
	*news = active && !t->logged ? BP_FAULT_RAISED
		: t->unlogged == 0   ? BP_FAULT_CLEARED
				     : BP_FAULT_ONGOING;
	return true;
}

void bp_fault_tracker_log(
	const struct bp_fault_check *l, struct bp_fault_tracker *t, struct bp_fault_message *s)
{
	const bool state = bp_fault_info[t->is.kind].state;

	if (!(state ? state_change(t, &s->news) : events_change(t, &s->news)))
		return;
	/* more events of the same series are not urgent */
	if (bp_pace_may(&t->pace, state || s->news != BP_FAULT_ONGOING, l->now_ns))
		say(l, t, s);
}

void bp_fault_tracker_count(
	const struct bp_fault_check *l, const struct bp_fault_tracker *t, uint64_t n)
{
	uint64_t *c = &l->sink->counters->v[bp_fault_info[t->is.kind].counter];

	__atomic_store_n(c, *c + n, __ATOMIC_RELAXED);
}

static void begin(const struct bp_fault_check *l, struct bp_fault_tracker *t, uint64_t ago_ns)
{
	t->is.active = 1;
	t->is.spells++;
	t->is.began_ns = l->unix_ns - ago_ns;
	t->is.ended_ns = 0;
	t->began_ns = l->now_ns - ago_ns;
	t->unlogged_spells++;
	t->of_spell = t->of_spell_ns = 0;
	t->worst_of_spell = UINT64_MAX;
	bp_fault_event(l->sink->events, &t->is, l->unix_ns);
}

static void end(const struct bp_fault_check *l, struct bp_fault_tracker *t, uint64_t ago_ns)
{
	t->is.active = 0;
	t->is.ended_ns = l->unix_ns - ago_ns;
	t->ended_ns = l->now_ns - ago_ns;
	bp_fault_event(l->sink->events, &t->is, l->unix_ns);
}

void bp_fault_tracker_state(
	const struct bp_fault_check *l, struct bp_fault_tracker *t, bool bad, uint64_t ago_ns)
{
	const struct bp_fault_info *info = &bp_fault_info[t->is.kind];
	uint64_t lasted;

	if (bad && !t->is.active) {
		begin(l, t, ago_ns);
		bp_fault_tracker_count(l, t, 1);
	}
	if (!t->is.active)
		return;
	lasted = l->now_ns - t->began_ns;
	t->is.total = t->done + lasted;
	if (info->worst == BP_FAULT_NS && lasted > t->is.worst)
		t->is.worst = lasted;
	if (bad)
		return;
	end(l, t, 0);
	t->done += lasted;
}

void bp_fault_tracker_event(
	const struct bp_fault_check *l, struct bp_fault_tracker *t, uint64_t n, uint64_t ns)
{
	if (n != 0) {
		if (!t->is.active)
			begin(l, t, l->now_ns - l->before_ns);
		t->is.total += n;
		t->ended_ns = l->now_ns;
		t->of_spell += n;
		t->of_spell_ns += ns;
		t->unlogged += n;
		t->unlogged_ns += ns;
	} else if (t->is.active && l->now_ns - t->ended_ns >= l->sink->settings.log_interval_ns) {
		end(l, t, l->now_ns - t->ended_ns);
	}
}
