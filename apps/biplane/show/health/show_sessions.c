/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include "apps/biplane/print_json.h"
#include "apps/biplane/show/show_rows.h"
#include "apps/biplane/text.h"
#include "services/health/convert.h"
#include "proto/health/phd_names.h"
#include "shm/health/phd.h"

#define NS_PER_S 1000000000ull

/* The specialisation's name, its number, or null while it is not known. */
static json_t *type(uint16_t spec)
{
	const char *name = bp_phd_type_name(spec);

	if (name)
		return json_string(name);
	return spec ? json_integer(spec) : json_null();
}

/* Why nothing of a report could be stored; NULL where none was refused. */
static const char *refused_reason(uint8_t verdict)
{
	static const char *const name[] = {
		[BP_PHD_BAD_APDU] = "malformed_apdu",
		[BP_PHD_BAD_LENGTH] = "inconsistent_length",
		[BP_PHD_BAD_HANDLE] = "not_mds_event",
		[BP_PHD_NO_HANDLE] = "unknown_handle",
		[BP_PHD_BAD_MAP] = "value_map_mismatch",
	};

	return verdict < sizeof(name) / sizeof(name[0]) ? name[verdict] : NULL;
}

static json_t *session(const struct bp_show_source *s, const struct bp_phd_session *p)
{
	const uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);
	const bool ready = bp_phd_word_flags(word) & BP_PHD_READY;
	const struct bp_address a = bp_session_address(p);
	char device[BP_TEXT_ADDRESS], id[17];

	bp_text_address(a.bytes, a.family == 6, p->port, device);
	for (unsigned i = 0; i < sizeof(p->system_id); i++)
		snprintf(id + 2 * i, 3, "%02x", p->system_id[i]);
	return json_pack("{ss ss ss ss so si sb sI sI sI sI ss? sI}", "system_id", id, "device",
		device, "transport", p->transport == BP_PHD_TRANSPORT_TCP ? "tcp" : "udp", "state",
		bp_session_state_text(bp_phd_word_state(word)), "type", type(p->spec), "config_id",
		(int)p->config_id, "containers", (int)ready, "reports",
		(json_int_t)atomic_load_explicit(&p->reports, memory_order_relaxed), "stored",
		(json_int_t)atomic_load_explicit(&p->stored, memory_order_relaxed), "errors",
		(json_int_t)atomic_load_explicit(&p->errors, memory_order_relaxed), "refused",
		(json_int_t)atomic_load_explicit(&p->refused, memory_order_relaxed),
		"refused_reason",
		refused_reason(atomic_load_explicit(&p->refused_why, memory_order_relaxed)),
		"age_s",
		(json_int_t)(s->mono_ns > p->opened_ns ? (s->mono_ns - p->opened_ns) / NS_PER_S
						       : 0));
}

/* Those that are asked for, in the table's order. */
static bool write_all(struct bp_show_rows *w, const struct bp_show_source *s)
{
	const struct bp_phd_tables *t = &s->shm->phd;

	for (uint32_t slot = 0; slot < t->n_slots && !ferror(w->out); slot++) {
		struct bp_phd_session copy;

		if (!bp_phd_session_read(t, slot, &copy) ||
			!bp_session_filter_takes(&s->sessions, &copy) || !bp_show_rows_next(w, s))
			continue;
		if (!bp_show_rows_add(w, session(s, &copy)))
			return false;
	}
	return true;
}

static bool write_json(struct bp_show_rows *w, const struct bp_show_source *s)
{
	bp_print_json_begin(w->compact, w->out);
	return bp_show_rows_json(w, s);
}

static bool write_text(struct bp_show_rows *w, const struct bp_show_source *s)
{
	static const struct bp_column columns[] = {
		{"system_id", "SYSTEM-ID", 0},
		{"device", "DEVICE", 0},
		{"transport", "TRANSPORT", 0},
		{"state", "STATE", 0},
		{"type", "TYPE", 0},
		{"config_id", "CONFIG", 1},
		{"containers", "CONTAINERS", 0},
		{"reports", "REPORTS", 1},
		{"stored", "STORED", 1},
		{"errors", "ERRORS", 1},
		{"refused", "REFUSED", 1},
		{"refused_reason", "REASON", 0},
		{"age_s", "AGE-S", 1},
		{NULL, NULL, 0},
	};

	return bp_show_rows_text(w, s, columns,
		bp_session_filter_any(&s->sessions) ? "no session matches the filter"
						    : "no sessions");
}

static int write_sessions(const struct bp_show_source *s, bool json, bool compact, FILE *out,
	char *err, size_t err_size)
{
	struct bp_show_rows w = {
		.name = "sessions", .all = write_all, .out = out, .compact = compact};

	if (json ? write_json(&w, s) : write_text(&w, s))
		return 0;
	snprintf(err, err_size, "not enough memory");
	return -1;
}

const struct bp_show_view bp_show_sessions = {
	.name = "sessions",
	.summary = "associated personal health devices; with a system-id, only this device",
	.default_limit = 100,
	.write = write_sessions,
	.takes_sessions = true,
};
