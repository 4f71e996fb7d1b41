/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/fleet_agent.h"

#include "apps/biplane/show/show.h"
#include "apps/biplane/text.h"
#include "controlplane/process/peer.h"
#include "shm/fleet_agent.h"

static json_t *time_or_null(uint64_t unix_ns)
{
	char text[BP_TEXT_TIME];

	bp_text_time(unix_ns, text);
	return unix_ns != 0 ? json_string(text) : json_null();
}

static json_t *seconds(uint64_t then_ns, uint64_t now_ns)
{
	return json_integer((json_int_t)(now_ns > then_ns ? (now_ns - then_ns) / 1000000000u : 0));
}

static json_int_t result(const struct bp_fleet_agent *a, enum bp_fleet_phase phase)
{
	return (json_int_t)atomic_load_explicit(&a->results[phase], memory_order_relaxed);
}

json_t *bp_show_fleet_agent(const struct bp_shm *m, uint64_t unix_ns)
{
	const struct bp_fleet_agent *a = &m->control->fleet_agent;
	struct bp_fleet_report r = {0};
	const bool known = bp_fleet_agent_read(a, &r);
	const bool running = known && bp_process_alive(r.pid);

	if (atomic_load_explicit(&a->expected, memory_order_relaxed) == 0)
		return json_null();
	return json_pack("{sb so so so so so so so sI sI so sb sb s{sI sI sI}}", "running",
		(int)running, "pid", running ? json_integer((json_int_t)r.pid) : json_null(),
		"started", time_or_null(r.started_ns), "uptime_s",
		running ? seconds(r.started_ns, unix_ns) : json_null(), "heartbeat_age_s",
		known ? seconds(r.heard_ns, unix_ns) : json_null(), "member",
		known ? bp_text_json(r.member, sizeof(r.member)) : json_null(), "state",
		known ? json_string(bp_fleet_phase_name(r.phase)) : json_null(), "since",
		time_or_null(r.since_ns), "version", (json_int_t)r.version, "serial",
		(json_int_t)r.serial, "error",
		r.error[0] != '\0' ? bp_text_json(r.error, sizeof(r.error)) : json_null(),
		"connected", r.connected == 1, "leased", r.leased == 1, "results", "applied",
		result(a, BP_FLEET_APPLIED), "refused", result(a, BP_FLEET_REFUSED), "rolled_back",
		result(a, BP_FLEET_ROLLED_BACK));
}

void bp_show_fleet_agent_print(const json_t *agent, FILE *out)
{
	const char *member = json_string_value(json_object_get(agent, "member"));
	const char *error = json_string_value(json_object_get(agent, "error"));

	if (!json_is_object(agent))
		return;
	fprintf(out, "%-10s ", "agent");
	if (member == NULL) {
		fputs("no report of the agent yet\n", out);
		return;
	}
	fputs("member ", out);
	bp_text_print_safe(member, out);
	fprintf(out,
		", %s, version %" JSON_INTEGER_FORMAT ", serial %" JSON_INTEGER_FORMAT
		", %sconnected to etcd, %s\n",
		json_string_value(json_object_get(agent, "state")), bp_show_int(agent, "version"),
		bp_show_int(agent, "serial"),
		json_is_true(json_object_get(agent, "connected")) ? "" : "not ",
		json_is_true(json_object_get(agent, "leased")) ? "lease held" : "no lease");
	if (error == NULL)
		return;
	fprintf(out, "%-10s error: ", "");
	bp_text_print_safe(error, out);
	fputc('\n', out);
}
