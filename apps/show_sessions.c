/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <string.h>

#include "apps/show.h"
#include "apps/table.h"
#include "apps/text.h"
#include "proto/phd_names.h"
#include "shm/phd.h"

#define NS_PER_S 1000000000ull

static const char *state_text(enum bp_phd_state state)
{
	switch (state) {
	case BP_PHD_WAITING:
		return "configuring";
	case BP_PHD_OPERATING:
		return "operating";
	case BP_PHD_RELEASING:
		return "releasing";
	case BP_PHD_FREE:
	default:
		return "free";
	}
}

/* The device's address; IPv4 is kept as ::ffff:a.b.c.d. */
static void address_text(const struct bp_phd_session *p, char out[BP_TEXT_ADDRESS])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const bool ip6 = memcmp(p->address, mapped, sizeof(mapped)) != 0;

	bp_text_address(ip6 ? p->address : p->address + 12, ip6, p->port, out);
}

/* The specialisation's name, its number, or null while it is not known. */
static json_t *type(uint16_t spec)
{
	const char *name = bp_phd_type_name(spec);

	if (name)
		return json_string(name);
	return spec ? json_integer(spec) : json_null();
}

static json_t *session(const struct bp_show_source *s, const struct bp_phd_session *p)
{
	const uint64_t word = atomic_load_explicit(&p->word, memory_order_relaxed);
	const bool ready = bp_phd_word_flags(word) & BP_PHD_READY;
	char device[BP_TEXT_ADDRESS], id[17];

	address_text(p, device);
	for (unsigned i = 0; i < sizeof(p->system_id); i++)
		snprintf(id + 2 * i, 3, "%02x", p->system_id[i]);
	return json_pack("{ss ss ss ss so si sb sI sI sI sI}", "system_id", id, "device", device,
		"transport", p->transport == BP_PHD_TRANSPORT_TCP ? "tcp" : "udp", "state",
		state_text(bp_phd_word_state(word)), "type", type(p->spec), "config_id",
		(int)p->config_id, "containers", (int)ready, "reports",
		(json_int_t)atomic_load_explicit(&p->reports, memory_order_relaxed), "stored",
		(json_int_t)atomic_load_explicit(&p->stored, memory_order_relaxed), "errors",
		(json_int_t)atomic_load_explicit(&p->errors, memory_order_relaxed), "open_s",
		(json_int_t)(s->mono_ns > p->opened_ns ? (s->mono_ns - p->opened_ns) / NS_PER_S
						       : 0));
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	const struct bp_phd_tables *t = &s->shm->phd;
	json_t *list = json_array();
	uint64_t total = 0;
	bool complete = list != NULL;

	for (uint32_t slot = 0; complete && slot < t->n_slots; slot++) {
		struct bp_phd_session copy;

		if (!bp_phd_session_read(t, slot, &copy))
			continue;
		total++;
		if (!s->limit || total <= s->limit)
			complete = json_array_append_new(list, session(s, &copy)) == 0;
	}
	if (complete)
		return json_pack("{sI so}", "total", (json_int_t)total, "sessions", list);
	snprintf(err, err_size, "not enough memory; ask for fewer sessions with -n");
	json_decref(list);
	return NULL;
}

static void print(const json_t *view, bool all, FILE *out)
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
		{"open_s", "OPEN-S", 1},
		{NULL, NULL, 0},
	};
	const json_t *sessions = json_object_get(view, "sessions");
	const json_int_t shown = (json_int_t)json_array_size(sessions);
	const json_int_t total = bp_show_int(view, "total");

	(void)all;
	bp_table_print(out, columns, sessions, "no health device has a session");
	if (shown < total)
		fprintf(out,
			"\n%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
			" sessions; -n 0 shows all\n",
			shown, total);
}

const struct bp_show_view bp_show_sessions = {
	.name = "sessions",
	.summary = "the personal health devices that are associated",
	.default_limit = 100,
	.collect = collect,
	.print = print,
};
