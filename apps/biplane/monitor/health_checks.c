/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/health_checks.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "apps/biplane/show/status_view.h"

static void add(json_t *checks, const char *check, bool ok, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void add(json_t *checks, const char *check, bool ok, const char *format, ...)
{
	char reason[512];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	json_array_append_new(
		checks, json_pack("{ss sb ss}", "check", check, "ok", (int)ok, "reason", reason));
}

/* A plane must run, and send heartbeats: its faults of `biplane status`. */
static void check_plane(json_t *checks, const json_t *status, const char *check, const char *name)
{
	size_t i;
	json_t *f;

	json_array_foreach(json_object_get(status, "faults"), i, f)
	{
		const char *kind = json_string_value(json_object_get(f, "fault"));
		const char *object = json_string_value(json_object_get(f, "object"));

		if (kind == NULL || object == NULL || strcmp(object, name) != 0 ||
			(strcmp(kind, "plane_down") != 0 && strcmp(kind, "heartbeat_lost") != 0))
			continue;
		add(checks, check, false, "%s",
			json_string_value(json_object_get(f, "description")));
		return;
	}
	add(checks, check, true, "running");
}

static void check_ports(json_t *checks, const json_t *status)
{
	char down[256] = "";
	size_t i, len = 0, n = 0;
	json_t *p;

	json_array_foreach(json_object_get(status, "ports"), i, p)
	{
		const char *name = json_string_value(json_object_get(p, "port"));

		if (json_is_true(json_object_get(p, "link_up")))
			continue;
		if (len < sizeof(down))
			len += (size_t)snprintf(down + len, sizeof(down) - len, "%s%s",
				n > 0 ? ", " : "", name != NULL ? name : "?");
		n++;
	}
	if (n > 0)
		add(checks, "ports", false, "link down: %s", down);
	else
		add(checks, "ports", json_array_size(json_object_get(status, "ports")) > 0,
			json_array_size(json_object_get(status, "ports")) > 0
				? "all links are up"
				: "no port is set up");
}

static void check_tables(json_t *checks, const json_t *status)
{
	const char *state =
		json_string_value(json_object_get(json_object_get(status, "netlink"), "state"));

	if (state == NULL)
		add(checks, "tables", true, "nothing is routed");
	else
		add(checks, "tables", strcmp(state, "synced") == 0, "%s", state);
}

static void check_publisher(json_t *checks, const json_t *status, uint64_t spool_max)
{
	const json_t *publisher = json_object_get(status, "publisher");
	const json_int_t bytes = bp_show_int(json_object_get(status, "spool"), "bytes");

	if (spool_max == 0)
		add(checks, "publisher", true, "no broker is configured");
	else if (json_is_true(json_object_get(publisher, "connected")))
		add(checks, "publisher", true, "connected");
	else
		add(checks, "publisher", bytes >= 0 && (uint64_t)bytes < spool_max,
			"not connected; the spool has %" JSON_INTEGER_FORMAT " of %llu bytes",
			bytes, (unsigned long long)spool_max);
}

/* Always ok: Redis is the same for all gateways of the fleet, and without it each of them forwards,
 * inspects and publishes. If this made them not ready, the routers would have no gateway. */
static void check_fleet(json_t *checks, const json_t *status)
{
	const json_t *fleet = json_object_get(status, "fleet");

	if (!json_is_object(fleet))
		return;
	add(checks, "fleet", true,
		"%sconnected to Redis; lag %.1f s, %" JSON_INTEGER_FORMAT
		" of %" JSON_INTEGER_FORMAT " changes queued",
		json_is_true(json_object_get(fleet, "connected")) ? "" : "not ",
		(double)bp_show_int(fleet, "lag_ms") / 1e3, bp_show_int(fleet, "queued"),
		bp_show_int(fleet, "max_queued"));
}

/* Only where Kafka is configured. */
static void check_kafka(json_t *checks, const json_t *status)
{
	const json_t *kafka = json_object_get(status, "kafka");
	const char *state = json_string_value(json_object_get(kafka, "state"));
	const json_int_t bytes = bp_show_int(kafka, "spool_bytes"),
			 max = bp_show_int(kafka, "spool_max_bytes");

	if (state == NULL)
		return;
	if (strcmp(state, "connected") == 0)
		add(checks, "kafka", true, "connected");
	else
		add(checks, "kafka", bytes >= 0 && bytes < max,
			"not connected; the spool has %" JSON_INTEGER_FORMAT
			" of %" JSON_INTEGER_FORMAT " bytes",
			bytes, max);
}

json_t *bp_health_checks(const json_t *status, uint64_t spool_max)
{
	json_t *checks = json_array(), *c;
	bool ready = true;
	size_t i;

	check_plane(checks, status, "dataplane", "data plane");
	check_plane(checks, status, "controlplane", "control plane");
	check_ports(checks, status);
	check_tables(checks, status);
	check_publisher(checks, status, spool_max);
	check_kafka(checks, status);
	check_fleet(checks, status);
	json_array_foreach(checks, i, c) ready = ready && json_is_true(json_object_get(c, "ok"));
	return json_pack("{sb so}", "ready", (int)ready, "checks", checks);
}
