/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/status_view.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apps/biplane/monitor_pid.h"
#include "apps/biplane/show/fleet_agent.h"
#include "apps/biplane/show/health/show_phd.h"
#include "apps/biplane/show/show_fleet.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "controlplane/process/peer.h"
#include "controlplane/sync/sync.h"
#include "config/config.h"
#include "shm/fault.h"

/* Each plane writes a heartbeat every second. */
#define HEARTBEAT_MAX_S 10

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
		pid ? json_integer(pid) : json_null(), "running", alive, "started",
		started_ns ? json_string(started) : json_null(), "uptime_s",
		alive ? seconds_since(started_ns, now_ns) : json_null(), "heartbeat_age_s",
		seconds_since(heartbeat_ns, now_ns), "restarts", restarts, "restarts_hung", hung);
}

static json_t *alarms(const struct bp_shm_control *g)
{
	return json_pack("{sI sI sI sI sI sI sI sI sI sI}", "read", LOAD(cp_alarms_read),
		"acknowledged", LOAD(publisher[BP_TO_MQTT].acked), "in_flight",
		LOAD(publisher[BP_TO_MQTT].inflight), "spooled",
		LOAD(publisher[BP_TO_MQTT].spooled), "unspooled",
		LOAD(publisher[BP_TO_MQTT].unspooled), "dropped_size",
		LOAD(publisher[BP_TO_MQTT].dropped_size), "dropped_age",
		LOAD(publisher[BP_TO_MQTT].dropped_age), "dropped_disk",
		LOAD(publisher[BP_TO_MQTT].dropped_disk), "unordered",
		LOAD(publisher[BP_TO_MQTT].unordered), "invalid",
		LOAD(publisher[BP_TO_MQTT].invalid));
}

/* The first open fault of Kafka; null: none. */
static json_t *kafka_fault(const struct bp_shm *m)
{
	static const enum bp_fault_kind kinds[] = {BP_FAULT_KAFKA_SETTINGS,
		BP_FAULT_KAFKA_UNREACHABLE, BP_FAULT_KAFKA_SPOOL_ERROR, BP_FAULT_KAFKA_BACKLOG,
		BP_FAULT_ALARMS_REJECTED};
	struct bp_fault_record t;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (bp_fault_read(&m->cp_faults[kinds[i] - BP_FAULT_CONTROLPLANE_FIRST], &t) &&
			t.active)
			return json_string(bp_fault_info[kinds[i]].name);
	return json_null();
}

/* The publisher of Kafka; null where it is not configured. */
static json_t *kafka(const struct bp_shm *m)
{
	const struct bp_publisher_counters *c = &m->control->publisher[BP_TO_KAFKA];

	if (LOAD_OF(c, max_inflight) == 0)
		return json_null();
	return json_pack("{ss so sI sI sI sI sI sI sI sI sI sI sI sI sI sI sI sI sI sI}", "state",
		LOAD_OF(c, connected) ? "connected" : "unreachable", "fault", kafka_fault(m),
		"brokers", LOAD_OF(c, brokers), "brokers_connected", LOAD_OF(c, brokers_connected),
		"connects", LOAD_OF(c, connects), "disconnects", LOAD_OF(c, disconnects),
		"acknowledged", LOAD_OF(c, acked), "in_flight", LOAD_OF(c, inflight), "rejected",
		LOAD_OF(c, rejected), "spooled", LOAD_OF(c, spooled), "unspooled",
		LOAD_OF(c, unspooled), "dropped_size", LOAD_OF(c, dropped_size), "dropped_age",
		LOAD_OF(c, dropped_age), "dropped_disk", LOAD_OF(c, dropped_disk), "unordered",
		LOAD_OF(c, unordered), "invalid", LOAD_OF(c, invalid), "spool_rows",
		LOAD_OF(c, spool_rows), "spool_bytes", LOAD_OF(c, spool_bytes), "spool_max_bytes",
		LOAD_OF(c, spool_max_bytes), "spool_errors", LOAD_OF(c, spool_errors));
}

/* The tables that follow the kernel's; null where nothing routes. */
static json_t *sync_manager(const struct bp_shm *m)
{
	static const char *const state[] = {
		[BP_SYNC_OFF] = "off",
		[BP_SYNC_LOADING] = "loading",
		[BP_SYNC_SYNCED] = "synced",
		[BP_SYNC_HELD] = "held",
	};
	const struct bp_shm_control *g = m->control;
	json_int_t now = LOAD(cp_sync_state);

	if (m->fib.max_routes == 0)
		return json_null();
	return json_pack("{ss sI sI sI sI sI sI sI}", "state",
		now >= 0 && now <= BP_SYNC_HELD ? state[now] : "unknown", "events",
		LOAD(cp_sync_events), "resyncs", LOAD(cp_sync_resyncs), "overruns",
		LOAD(cp_sync_overruns), "load_us", LOAD(cp_sync_loaded_ns) / 1000,
		"punted_prefixes", LOAD(cp_sync_punted), "probes", LOAD(cp_sync_probes), "refused",
		(json_int_t)atomic_load_explicit(
			&m->fib.control->rejected_total, memory_order_relaxed));
}

static json_t *planes(const struct bp_shm *m, uint64_t unix_ns)
{
	const struct bp_shm_control *g = m->control;
	const struct bp_shm_global *dp = m->global;
	const struct bp_shm_shared *shared = m->shared;
	json_t *list = json_array();

	json_array_append_new(list, plane("data plane", LOAD_OF(dp, dp_pid), bp_dataplane_alive(dp),
					    (uint64_t)LOAD_OF(dp, dp_started_ns),
					    (uint64_t)LOAD_OF(dp, dp_heartbeat_ns),
					    json_integer(LOAD_OF(shared, run_dp_restarts)),
					    json_integer(LOAD_OF(shared, run_dp_hung)), unix_ns));
	json_array_append_new(
		list, plane("control plane", LOAD(cp_pid), bp_show_alive((uint64_t)LOAD(cp_pid)),
			      (uint64_t)LOAD(cp_started_ns), (uint64_t)LOAD(cp_heartbeat_ns),
			      json_integer(LOAD_OF(shared, run_cp_restarts)),
			      json_integer(LOAD_OF(shared, run_cp_hung)), unix_ns));
	json_array_append_new(list, plane("supervisor", LOAD_OF(shared, run_pid),
					    bp_show_alive((uint64_t)LOAD_OF(shared, run_pid)), 0, 0,
					    json_null(), json_null(), unix_ns));
	return list;
}

/* Not one of the planes: it writes nothing in the segment, and an instance may have none. */
static json_t *monitor(const struct bp_show_source *s)
{
	struct bp_monitor_seen seen = {0};
	char started[BP_TEXT_TIME];

	if (s->instance != NULL)
		bp_monitor_see(s->instance->runtime_dir, s->instance->name, &seen);
	bp_text_time(seen.started_ns, started);
	return json_pack("{sb so so so so}", "running", (int)seen.running, "pid",
		seen.running ? json_integer(seen.pid) : json_null(), "started",
		seen.started_ns ? json_string(started) : json_null(), "uptime_s",
		seconds_since(seen.started_ns, s->unix_ns), "address",
		seen.address[0] ? json_string(seen.address) : json_null());
}

static json_t *ports(const struct bp_shm *m)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < bp_show_ports_in_use(m); i++) {
		const struct bp_port_info *p = &m->ports[i];

		json_array_append_new(
			list, json_pack("{so sb sI}", "port",
				      bp_text_json(p->name, sizeof(p->name)), "link_up",
				      (int)p->link_up, "speed_mbps", (json_int_t)p->speed_mbps));
	}
	return list;
}

/* Whether the file of the program was replaced after its start, as dpkg does. Only root and the
 * user of the process may read this. */
static bool program_replaced(json_int_t pid)
{
	static const char deleted[] = " (deleted)";
	const size_t tail = sizeof(deleted) - 1;
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%" JSON_INTEGER_FORMAT "/exe", pid);
	n = readlink(link, path, sizeof(path));
	return n >= (ssize_t)tail && memcmp(path + n - tail, deleted, tail) == 0;
}

/* A plane that does not run, or sends no heartbeat, cannot report this itself; one whose program
 * was replaced does not check that. */
static void add_plane_faults(json_t *faults, const json_t *planes)
{
	size_t i;
	json_t *p;

	json_array_foreach(planes, i, p)
	{
		const char *name = json_string_value(json_object_get(p, "plane"));
		const json_int_t age = bp_show_int(p, "heartbeat_age_s");

		const bool running = json_is_true(json_object_get(p, "running"));

		if (running && program_replaced(bp_show_int(p, "pid")))
			json_array_append_new(faults,
				json_pack("{ss ss ss}", "fault", "program_replaced", "object", name,
					"description",
					"the program was replaced after the start of this process, "
					"for example by an upgrade: restart both planes"));
		if (strcmp(name, "supervisor") == 0)
			continue;
		if (!running)
			json_array_append_new(faults,
				json_pack("{ss ss ss}", "fault", "plane_down", "object", name,
					"description", "the process is not running: see its log"));
		else if (age > HEARTBEAT_MAX_S)
			json_array_append_new(faults,
				json_pack("{ss ss sI ss}", "fault", "heartbeat_lost", "object",
					name, "duration_ns", age * 1000000000, "description",
					"no heartbeat: the process hangs; restart it"));
	}
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	const struct bp_shm_control *g = s->shm->control;
	uint64_t active = (uint64_t)LOAD(rules_active);
	json_t *faults = bp_show_open_faults(s->shm, s->unix_ns);
	json_t *list = planes(s->shm, s->unix_ns), *view;

	add_plane_faults(faults, list);
	view = json_pack("{sb so so so so sI so s{sb sI sI} so s{sI sI sI} so s{sI sI sI} so so so "
			 "s{ss sI sb}}",
		"ok", json_array_size(faults) == 0, "faults", faults, "planes", list, "monitor",
		monitor(s), "fleet_agent", bp_show_fleet_agent(s->shm, s->unix_ns), "workers",
		LOAD_OF(s->shm->global, dp_workers), "ports", ports(s->shm), "publisher",
		"connected", (int)LOAD(publisher[BP_TO_MQTT].connected), "connects",
		LOAD(publisher[BP_TO_MQTT].connects), "disconnects",
		LOAD(publisher[BP_TO_MQTT].disconnects), "alarms", alarms(g), "spool", "rows",
		LOAD(publisher[BP_TO_MQTT].spool_rows), "bytes",
		LOAD(publisher[BP_TO_MQTT].spool_bytes), "errors",
		LOAD(publisher[BP_TO_MQTT].spool_errors), "kafka", kafka(s->shm), "reloads", "done",
		LOAD(cp_reloads), "refused", LOAD(cp_reloads_refused), "generation",
		(json_int_t)(active >> 1), "netlink", sync_manager(s->shm), "fleet",
		bp_show_fleet_status(s->shm), "health_devices", bp_show_phd(s->shm), "segment",
		"path", bp_segment_path(s->shm->segment), "bytes",
		(json_int_t)bp_segment_size(s->shm->segment), "hugepages",
		bp_segment_huge(s->shm->segment));
	if (view == NULL)
		snprintf(err, err_size, "not enough memory");
	return view;
}

/* One line "LABEL: key value, key value, ..." from an object of integers and booleans. */
static void print_line(FILE *out, const char *label, const json_t *object)
{
	const char *key, *separator = "";
	json_t *v;

	fprintf(out, "%-10s ", label);
	json_object_foreach((json_t *)object, key, v)
	{
		if (json_is_null(v))
			continue;
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

static void print_processes(const json_t *view, FILE *out)
{
	static const struct bp_column columns[] = {
		{"plane", "PLANE", 0},
		{"pid", "PID", 1},
		{"running", "RUNNING", 0},
		{"uptime", "UPTIME", 1},
		{"heartbeat_age_s", "HEARTBEAT-AGE-S", 1},
		{"restarts", "RESTARTS", 1},
		{"restarts_hung", "HUNG", 1},
		{NULL, NULL, 0},
	};
	static const struct {
		const char *name, *member;
	} others[] = {{"monitor", "monitor"}, {"fleet agent", "fleet_agent"}};
	json_t *rows = json_deep_copy(json_object_get(view, "planes")), *row;
	char text[BP_TEXT_DURATION];
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (!json_is_object(json_object_get(view, others[i].member)))
			continue;
		row = json_pack("{ss}", "plane", others[i].name);
		json_object_update_missing(row, json_object_get(view, others[i].member));
		json_array_append_new(rows, row);
	}
	json_array_foreach(rows, i, row)
	{
		if (!json_is_integer(json_object_get(row, "uptime_s")))
			continue;
		bp_text_duration((uint64_t)bp_show_int(row, "uptime_s"), text);
		json_object_set_new(row, "uptime", json_string(text));
	}
	bp_table_print(out, columns, rows, "");
	json_decref(rows);
}

static void print_ports(const json_t *list, FILE *out)
{
	static const struct bp_column columns[] = {{"port", "PORT", 0}, {"link", "LINK", 0},
		{"speed_mbps", "MBIT/S", 1}, {NULL, NULL, 0}};
	json_t *rows = json_deep_copy(list), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const bool up = json_is_true(json_object_get(row, "link_up"));

		json_object_set_new(row, "link", json_string(up ? "up" : "down"));
	}
	fputc('\n', out);
	bp_table_print(out, columns, rows, "no ports");
	json_decref(rows);
}

static void print_faults(const json_t *faults, FILE *out)
{
	static const struct bp_column columns[] = {{"fault", "FAULT", 0}, {"object", "OBJECT", 0},
		{"since", "SINCE", 0}, {"duration", "DURATION", 1},
		{"description", "DESCRIPTION", 0}, {NULL, NULL, 0}};
	json_t *rows = json_deep_copy(faults), *row;
	char span[BP_FAULT_DURATION_LEN];
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (!json_is_integer(json_object_get(row, "duration_ns")))
			continue;
		bp_fault_duration((uint64_t)bp_show_int(row, "duration_ns"), span);
		json_object_set_new(row, "duration", json_string(span));
	}
	fputc('\n', out);
	bp_table_print(out, columns, rows, "no open faults");
	json_decref(rows);
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const char *const lines[] = {
		"publisher", "alarms", "spool", "kafka", "reloads", "netlink", "fleet", "segment"};

	(void)all;
	print_processes(view, out);
	print_ports(json_object_get(view, "ports"), out);
	fputc('\n', out);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (json_is_object(json_object_get(view, lines[i])))
			print_line(out, lines[i], json_object_get(view, lines[i]));
	if (json_is_string(json_object_get(json_object_get(view, "monitor"), "address")))
		fprintf(out, "%-10s address %s\n", "monitor",
			json_string_value(
				json_object_get(json_object_get(view, "monitor"), "address")));
	bp_show_fleet_agent_print(json_object_get(view, "fleet_agent"), out);
	bp_show_phd_print(json_object_get(view, "health_devices"), out);
	print_faults(json_object_get(view, "faults"), out);
}

const struct bp_show_view bp_status_view = {.name = "status", .collect = collect, .print = print};
