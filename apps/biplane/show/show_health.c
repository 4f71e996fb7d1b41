/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "shm/fault.h"

static const char *const unit_name[] = {
	[BP_FAULT_NOTHING] = NULL,
	[BP_FAULT_TIMES] = "events",
	[BP_FAULT_NS] = "ns",
	[BP_FAULT_FRAMES] = "frames",
	[BP_FAULT_BUFFERS] = "free mbufs",
	[BP_FAULT_CONNECTIONS] = "connections",
	[BP_FAULT_ALARMS] = "alarms",
	[BP_FAULT_PUBLICATIONS] = "publications",
};

/* A figure and what it counts; null where the kind has none, or none yet. */
static json_t *figure(uint64_t n, enum bp_fault_unit unit)
{
	if (unit == BP_FAULT_NOTHING || n == UINT64_MAX)
		return json_null();
	return json_pack("{sI ss}", "count", (json_int_t)n, "unit", unit_name[unit]);
}

static json_t *moment(uint64_t unix_ns)
{
	char text[BP_TEXT_TIME];

	if (unix_ns == 0)
		return json_null();
	bp_text_time(unix_ns, text);
	return json_string(text);
}

/* Duration of the active fault, or of the last one. */
static json_t *lasted(const struct bp_fault_record *t, uint64_t now_ns)
{
	const uint64_t end = t->active ? now_ns : t->ended_ns;

	if (t->began_ns == 0)
		return json_null();
	/* a clock that was set back */
	return json_integer((json_int_t)(end > t->began_ns ? end - t->began_ns : 0));
}

static json_t *row(const struct bp_fault_record *t, uint64_t now_ns)
{
	const struct bp_fault_info *i = &bp_fault_info[t->kind];

	return json_pack("{ss so sb so so so sI so so ss}", "fault", i->name, "object",
		bp_text_json(t->subject, sizeof(t->subject)), "active", (int)(t->active != 0),
		"since", moment(t->began_ns), "until", moment(t->ended_ns), "duration_ns",
		lasted(t, now_ns), "occurrences", (json_int_t)t->spells, "total",
		figure(t->total, i->total), "max", figure(t->worst, i->worst), "description",
		i->help);
}

/* All rows, first the data plane's. */
static unsigned rows(const struct bp_shm *m)
{
	return m->fault_rows + BP_FAULT_OF_CONTROLPLANE;
}

static bool read_row(const struct bp_shm *m, unsigned i, struct bp_fault_record *t)
{
	return bp_fault_read(
		i < m->fault_rows ? &m->faults[i] : &m->cp_faults[i - m->fault_rows], t);
}

json_t *bp_show_open_faults(const struct bp_shm *m, uint64_t unix_ns)
{
	json_t *list = json_array();
	struct bp_fault_record t;

	for (unsigned i = 0; i < rows(m); i++)
		if (read_row(m, i, &t) && t.active)
			json_array_append_new(list, row(&t, unix_ns));
	return list;
}

/* Active faults first, then those that ended, then those that never occurred; each in the order of
 * the rows in the segment. */
static unsigned rank(const struct bp_fault_record *t)
{
	return t->active ? 0 : t->spells ? 1 : 2;
}
#define RANKS 3

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	json_t *list = json_array(), *view;
	json_int_t active = 0;

	for (unsigned r = 0; r < RANKS; r++) {
		for (unsigned i = 0; i < rows(s->shm); i++) {
			struct bp_fault_record t;

			/* a row may come and go between two rounds: not twice in one */
			if (!read_row(s->shm, i, &t) || rank(&t) != r)
				continue;
			active += r == 0;
			json_array_append_new(list, row(&t, s->unix_ns));
		}
	}
	view = json_pack("{sI so}", "active", active, "faults", list);
	if (!view)
		snprintf(err, err_size, "not enough memory");
	return view;
}

/* "153 ms" for nanoseconds, else the number and what it counts; null for no time. */
static json_t *figure_text(const json_t *f)
{
	const char *unit = json_string_value(json_object_get(f, "unit"));
	char span[BP_FAULT_DURATION_LEN];
	const uint64_t n = (uint64_t)bp_show_int(f, "count");
	char text[64];

	if (!unit)
		return json_null();
	if (strcmp(unit, unit_name[BP_FAULT_NS]) == 0)
		return n == 0 ? json_null() : json_string(bp_fault_duration(n, span));
	/* without the s that makes it many */
	snprintf(text, sizeof(text), "%" PRIu64 " %.*s", n, (int)strlen(unit) - (n == 1), unit);
	return json_string(text);
}

static json_t *for_people(const json_t *r)
{
	json_t *out = json_deep_copy(r), *ns = json_object_get(r, "duration_ns");
	char text[BP_FAULT_DURATION_LEN];

	json_object_set_new(out, "total", figure_text(json_object_get(r, "total")));
	json_object_set_new(out, "max", figure_text(json_object_get(r, "max")));
	json_object_set_new(out, "active",
		json_string(json_is_true(json_object_get(r, "active")) ? "yes" : "no"));
	if (json_is_integer(ns)) {
		bp_fault_duration((uint64_t)json_integer_value(ns), text);
		json_object_set_new(out, "duration", json_string(text));
	}
	return out;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"fault", "FAULT", 0},
		{"object", "OBJECT", 0},
		{"active", "ACTIVE", 0},
		{"since", "SINCE", 0},
		{"duration", "DURATION", 1},
		{"occurrences", "OCCURRENCES", 1},
		{"total", "TOTAL", 1},
		{"max", "MAX", 1},
		{"description", "DESCRIPTION", 0},
		{NULL, NULL, 0},
	};
	const json_t *list = json_object_get(view, "faults");
	json_t *shown = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *r = json_array_get(list, i);

		if (all || bp_show_int(r, "occurrences"))
			json_array_append_new(shown, for_people(r));
	}
	bp_table_print(out, columns, shown, "no faults since the planes started");
	if (json_array_size(shown))
		fprintf(out, "\n%" JSON_INTEGER_FORMAT " active\n", bp_show_int(view, "active"));
	json_decref(shown);
}

const struct bp_show_view bp_show_health = {
	.name = "health",
	.summary = "faults of links, NICs, mbuf pools, workers, publisher and spool, with start, "
		   "duration and count",
	.collect = collect,
	.print = print,
};
