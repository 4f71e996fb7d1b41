/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/agent_watch.h"

#include <stdio.h>
#include <string.h>

#include "controlplane/process/control.h"
#include "shm/events/plane_events.h"
#include "shm/seqlock.h"

static bool take_number(const json_t *request, const char *name, uint64_t *out)
{
	const json_t *v = json_object_get(request, name);

	*out = json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v)
								: 0;
	return json_is_integer(v) && json_integer_value(v) >= 0;
}

/* False: it is not text. Longer text is cut. */
static bool take_text(const json_t *request, const char *name, char *out, size_t size)
{
	const json_t *v = json_object_get(request, name);

	if (!json_is_string(v))
		return false;
	snprintf(out, size, "%s", json_string_value(v));
	return true;
}

static bool take_bool(const json_t *request, const char *name, uint16_t *out)
{
	const json_t *v = json_object_get(request, name);

	*out = json_is_true(v);
	return json_is_boolean(v);
}

static bool take(const json_t *request, struct bp_fleet_report *r)
{
	enum bp_fleet_phase phase = BP_FLEET_IDLE;
	const bool ok =
		bp_fleet_phase_read(json_string_value(json_object_get(request, "state")), &phase);

	r->phase = phase;
	return ok && take_text(request, "member", r->member, sizeof(r->member)) &&
	       take_text(request, "error", r->error, sizeof(r->error)) &&
	       take_number(request, "started_ns", &r->started_ns) &&
	       take_number(request, "serial", &r->serial) &&
	       take_number(request, "version", &r->version) &&
	       take_number(request, "since_ns", &r->since_ns) &&
	       take_bool(request, "connected", &r->connected) &&
	       take_bool(request, "leased", &r->leased);
}

/* A result that was not reported before. A result from before the start of the agent was reported
 * by its predecessor, perhaps to a segment that is gone. */
static void note_result(const struct bp_fleet_report *r, struct bp_fleet_agent *agent,
	struct bp_event_ring *events, uint64_t unix_ns)
{
	static const enum bp_event_config action[BP_FLEET_PHASES] = {
		[BP_FLEET_APPLIED] = BP_EVENT_CONFIG_ROLLOUT_APPLIED,
		[BP_FLEET_REFUSED] = BP_EVENT_CONFIG_ROLLOUT_REFUSED,
		[BP_FLEET_ROLLED_BACK] = BP_EVENT_CONFIG_ROLLOUT_ROLLED_BACK,
	};
	struct bp_fleet_report before;
	const bool known = bp_fleet_agent_read(agent, &before) && before.phase == r->phase &&
			   before.serial == r->serial;

	if (action[r->phase] == 0 || known || r->since_ns < r->started_ns)
		return;
	atomic_fetch_add_explicit(&agent->results[r->phase], 1, memory_order_relaxed);
	bp_rollout_event(events, action[r->phase], r->serial, r->version, r->error, unix_ns);
}

json_t *bp_fleet_watch_report(struct bp_fleet_watch *w, const json_t *request, pid_t pid,
	struct bp_fleet_agent *agent, struct bp_event_ring *events, uint64_t now_ns,
	uint64_t unix_ns)
{
	struct bp_fleet_report r = {.pid = (uint64_t)pid, .heard_ns = unix_ns};

	if (!take(request, &r))
		return bp_control_refusal(
			"a member of the report is missing or has another type; expected member, "
			"state, error, started_ns, serial, version, since_ns, connected, leased");
	note_result(&r, agent, events, unix_ns);
	w->heard_ns = now_ns;
	bp_seqlock_write(&agent->lock, &r, sizeof(r));
	return json_pack("{sb}", "ok", 1);
}

void bp_fleet_watch_tick(struct bp_fleet_watch *w, bool expected, struct bp_fleet_agent *agent,
	struct bp_fault_row *rows, struct bp_event_ring *events, uint64_t now_ns, uint64_t unix_ns)
{
	/* the agent may start after the control plane */
	if (w->heard_ns == 0 || !expected)
		w->heard_ns = now_ns;
	atomic_store_explicit(&agent->expected, expected, memory_order_relaxed);
	if (!expected && w->fault.is.active == 0)
		return; /* no row for a gateway without a fleet */
	bp_fleet_fault_set(&w->fault, BP_FAULT_FLEET_AGENT,
		now_ns - w->heard_ns >= BP_FLEET_AGENT_FAULT_NS, BP_FLEET_AGENT_FAULT_NS, rows,
		events, now_ns, unix_ns);
}
