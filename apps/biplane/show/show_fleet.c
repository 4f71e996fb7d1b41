/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/show/show_fleet.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "biplane/counters/mqtt.h"
#include "config/config.h"

static uint64_t load(const void *word)
{
	return __atomic_load_n((const uint64_t *)word, __ATOMIC_RELAXED);
}

static json_t *number(uint64_t n)
{
	return json_integer(n < INT64_MAX ? (json_int_t)n : INT64_MAX);
}

static json_t *seconds(uint64_t ns)
{
	const uint64_t ms = ns / 1000000u;

	return json_real((double)ms / 1e3);
}

struct named {
	const char *name;
	size_t at;
};

/* An object of counters at `base`. */
static json_t *counters(const void *base, const struct named *list, size_t n)
{
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, list[i].name, number(load((const char *)base + list[i].at)));
	return o;
}

#define N(list_) (sizeof(list_) / sizeof((list_)[0]))
#define AT(member_) offsetof(struct bp_fleet_counters, member_)

static json_t *writes(const struct bp_fleet_counters *c)
{
	static const struct named list[] = {{"stored", AT(stored)},
		{"refused_stale", AT(superseded)}, {"collapsed", AT(collapsed)},
		{"lost_full", AT(lost_full)}, {"lost_expired", AT(lost_expired)},
		{"lost_refused", AT(lost_refused)}};

	return counters(c, list, N(list));
}

static json_t *reads(const struct bp_fleet_counters *c)
{
	static const struct named list[] = {
		{"requested", AT(reads)}, {"found", AT(found)}, {"failed", AT(reads_failed)}};

	return counters(c, list, N(list));
}

static json_t *errors(const struct bp_fleet_counters *c)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < BP_FLEET_ERRORS; i++)
		json_object_set_new(o, bp_fleet_error_name[i], number(load(&c->error[i])));
	return o;
}

#undef AT
#define AT(member_) offsetof(struct bp_fleet_connection_counters, member_)

static json_t *records(const struct bp_fleet_connection_counters *c)
{
	static const struct named list[] = {{"stored", AT(stored)}, {"ended", AT(ended)},
		{"not_queued", AT(not_queued)}, {"requested", AT(requests)}, {"found", AT(found)},
		{"not_answered", AT(not_answered)}, {"answers_deferred", AT(answers_deferred)}};

	return counters(c, list, N(list));
}

#undef AT
#define AT(member_) offsetof(struct bp_fleet_alarm_counters, member_)

/* Alarms that no destination has acknowledged. */
static json_t *alarms(const struct bp_shm_fleet *f)
{
	static const struct named copies[] = {{"stored", AT(stored)}, {"removed", AT(removed)}};
	static const struct named claims[] = {
		{"claimed", AT(claimed)}, {"adopted", AT(adopted)}, {"taken", AT(taken)}};
	static const struct named not_stored[] = {{"full", AT(full)}, {"too_large", AT(too_large)},
		{"unreadable", AT(unreadable)}, {"refused", AT(refused)}, {"fenced", AT(fenced)}};
	static const struct named not_adopted[] = {{"invalid", AT(invalid)},
		{"no_destination", AT(no_destination)}, {"disk_failed", AT(disk_failed)}};

	return json_pack("{sb so so so so so}", "leased", load(&f->leased) != 0, "unacknowledged",
		number(load(&f->unacknowledged)), "copies", counters(&f->alarms, copies, N(copies)),
		"claims", counters(&f->alarms, claims, N(claims)), "not_stored",
		counters(&f->alarms, not_stored, N(not_stored)), "not_adopted",
		counters(&f->alarms, not_adopted, N(not_adopted)));
}

#undef AT
#define AT(member_) offsetof(struct bp_fleet_rule_counters, member_)

static json_t *alarm_states(const struct bp_shm_fleet *f)
{
	static const struct named changes[] = {{"raised", AT(raised)}, {"cleared", AT(cleared)},
		{"adopted", AT(adopted)}, {"conflict", AT(conflicts)}, {"hold", AT(holds)},
		{"hold_adopted", AT(holds_adopted)}};
	static const struct named not_shared[] = {{"full", AT(full)}, {"too_large", AT(too_large)},
		{"invalid", AT(invalid)}, {"client_full", AT(client_full)},
		{"unstored", AT(unstored)}};

	return json_pack("{so so so}", "pairs", number(load(&f->pairs)), "changes",
		counters(&f->rules, changes, N(changes)), "not_shared",
		counters(&f->rules, not_shared, N(not_shared)));
}

#undef AT
#define AT(member_) offsetof(struct bp_fleet_association_counters, member_)

/* Of health devices. */
static json_t *associations(const struct bp_fleet_association_counters *c)
{
	static const struct named records_[] = {{"stored", AT(stored)}, {"ended", AT(ended)},
		{"not_queued", AT(not_queued)}, {"too_large", AT(too_large)}};
	static const struct named not_adopted_[] = {{"not_found", AT(not_found)},
		{"limited", AT(limited)}, {"invalid", AT(invalid)}, {"refused", AT(refused)}};

	return json_pack("{so so so so so}", "records", counters(c, records_, N(records_)),
		"requested", number(load(&c->requests)), "adopted", number(load(&c->adopted)),
		"not_adopted", counters(c, not_adopted_, N(not_adopted_)), "taken",
		number(load(&c->taken)));
}

struct outcome {
	const char *name;
	bp_counter_t counter;
};

static const struct outcome adopted[] = {{"at_position", BP_C_FLEET_ADOPTED}};
static const struct outcome not_adopted[] = {{"requests_full", BP_C_FLEET_ASK_FULL},
	{"requests_client", BP_C_FLEET_ASK_CLIENT}, {"not_found", BP_C_FLEET_NOT_FOUND},
	{"timeout", BP_C_FLEET_TIMEOUT}, {"stale", BP_C_FLEET_STALE},
	{"conflict", BP_C_FLEET_CONFLICT}, {"invalid", BP_C_FLEET_INVALID},
	{"late", BP_C_FLEET_LATE}};

static json_t *outcomes(const struct bp_shm *m, const struct outcome *list, size_t n)
{
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(o, list[i].name, number(bp_shm_counter(m, list[i].counter)));
	return o;
}

static uint64_t sum(const struct bp_shm *m, const struct outcome *list, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += bp_shm_counter(m, list[i].counter);
	return all;
}

static bool shares(const struct bp_shm *m)
{
	return load(&m->control->fleet.max_queued) != 0;
}

json_t *bp_show_fleet_status(const struct bp_shm *m)
{
	const struct bp_shm_fleet *f = &m->control->fleet;

	if (!shares(m))
		return json_null();
	return json_pack("{sb so so so so so so so}", "connected", load(&f->connected) != 0,
		"lag_ms", number(load(&f->lag_ns) / 1000000u), "queued", number(load(&f->queued)),
		"max_queued", number(load(&f->max_queued)), "stored",
		number(load(&f->counters.stored)), "lost",
		number(load(&f->counters.lost_full) + load(&f->counters.lost_expired) +
			load(&f->counters.lost_refused)),
		"adopted", number(sum(m, adopted, N(adopted))), "not_adopted",
		number(sum(m, not_adopted, N(not_adopted))));
}

static json_t *state(const struct bp_shm_fleet *f)
{
	return json_pack("{so sb so so so s{so so so so} so so so so}", "server",
		bp_text_json(f->server, sizeof(f->server)), "connected", load(&f->connected) != 0,
		"last_error",
		f->last_error[0] != '\0' ? bp_text_json(f->last_error, sizeof(f->last_error))
					 : json_null(),
		"epoch", load(&f->epoch) != 0 ? number(load(&f->epoch)) : json_null(),
		"lag_seconds", seconds(load(&f->lag_ns)), "queue", "changes",
		number(load(&f->queued)), "max_changes", number(load(&f->max_queued)), "bytes",
		number(load(&f->queued_bytes)), "max_bytes", number(load(&f->max_queued_bytes)),
		"connects", number(load(&f->counters.connects)), "writes", writes(&f->counters),
		"reads", reads(&f->counters), "errors", errors(&f->counters));
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	const struct bp_shm *m = s->shm;
	const struct bp_shm_fleet *f = &m->control->fleet;
	json_t *view;

	if (shares(m))
		view = json_pack("{so so so s{so so so so} so so so}", "gateway",
			s->instance != NULL ? json_string(s->instance->name) : json_null(), "fleet",
			bp_text_json(f->fleet, sizeof(f->fleet)), "state", state(f), "connections",
			"records", records(&f->connections), "requested",
			number(bp_shm_counter(m, BP_C_FLEET_ASKED)), "adopted",
			outcomes(m, adopted, N(adopted)), "not_adopted",
			outcomes(m, not_adopted, N(not_adopted)), "alarms", alarms(f),
			"alarm_states", alarm_states(f), "associations",
			associations(&f->associations));
	else
		view = json_pack("{so so so so so so so}", "gateway",
			s->instance != NULL ? json_string(s->instance->name) : json_null(), "fleet",
			json_null(), "state", json_null(), "connections", json_null(), "alarms",
			json_null(), "alarm_states", json_null(), "associations", json_null());
	if (view == NULL)
		snprintf(err, err_size, "not enough memory");
	return view;
}

/* ---- text ---- */

static const char *text_of(const json_t *o, const char *key, const char *none)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text != NULL ? text : none;
}

/* "NAME N, NAME N, ..." of an object of integers. */
static void print_counts(FILE *out, const char *label, const json_t *object)
{
	const char *key, *separator = "";
	json_t *v;

	fprintf(out, "%-14s", label);
	json_object_foreach((json_t *)object, key, v)
	{
		fprintf(out, "%s%s %" JSON_INTEGER_FORMAT, separator, key, json_integer_value(v));
		separator = ", ";
	}
	fputc('\n', out);
}

/* Those that are not 0, or "none". */
static void print_errors(FILE *out, const json_t *errors_)
{
	const char *key, *separator = "";
	json_t *v;

	fprintf(out, "%-14s", "errors");
	json_object_foreach((json_t *)errors_, key, v)
	{
		if (json_integer_value(v) == 0)
			continue;
		fprintf(out, "%s%s %" JSON_INTEGER_FORMAT, separator, key, json_integer_value(v));
		separator = ", ";
	}
	fprintf(out, "%s\n", separator[0] == '\0' ? "none" : "");
}

/* Without the end of the line. The text may be one of Redis: it must not control the terminal. */
static void print_text(FILE *out, const char *label, const char *text)
{
	fprintf(out, "%-14s", label);
	bp_text_print_safe(text, out);
}

static void print_number(FILE *out, const char *label, const json_t *object, const char *key)
{
	fprintf(out, "%-14s%" JSON_INTEGER_FORMAT "\n", label, bp_show_int(object, key));
}

static void print_state(const json_t *s, FILE *out)
{
	const json_t *queue = json_object_get(s, "queue");

	print_text(out, "Redis", text_of(s, "server", "no server yet"));
	fprintf(out, ", %s\n",
		json_is_true(json_object_get(s, "connected")) ? "connected" : "not connected");
	if (json_is_string(json_object_get(s, "last_error"))) {
		print_text(out, "last error", text_of(s, "last_error", ""));
		fputc('\n', out);
	}
	if (json_is_integer(json_object_get(s, "epoch")))
		print_number(out, "epoch", s, "epoch");
	fprintf(out, "%-14s%.3f s\n", "lag", json_real_value(json_object_get(s, "lag_seconds")));
	fprintf(out,
		"%-14s%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		" changes, %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " bytes\n",
		"queue", bp_show_int(queue, "changes"), bp_show_int(queue, "max_changes"),
		bp_show_int(queue, "bytes"), bp_show_int(queue, "max_bytes"));
	print_counts(out, "writes", json_object_get(s, "writes"));
	print_counts(out, "reads", json_object_get(s, "reads"));
	print_errors(out, json_object_get(s, "errors"));
}

static void print_alarms(const json_t *a, const json_t *states, FILE *out)
{
	fprintf(out, "\nUnacknowledged alarms\n");
	fprintf(out, "%-14s%s\n", "lease",
		json_is_true(json_object_get(a, "leased")) ? "held" : "not held");
	print_number(out, "alarms", a, "unacknowledged");
	print_counts(out, "copies", json_object_get(a, "copies"));
	print_counts(out, "claims", json_object_get(a, "claims"));
	print_counts(out, "not stored", json_object_get(a, "not_stored"));
	print_counts(out, "not adopted", json_object_get(a, "not_adopted"));
	fprintf(out, "\nAlarm states\n");
	print_number(out, "pairs", states, "pairs");
	print_counts(out, "changes", json_object_get(states, "changes"));
	print_counts(out, "not shared", json_object_get(states, "not_shared"));
}

static void print_associations(const json_t *a, FILE *out)
{
	fprintf(out, "\nAssociations of health devices\n");
	print_counts(out, "records", json_object_get(a, "records"));
	print_number(out, "requested", a, "requested");
	print_number(out, "adopted", a, "adopted");
	print_counts(out, "not adopted", json_object_get(a, "not_adopted"));
	print_number(out, "taken", a, "taken");
}

static void print(const json_t *view, bool all, FILE *out)
{
	const json_t *connections = json_object_get(view, "connections");

	(void)all;
	if (!json_is_object(json_object_get(view, "state"))) {
		fprintf(out, "this gateway shares no state: fleet.state is not configured\n");
		return;
	}
	fprintf(out, "%-14s%s\n", "gateway", text_of(view, "gateway", "-"));
	print_text(out, "fleet", text_of(view, "fleet", "-"));
	fputc('\n', out);
	print_state(json_object_get(view, "state"), out);
	fprintf(out, "\nMQTT connections\n");
	print_counts(out, "records", json_object_get(connections, "records"));
	print_number(out, "requested", connections, "requested");
	print_counts(out, "adopted", json_object_get(connections, "adopted"));
	print_counts(out, "not adopted", json_object_get(connections, "not_adopted"));
	print_alarms(json_object_get(view, "alarms"), json_object_get(view, "alarm_states"), out);
	print_associations(json_object_get(view, "associations"), out);
}

const struct bp_show_view bp_show_fleet = {
	.name = "fleet",
	.summary = "state shared with the fleet: connection to Redis, lag, queue, writes, "
		   "adopted connections, and alarms",
	.collect = collect,
	.print = print,
};
