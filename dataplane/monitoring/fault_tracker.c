/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/monitoring/fault_tracker.h"

#include <stdio.h>
#include <string.h>

void bp_trouble_watched_init(struct bp_trouble_watched *t, const struct bp_trouble_desk *desk,
	enum bp_trouble_kind kind, const char *subject, uint64_t now_ns)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->is.subject, sizeof(t->is.subject), "%s", subject);
	t->is.kind = kind;
	/* the fewest buffers that were free */
	if (bp_trouble_info[kind].worst == BP_TROUBLE_BUFFERS)
		t->is.worst = UINT64_MAX;
	bp_pace_init(&t->pace, desk->settings.log_interval_ns, now_ns);
}

static void say(
	const struct bp_trouble_moment *l, struct bp_trouble_watched *t, struct bp_trouble_said *s)
{
	char line[BP_TROUBLE_LINE];
	enum bp_log_level level;

	s->kind = (enum bp_trouble_kind)t->is.kind;
	s->subject = t->is.subject;
	s->settings = &l->desk->settings;
	s->active = t->is.active;
	s->spells = t->untold_spells;
	s->events = t->untold;
	s->events_ns = t->untold_ns;
	s->all = t->of_spell;
	s->all_ns = t->of_spell_ns;
	s->lasts_ns = (t->is.active ? l->now_ns : t->ended_ns) - t->began_ns;
	s->line_ns = l->now_ns - t->pace.last_ns;
	s->worst = t->worst_of_spell;
	s->cpu = t->cpu;
	level = bp_trouble_words(s, line);
	l->desk->log(l->desk->arg, level, line);
	bp_pace_take(&t->pace, l->now_ns);
	/* after more of the same, events' end is still to be told */
	if (s->news != BP_TROUBLE_MORE || bp_trouble_info[t->is.kind].state)
		t->told = t->is.active;
	t->untold_spells = t->untold = t->untold_ns = 0;
}

/* Of what lasts: what became known since the last line. False: nothing. */
static bool state_news(const struct bp_trouble_watched *t, enum bp_trouble_news *news)
{
	const bool active = t->is.active;

	if (t->told == active && t->untold_spells == 0)
		return false;
	*news = active && !t->told && t->untold_spells == 1 ? BP_TROUBLE_BEGAN
		: t->told && t->untold_spells == 0          ? BP_TROUBLE_OVER
							    : BP_TROUBLE_MORE;
	return true;
}

/* Of events: each is told of once, and their end when all are. */
static bool events_news(const struct bp_trouble_watched *t, enum bp_trouble_news *news)
{
	const bool active = t->is.active;

	if (t->told == active && t->untold == 0)
		return false;
	*news = active && !t->told ? BP_TROUBLE_BEGAN
		: t->untold == 0   ? BP_TROUBLE_OVER
				   : BP_TROUBLE_MORE;
	return true;
}

void bp_trouble_tell(
	const struct bp_trouble_moment *l, struct bp_trouble_watched *t, struct bp_trouble_said *s)
{
	const bool state = bp_trouble_info[t->is.kind].state;

	if (!(state ? state_news(t, &s->news) : events_news(t, &s->news)))
		return;
	/* of events, more of the same is no reason to hurry */
	if (bp_pace_may(&t->pace, state || s->news != BP_TROUBLE_MORE, l->now_ns))
		say(l, t, s);
}

void bp_trouble_count(
	const struct bp_trouble_moment *l, const struct bp_trouble_watched *t, uint64_t n)
{
	uint64_t *c = &l->desk->counters->v[bp_trouble_info[t->is.kind].counter];

	__atomic_store_n(c, *c + n, __ATOMIC_RELAXED);
}

static void begin(const struct bp_trouble_moment *l, struct bp_trouble_watched *t, uint64_t ago_ns)
{
	t->is.active = 1;
	t->is.spells++;
	t->is.began_ns = l->unix_ns - ago_ns;
	t->is.ended_ns = 0;
	t->began_ns = l->now_ns - ago_ns;
	t->untold_spells++;
	t->of_spell = t->of_spell_ns = 0;
	t->worst_of_spell = UINT64_MAX;
}

static void end(const struct bp_trouble_moment *l, struct bp_trouble_watched *t, uint64_t ago_ns)
{
	t->is.active = 0;
	t->is.ended_ns = l->unix_ns - ago_ns;
	t->ended_ns = l->now_ns - ago_ns;
}

void bp_trouble_lasts(
	const struct bp_trouble_moment *l, struct bp_trouble_watched *t, bool bad, uint64_t ago_ns)
{
	const struct bp_trouble_info *info = &bp_trouble_info[t->is.kind];
	uint64_t lasted;

	if (bad && !t->is.active) {
		begin(l, t, ago_ns);
		bp_trouble_count(l, t, 1);
	}
	if (!t->is.active)
		return;
	lasted = l->now_ns - t->began_ns;
	t->is.total = t->done + lasted;
	if (info->worst == BP_TROUBLE_NS && lasted > t->is.worst)
		t->is.worst = lasted;
	if (bad)
		return;
	end(l, t, 0);
	t->done += lasted;
}

void bp_trouble_happens(
	const struct bp_trouble_moment *l, struct bp_trouble_watched *t, uint64_t n, uint64_t ns)
{
	if (n != 0) {
		if (!t->is.active)
			begin(l, t, l->now_ns - l->before_ns);
		t->is.total += n;
		t->ended_ns = l->now_ns;
		t->of_spell += n;
		t->of_spell_ns += ns;
		t->untold += n;
		t->untold_ns += ns;
	} else if (t->is.active && l->now_ns - t->ended_ns >= l->desk->settings.log_interval_ns) {
		end(l, t, l->now_ns - t->ended_ns);
	}
}
