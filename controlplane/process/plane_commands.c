/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/plane.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/config.h"
#include "controlplane/process/controlplane.h"
#include "daemon/log.h"
#include "controlplane/health/command.h"
#include "controlplane/mqtt/rules.h"
#include "controlplane/transform/transform_command.h"

/* A worker that has not left the bank by then is stuck. */
#define CLEAR_WAIT_NS 10000000000ull
/* Of a refused file, so many errors are logged. */
#define LOG_LINES_MAX 20u

void bp_plane_warn_of_lost(json_int_t n)
{
	if (n != 0)
		bp_log(BP_LOG_WARNING,
			"%" JSON_INTEGER_FORMAT
			" matrices that were set while it ran are gone: the file has no such "
			"entry or receiver any more, or refuses them",
			n);
}

/* Whoever may write to the control socket may send one bad file after another: the log has the
 * first errors of one in ten seconds. */
static void log_refusal(struct bp_plane *cp, const json_t *errors)
{
	uint64_t left_out;
	const json_t *line;
	size_t i;

	if (!bp_log_may(&cp->log_refused, &left_out))
		return;
	if (left_out != 0)
		bp_log(BP_LOG_ERROR,
			"reload refused, nothing changed (and %" PRIu64
			" more refused since the last message):",
			left_out);
	else
		bp_log(BP_LOG_ERROR, "reload refused, nothing changed:");
	json_array_foreach(errors, i, line)
	{
		if (i == LOG_LINES_MAX) {
			bp_log(BP_LOG_ERROR, "  and %zu more; `biplane check` prints all",
				json_array_size(errors) - i);
			break;
		}
		bp_log(BP_LOG_ERROR, "  %s", json_string_value(line));
	}
}

static void after_reload(struct bp_plane *cp, const json_t *answer)
{
	if (json_is_true(json_object_get(answer, "ok"))) {
		if (cp->sync != NULL)
			bp_sync_reconfigure(cp->sync, cp->reload.running);
		if (cp->phd != NULL)
			bp_phd_service_configure(cp->phd, cp->reload.running);
		bp_log_limited(&cp->log_reloaded, BP_LOG_INFO,
			"configuration reloaded: generation %" JSON_INTEGER_FORMAT
			", %" JSON_INTEGER_FORMAT " rules, %" JSON_INTEGER_FORMAT " unchanged%s%s",
			json_integer_value(json_object_get(answer, "generation")),
			json_integer_value(json_object_get(answer, "rules")),
			json_integer_value(json_object_get(answer, "unchanged")),
			json_is_true(json_object_get(answer, "aggregation_changed"))
				? "; aggregation begins anew"
				: "",
			json_is_true(json_object_get(answer, "flows_changed"))
				? "; lcl.flows changed"
				: "");
		bp_plane_warn_of_lost(json_integer_value(json_object_get(answer, "matrices_lost")));
		return;
	}
	log_refusal(cp, json_object_get(answer, "errors"));
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
	bp_control_reply(cp->control, client, answer);
}

static void on_reload_command(void *arg, uint64_t client)
{
	struct bp_plane *cp = arg;

	bp_reload_start(&cp->reload, socket_reload_done, cp, client);
}

static json_int_t value(const _Atomic uint64_t *counter)
{
	return (json_int_t)atomic_load_explicit(counter, memory_order_relaxed);
}

static json_t *on_status_command(void *arg)
{
	struct bp_plane *cp = arg;
	const struct bp_shm_control *g = cp->shm.control;
	const struct bp_ruleset *rs = bp_shm_rules(
		&cp->shm, atomic_load_explicit(&g->rules_active, memory_order_relaxed));

	return json_pack("{s:b, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I}", "ok", 1, "pid",
		(json_int_t)getpid(), "generation", (json_int_t)rs->generation, "rules",
		(json_int_t)rs->n_rules, "edge_connected",
		atomic_load_explicit(&g->cp_edge_connected, memory_order_relaxed) != 0,
		"alarms_read", value(&g->cp_alarms_read), "alarms_acked",
		value(&g->cp_alarms_acked), "inflight", value(&g->cp_inflight), "spool_rows",
		value(&g->cp_spool_rows), "spool_bytes", value(&g->cp_spool_bytes), "spool_errors",
		value(&g->cp_spool_errors));
}

static json_t *path_to_json(const char *path)
{
	json_t *text = json_string(path);

	return text != NULL ? text : json_string("(a path that is not valid UTF-8)");
}

/* What is in force, which the file may not say any more. */
static json_t *on_config_command(void *arg)
{
	struct bp_plane *cp = arg;
	char *yaml = NULL, *file = realpath(cp->reload.path, NULL);
	size_t size = 0;
	FILE *out = open_memstream(&yaml, &size);
	json_t *reply = NULL;

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

static json_t *on_release_command(void *arg, const char *id)
{
	struct bp_plane *cp = arg;

	return bp_phd_release_command(cp->phd, cp->reload.running->phd.enabled, id);
}

static json_t *on_matrix_set_command(void *arg, const json_t *request)
{
	struct bp_plane *cp = arg;

	return bp_transform_set_command(&cp->shm, request);
}

static void cleared(void *arg, const struct bp_rules_result *result)
{
	struct bp_plane *cp = arg;

	bp_control_reply(cp->control, cp->clearing,
		result->ok ? json_pack("{s:b, s:i}", "ok", 1, "entries", cp->cleared)
			   : bp_control_refusal(result->error));
}

/* The next bank is without what was set: built at once, of the configuration that is in force. */
static void on_matrix_clear_command(void *arg, const json_t *request, uint64_t client)
{
	struct bp_plane *cp = arg;
	json_t *refusal;
	char err[512] = "";
	int n = 0;

	/* before anything is marked */
	if (bp_rules_busy(cp->reload.rules))
		refusal = bp_control_refusal("rules are being put in force; try again in a moment");
	else
		refusal = bp_transform_clear_command(&cp->shm, request, &n);
	if (refusal != NULL) {
		bp_control_reply(cp->control, client, refusal);
		return;
	}
	cp->clearing = client;
	cp->cleared = n;
	if (bp_rules_apply(cp->reload.rules, cp->reload.running, true, CLEAR_WAIT_NS, cleared, cp,
		    err, sizeof(err)) != 0)
		bp_control_reply(cp->control, client, bp_control_refusal(err));
}

int bp_plane_start_control(struct bp_plane *cp)
{
	static const struct bp_control_ops ops = {on_reload_command, on_status_command,
		on_config_command, on_release_command, on_matrix_set_command,
		on_matrix_clear_command};
	char err[1024];

	if (bp_control_path(cp->reload.running->runtime_dir, cp->reload.running->name,
		    cp->control_path, sizeof(cp->control_path)) != 0) {
		bp_log(BP_LOG_ERROR, "runtime.directory and name are too long for the path of a "
				     "control socket; choose shorter ones");
		return BP_EXIT_CONFIG;
	}
	cp->control = bp_control_new(cp->base, cp->control_path, &ops, cp, err, sizeof(err));
	if (cp->control != NULL)
		return 0;
	bp_log(BP_LOG_ERROR, "%s", err);
	return 1;
}
