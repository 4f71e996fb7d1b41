/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/alarms/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/log.h"

/* A fault that lasts is logged again after one, two and four minutes and so on, and then every
 * hour. */
#define REMIND_MIN_NS 60000000000ull
#define REMIND_MAX_NS 3600000000000ull

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
}

static void end(struct bp_faults *f, struct bp_fault *t)
{
	t->is.active = 0;
	t->is.ended_ns = f->unix_ns;
	t->done_ns += f->now_ns - t->began_ns;
}

static void log_lasting(struct bp_faults *f, struct bp_fault *t, const char *what)
{
	const struct bp_fault_info *info = &bp_fault_info[t->is.kind];
	char span[BP_FAULT_DURATION_LEN];

	bp_fault_duration(f->now_ns - t->began_ns, span);
	if (!t->is.active)
		bp_log(BP_LOG_INFO, "%s is over after %s (%s)", info->name, span, what);
	else if (!t->raise_logged)
		bp_log(BP_LOG_ERROR, "%s: %s", info->name, what);
	else
		bp_log(BP_LOG_ERROR, "%s for %s: %s", info->name, span, what);
	t->raise_logged = t->is.active;
}

void bp_fault_lasts(struct bp_faults *f, enum bp_fault_kind kind, bool bad, uint64_t ago_ns,
	uint64_t number, const char *what)
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
	log_lasting(f, t, what);
}

static void log_events(struct bp_faults *f, struct bp_fault *t, const char *what)
{
	const struct bp_fault_info *info = &bp_fault_info[t->is.kind];
	char span[BP_FAULT_DURATION_LEN];

	if (t->is.active)
		bp_log(BP_LOG_ERROR, "%s: %" PRIu64 "%s, %" PRIu64 " since it began: %s",
			info->name, t->untold, t->raise_logged ? " more" : "", t->of_spell, what);
	else
		bp_log(BP_LOG_INFO, "%s is over: none in the last %s, %" PRIu64 " before",
			info->name, bp_fault_duration(f->log_interval_ns, span), t->of_spell);
	t->untold = 0;
	t->raise_logged = t->is.active;
}

void bp_fault_happens(struct bp_faults *f, enum bp_fault_kind kind, uint64_t n, const char *what)
{
	struct bp_fault *t = of_kind(f, kind);

	if (n != 0) {
		if (!t->is.active)
			begin(f, t, 0);
		t->last_ns = f->now_ns;
		t->is.total += n;
		t->of_spell += n;
		t->untold += n;
	} else if (t->is.active && f->now_ns - t->last_ns >= f->log_interval_ns) {
		end(f, t);
	} else if (!t->raise_logged && t->untold == 0) {
		return;
	}
	publish(f, t);
	/* logs begin and end immediately, and repetitions once per log_interval */
	if (t->raise_logged == t->is.active && (!t->raise_logged || t->untold == 0))
		return;
	if (t->raise_logged && t->is.active && !bp_pace_may(&t->pace, false, f->now_ns))
		return;
	if (may_log(f, t))
		log_events(f, t, what);
}
