/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/plane.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "controlplane/fleet/state.h"
#include "controlplane/process/clock.h"
#include "controlplane/process/controlplane.h"
#include "daemon/log.h"

#define FLEET_USER "biplane-fleet" /* of the packaged unit */

/* Maximum number of log lines about a rejected file. */
#define LOG_LINES_MAX 20u

/* A user of the control socket may send one bad file after another: the log gets the first errors
 * of one file per ten seconds. */
static void log_refusal(struct bp_plane *cp, const json_t *errors)
{
	uint64_t left_out;
	const json_t *line;
	size_t i;

	if (!bp_log_may(&cp->log_refused, &left_out))
		return;
	if (left_out != 0)
		bp_log_event(BP_LOG_ERROR, BP_LOG_FIELDS(BP_LOG_NUM("suppressed", left_out)),
			"reload rejected, nothing changed:");
	else
		bp_log(BP_LOG_ERROR, "reload rejected, nothing changed:");
	json_array_foreach(errors, i, line)
	{
		if (i == LOG_LINES_MAX) {
			bp_log(BP_LOG_ERROR, "  and %zu more; `biplane config check` prints all",
				json_array_size(errors) - i);
			break;
		}
		bp_log(BP_LOG_ERROR, "  %s", json_string_value(line));
	}
}

/* "; lcl.flows changed; sampling changed" */
static void list_changes(const struct bp_plane_context *x, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned s = 0; s < BP_SERVICE_COUNT && n < size; s++) {
		const struct bp_controlplane_service *d = bp_controlplane_services[s];
		const char *what =
			x->state[s] != NULL && d->changed != NULL ? d->changed(x->state[s]) : NULL;

		if (what != NULL)
			n += (size_t)snprintf(out + n, size - n, "; %s", what);
	}
}

void bp_plane_apply_running(struct bp_plane *cp)
{
	const struct bp_config_log *log = &cp->reload.running->log;

	bp_log_set((enum bp_log_level)log->level, (enum bp_log_format)log->format);
	atomic_store_explicit(&cp->shm.control->cp_log, 1u + log->level + 16u * log->format,
		memory_order_relaxed);
	atomic_store_explicit(&cp->shm.control->cp_config_hash, bp_config_hash(cp->reload.running),
		memory_order_relaxed);
}

/* The agent of a fleet repeats a reload that may succeed later: one event for the same refusal. */
static void refused(struct bp_plane *cp, const json_t *answer)
{
	const json_t *errors = json_object_get(answer, "errors");
	const char *first = json_string_value(json_array_get(errors, 0));
	char error[sizeof(cp->retried)] = "";

	if (first != NULL && json_is_true(json_object_get(answer, "retry")))
		snprintf(error, sizeof(error), "%s", first);
	if (error[0] == '\0' || strcmp(error, cp->retried) != 0)
		bp_plane_config_event(cp, BP_EVENT_CONFIG_REFUSED, first);
	memcpy(cp->retried, error, sizeof(error));
	log_refusal(cp, errors);
}

static void after_reload(struct bp_plane *cp, const json_t *answer)
{
	char changes[256];

	if (!json_is_true(json_object_get(answer, "ok"))) {
		refused(cp, answer);
		return;
	}
	cp->retried[0] = '\0';
	bp_plane_config_event(cp, BP_EVENT_CONFIG_RELOADED, NULL);
	bp_plane_apply_running(cp);
	if (cp->sync != NULL)
		bp_sync_reconfigure(cp->sync, cp->reload.running);
	list_changes(&cp->x, changes, sizeof(changes));
	bp_log_limited(&cp->log_reloaded, BP_LOG_INFO,
		BP_LOG_FIELDS(BP_LOG_NUM("generation", (uint64_t)json_integer_value(json_object_get(
							       answer, "generation"))),
			BP_LOG_NUM("rules",
				(uint64_t)json_integer_value(json_object_get(answer, "rules"))),
			BP_LOG_NUM("unchanged", (uint64_t)json_integer_value(
							json_object_get(answer, "unchanged")))),
		"configuration reloaded%s", changes);
}

static void signal_reload_done(void *arg, uint64_t tag, json_t *answer)
{
	(void)tag;
	after_reload(arg, answer);
	json_decref(answer);
}

void bp_plane_reload(struct bp_plane *cp)
{
	bp_reload_start(&cp->reload, signal_reload_done, cp, 0);
}

static void socket_reload_done(void *arg, uint64_t client, json_t *answer)
{
	struct bp_plane *cp = arg;

	after_reload(cp, answer);
	bp_control_reply(cp->x.control, client, answer);
}

static void on_reload_command(void *arg, const json_t *request, uint64_t client)
{
	struct bp_plane *cp = arg;

	(void)request;
	bp_reload_start(&cp->reload, socket_reload_done, cp, client);
}

static json_t *on_status_command(void *arg, const json_t *request)
{
	struct bp_plane *cp = arg;
	json_t *answer = json_pack("{s:b, s:I}", "ok", 1, "pid", (json_int_t)getpid());

	(void)request;
	if (cp->x.fleet != NULL)
		json_object_set_new(answer, "fleet_state", bp_fleet_state_status(cp->x.fleet));
	bp_cp_services_status(&cp->x, answer);
	return answer;
}

static void on_fleet_report(void *arg, const json_t *request, uint64_t client)
{
	struct bp_plane *cp = arg;
	struct bp_control *control = cp->x.control;
	const uid_t uid = bp_control_uid(control, client);

	/* others in the group of the socket would replace the events of faults */
	if (uid != 0 && uid != geteuid() && uid != cp->agent_uid) {
		bp_control_reply(control, client,
			bp_control_refusal("this user may not report; expected root, the user of "
					   "the control plane or " FLEET_USER));
		return;
	}
	bp_control_reply(control, client,
		bp_fleet_watch_report(&cp->fleet_agent, request, bp_control_pid(control, client),
			&cp->shm.control->fleet_agent, &cp->shm.main_events, bp_mono_ns(),
			bp_unix_ns()));
}

static json_t *path_to_json(const char *path)
{
	json_t *text = json_string(path);

	return text != NULL ? text : json_string("(a path that is not valid UTF-8)");
}

/* The active configuration, which may differ from the file. */
static json_t *on_config_command(void *arg, const json_t *request)
{
	struct bp_plane *cp = arg;
	char *yaml = NULL, *file = realpath(cp->reload.path, NULL);
	size_t size = 0;
	FILE *out = open_memstream(&yaml, &size);
	json_t *reply = NULL;

	(void)request;
	if (out != NULL) {
		bp_config_dump(cp->reload.running, out);
		if (fclose(out) == 0)
			reply = json_pack("{s:b, s:o, s:s}", "ok", 1, "file",
				path_to_json(file != NULL ? file : cp->reload.path), "config",
				yaml);
	}
	free(yaml);
	free(file);
	return reply;
}

int bp_plane_start_control(struct bp_plane *cp)
{
	static const struct bp_control_command commands[] = {
		{.name = "reload", .begin = on_reload_command, .reload = true, .for_agent = true},
		{.name = "fleet-report",
			.members = ",\"member\":\"NAME\",\"state\":\"applied\",...",
			.begin = on_fleet_report,
			.for_agent = true},
		{.name = "status", .answer = on_status_command},
		{.name = "config", .answer = on_config_command},
	};
	const unsigned n = sizeof(commands) / sizeof(commands[0]);
	const struct passwd *agent = getpwnam(FLEET_USER);
	char err[1024];

	if (bp_control_path(cp->reload.running->runtime_dir, cp->reload.running->name,
		    cp->control_path, sizeof(cp->control_path)) != 0) {
		bp_log(BP_LOG_ERROR, "runtime.directory and name are too long for the path of a "
				     "control socket; choose shorter ones");
		return BP_EXIT_CONFIG;
	}
	cp->x.control = bp_control_new(cp->x.base, cp->control_path, err, sizeof(err));
	if (cp->x.control == NULL) {
		bp_log(BP_LOG_ERROR, "%s", err);
		return 1;
	}
	cp->agent_uid = agent != NULL ? agent->pw_uid : 0;
	if (cp->agent_uid != 0)
		bp_control_restrict(cp->x.control, cp->agent_uid);
	cp->captures = bp_cp_captures_new(&cp->x);
	if (cp->captures != NULL && bp_control_add(cp->x.control, commands, n, cp) == 0 &&
		bp_cp_services_add_commands(&cp->x) == 0)
		return 0;
	bp_log(BP_LOG_ERROR, "no memory, or the control socket has more than %u commands",
		BP_CONTROL_COMMANDS_MAX);
	return 1;
}
