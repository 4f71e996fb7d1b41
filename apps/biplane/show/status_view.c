/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/show.h"
#include "apps/biplane/show/health/show_phd.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "controlplane/process/peer.h"
#include "controlplane/sync/sync.h"

#define LOAD_OF(of, field) ((json_int_t)atomic_load_explicit(&(of)->field, memory_order_relaxed))
#define LOAD(field) LOAD_OF(g, field)

/* A beat that is in the future (the clock was set) is one of now. */
static json_t *seconds_since(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == 0)
		return json_null();
	return json_integer((json_int_t)(now_ns > then_ns ? (now_ns - then_ns) / 1000000000u : 0));
}

static json_t *plane(const char *name, json_int_t pid, bool alive, uint64_t started_ns,
	uint64_t heartbeat_ns, json_t *restarts, json_t *hung, uint64_t now_ns)
{
	char started[BP_TEXT_TIME];

	bp_text_time(started_ns, started);
	return json_pack("{ss so sb so so so so so}", "plane", name, "pid",
		pid ? json_integer(pid) : json_null(), "alive", alive, "started",
		started_ns ? json_string(started) : json_null(), "uptime_s",
		alive ? seconds_since(started_ns, now_ns) : json_null(), "heartbeat_age_s",
		seconds_since(heartbeat_ns, now_ns), "restarts", restarts, "restarts_hung", hung);
}

static json_t *alarms(const struct bp_shm_control *g)
{
	return json_pack("{sI sI sI sI sI sI sI sI sI}", "read", LOAD(cp_alarms_read),
		"acknowledged", LOAD(cp_alarms_acked), "in_flight", LOAD(cp_inflight), "spooled",
		LOAD(cp_alarms_spooled), "unspooled", LOAD(cp_alarms_unspooled), "dropped_size",
		LOAD(cp_alarms_dropped_size), "dropped_age", LOAD(cp_alarms_dropped_age),
		"unordered", LOAD(cp_alarms_unordered), "invalid", LOAD(cp_alarms_invalid));
}

/* The mirror of the kernel; null where nothing routes. */
static json_t *sync_manager(const struct bp_shm *m)
{
	static const char *const state[] = {
		[BP_SYNC_OFF] = "off",
		[BP_SYNC_LOADING] = "loading",
		[BP_SYNC_SYNCED] = "synced",
		[BP_SYNC_HELD] = "held: the kernel interfaces went with the data plane",
	};
	const struct bp_shm_control *g = m->control;
	json_int_t now = LOAD(cp_sync_state);

	if (m->fib.max_routes == 0)
		return json_null();
	return json_pack("{ss sI sI sI sI sI sI sI}", "state",
		now >= 0 && now <= BP_SYNC_HELD ? state[now] : "unknown", "events",
		LOAD(cp_sync_events), "resyncs", LOAD(cp_sync_resyncs), "overruns",
		LOAD(cp_sync_overruns), "load_us", LOAD(cp_sync_loaded_ns) / 1000, "unmirrored",
		LOAD(cp_sync_unmirrored), "probes", LOAD(cp_sync_probes), "refused",
		(json_int_t)atomic_load_explicit(
			&m->fib.control->rejected_total, memory_order_relaxed));
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	const struct bp_shm_control *g = s->shm->control;
	const struct bp_shm_global *dp = s->shm->global;
	const struct bp_shm_shared *shared = s->shm->shared;
	uint64_t active = (uint64_t)LOAD(rules_active);
	json_t *planes = json_array();

	(void)err;
	(void)err_size;
	json_array_append_new(
		planes, plane("data plane", LOAD_OF(dp, dp_pid), bp_dataplane_alive(dp),
				(uint64_t)LOAD_OF(dp, dp_started_ns),
				(uint64_t)LOAD_OF(dp, dp_heartbeat_ns),
				json_integer(LOAD_OF(shared, run_dp_restarts)),
				json_integer(LOAD_OF(shared, run_dp_hung)), s->unix_ns));
	json_array_append_new(
		planes, plane("control plane", LOAD(cp_pid), bp_show_alive((uint64_t)LOAD(cp_pid)),
				(uint64_t)LOAD(cp_started_ns), (uint64_t)LOAD(cp_heartbeat_ns),
				json_integer(LOAD_OF(shared, run_cp_restarts)),
				json_integer(LOAD_OF(shared, run_cp_hung)), s->unix_ns));
	json_array_append_new(planes, plane("supervisor", LOAD_OF(shared, run_pid),
					      bp_show_alive((uint64_t)LOAD_OF(shared, run_pid)), 0,
					      0, json_null(), json_null(), s->unix_ns));
	return json_pack(
		"{so sI sI s{sb sI sI} so s{sI sI sI} s{sI sI sI} so so s{sI} s{ss sI sb}}",
		"planes", planes, "workers", LOAD_OF(dp, dp_workers), "ports",
		LOAD_OF(dp, dp_ports), "edge", "connected", (int)LOAD(cp_edge_connected),
		"connects", LOAD(cp_edge_connects), "disconnects", LOAD(cp_edge_disconnects),
		"alarms", alarms(g), "spool", "rows", LOAD(cp_spool_rows), "bytes",
		LOAD(cp_spool_bytes), "errors", LOAD(cp_spool_errors), "reloads", "done",
		LOAD(cp_reloads), "refused", LOAD(cp_reloads_refused), "generation",
		(json_int_t)(active >> 1), "sync", sync_manager(s->shm), "phd", bp_show_phd(s->shm),
		"trouble", "now", (json_int_t)bp_show_trouble_now(s->shm), "segment", "path",
		bp_segment_path(s->shm->segment), "bytes",
		(json_int_t)bp_segment_size(s->shm->segment), "hugepages",
		bp_segment_huge(s->shm->segment));
}

/* One line "LABEL: key value, key value, ..." from an object of integers and booleans. */
static void print_line(FILE *out, const char *label, const json_t *object)
{
	const char *key, *separator = "";
	json_t *v;

	fprintf(out, "%-9s ", label);
	json_object_foreach((json_t *)object, key, v)
	{
		fprintf(out, "%s", separator);
		if (json_is_boolean(v))
			fprintf(out, "%s%s", json_is_true(v) ? "" : "not ", key);
		else if (json_is_string(v))
			fprintf(out, "%s", json_string_value(v));
		else
			fprintf(out, "%s %" JSON_INTEGER_FORMAT, key, json_integer_value(v));
		separator = ", ";
	}
	fputc('\n', out);
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"plane", "PLANE", 0},
		{"pid", "PID", 1},
		{"alive", "ALIVE", 0},
		{"started", "STARTED", 0},
		{"uptime", "UPTIME", 1},
		{"heartbeat_age_s", "BEAT-AGE-S", 1},
		{"restarts", "RESTARTS", 1},
		{"restarts_hung", "HUNG", 1},
		{NULL, NULL, 0},
	};
	static const char *const lines[] = {
		"trouble", "edge", "alarms", "spool", "reloads", "sync", "segment"};
	json_t *rows = json_deep_copy(json_object_get(view, "planes"));

	(void)all;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i), *up = json_object_get(row, "uptime_s");
		char text[BP_TEXT_DURATION];

		if (!json_is_integer(up))
			continue;
		bp_text_duration((uint64_t)json_integer_value(up), text);
		json_object_set_new(row, "uptime", json_string(text));
	}
	bp_table_print(out, columns, rows, "");
	json_decref(rows);
	fputc('\n', out);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (json_is_object(json_object_get(view, lines[i])))
			print_line(out, lines[i], json_object_get(view, lines[i]));
	bp_show_phd_print(json_object_get(view, "phd"), out);
}

const struct bp_show_view bp_show_planes = {
	.name = "planes",
	.summary = "the processes, the edge broker, the way of the alarms, and what was counted of "
		   "health devices",
	.collect = collect,
	.print = print,
};
