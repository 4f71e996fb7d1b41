/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "shm/capture/capture.h"

#define TRIES 100

static json_t *ports_of(const struct bp_shm *m, uint32_t ports)
{
	json_t *list;

	if (ports == BP_CAPTURE_ALL_PORTS)
		return json_null();
	list = json_array();
	for (unsigned p = 0; p < bp_show_ports_in_use(m); p++)
		if (ports >> p & 1)
			json_array_append_new(
				list, bp_text_json(m->ports[p].name, sizeof(m->ports[p].name)));
	return list;
}

static json_t *points_of(const struct bp_capture_request *r)
{
	json_t *list = json_array();

	if (r->kind == BP_CAPTURE_TRACE)
		return list;
	if (r->rx)
		json_array_append_new(list, json_string("rx"));
	if (r->tx)
		json_array_append_new(list, json_string("tx"));
	if (r->drops)
		json_array_append_new(list, json_string("drops"));
	return list;
}

/* The engine is known once all workers have the request. */
static json_t *engine_of(const struct bp_shm *m, unsigned slot, const struct bp_capture_request *r)
{
	const struct bp_capture_status *s = &m->capture.status[slot];
	const uint32_t engine = atomic_load_explicit(&s->engine, memory_order_relaxed);

	if (atomic_load_explicit(&s->id, memory_order_relaxed) != r->id ||
		engine >= BP_CAPTURE_ENGINES)
		return json_null();
	return json_string(bp_capture_engine_names[engine]);
}

static json_int_t matched(const struct bp_shm *m, unsigned slot)
{
	uint64_t sum = 0;

	for (uint32_t w = 0; w < m->workers; w++)
		for (unsigned p = 0; p <= BP_MAX_PORTS; p++)
			sum += atomic_load_explicit(
				&m->capture.counts[w].matched[slot][p], memory_order_relaxed);
	return (json_int_t)(sum & INT64_MAX);
}

static json_t *row(
	const struct bp_show_source *s, unsigned slot, const struct bp_capture_request *r)
{
	const bool trace = r->kind == BP_CAPTURE_TRACE;
	char started[BP_TEXT_TIME];

	bp_text_time(r->started_ns, started);
	return json_pack("{sI ss sI sI ss sI so so so sI so so sI}", "slot", (json_int_t)slot,
		"kind", trace ? "trace" : "capture", "pid", (json_int_t)r->pid, "uid",
		(json_int_t)r->uid, "started", started, "age_s",
		(json_int_t)(s->unix_ns > r->started_ns ? (s->unix_ns - r->started_ns) / 1000000000u
							: 0),
		"ports", ports_of(s->shm, r->ports), "points", points_of(r), "filter",
		r->expression[0] != '\0' ? bp_text_json(r->expression, sizeof(r->expression))
					 : json_null(),
		"filter_instructions", (json_int_t)r->n_insns, "engine", engine_of(s->shm, slot, r),
		"frames_max", trace ? json_integer(r->frames) : json_null(), "matched",
		matched(s->shm, slot));
}

/* A slot that is being written is read again. */
static bool read_slot(const struct bp_shm *m, unsigned slot, struct bp_capture_request *r)
{
	uint64_t none = 0;

	for (unsigned i = 0; i < TRIES; i++, none = 0)
		if (bp_seqlock_read(&m->capture.slot[slot].lock, &none, r, sizeof(*r)))
			return r->id != 0 && r->kind != BP_CAPTURE_NONE &&
			       bp_capture_request_invalid(r) == NULL;
	return false;
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	struct bp_capture_request r;
	json_t *list = json_array();

	(void)err;
	(void)err_size;
	for (unsigned slot = 0; s->shm->capture.ring_capacity != 0 && slot < BP_CAPTURE_SLOTS;
		slot++)
		if (read_slot(s->shm, slot, &r))
			json_array_append_new(list, row(s, slot, &r));
	return json_pack("{sI sI so}", "buffer_bytes", (json_int_t)s->shm->capture.ring_capacity,
		"slots", (json_int_t)BP_CAPTURE_SLOTS, "captures", list);
}

/* "lan, wan"; no text for null. */
static void set_joined(json_t *row, const char *key, const char *to)
{
	char text[512] = "";
	size_t i, len = 0;
	json_t *v;

	json_array_foreach(json_object_get(row, key), i, v) if (len < sizeof(text)) len +=
		(size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? "," : "",
			json_string_value(v));
	if (text[0] != '\0')
		json_object_set_new(row, to, json_string(text));
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"slot", "SLOT", 1},
		{"kind", "KIND", 0},
		{"pid", "PID", 1},
		{"uid", "UID", 1},
		{"age", "AGE", 1},
		{"port_list", "PORTS", 0},
		{"point_list", "POINTS", 0},
		{"engine", "ENGINE", 0},
		{"matched", "MATCHED", 1},
		{"filter", "FILTER", 0},
		{NULL, NULL, 0},
	};
	json_t *rows = json_deep_copy(json_object_get(view, "captures")), *r;
	char text[BP_TEXT_DURATION];
	size_t i;

	(void)all;
	json_array_foreach(rows, i, r)
	{
		bp_text_duration((uint64_t)bp_show_int(r, "age_s"), text);
		json_object_set_new(r, "age", json_string(text));
		set_joined(r, "ports", "port_list");
		set_joined(r, "points", "point_list");
		if (json_is_null(json_object_get(r, "ports")))
			json_object_set_new(r, "port_list", json_string("all"));
	}
	bp_table_print(out, columns, rows,
		bp_show_int(view, "buffer_bytes") != 0
			? "no capture or trace is running"
			: "captures are off: monitoring.capture_buffer is off");
	json_decref(rows);
}

const struct bp_show_view bp_show_captures = {
	.name = "captures",
	.summary = "running captures and traces: who, ports, filter, matched frames",
	.collect = collect,
	.print = print,
};
