/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/follow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include "apps/biplane/fleet/select.h"
#include "apps/biplane/fleet/trial.h"
#include "config/schema.h"
#include "controlplane/process/control.h"
#include "daemon/log.h"

#define RELOAD_S 30            /* longer than the control plane waits for a worker */
#define RETRY_NS 5000000000ull /* between attempts to restore or to reload the good bundle */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void note(
	char notice[BP_FLEET_NOTICE], const char *format, ...)
{
	char text[BP_FLEET_NOTICE];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (strcmp(text, notice) != 0 && text[0] != '\0')
		bp_log(BP_LOG_WARNING, "fleet: %s", text);
	memcpy(notice, text, sizeof(text));
}

/* Writes the state to the disk. On failure the next ticks try again. */
static void save(struct bp_fleet_follower *f)
{
	char err[PATH_MAX + 256];

	/* meanwhile the disk has the trial, after which a restart restores the good bundle */
	f->save_due = f->restore_due;
	if (f->restore_due || bp_fleet_state_write(&f->store, &f->state, err, sizeof(err)) == 0)
		return;
	f->save_due = true;
	note(f->delayed, "%.1000s", err);
}

/* A phase with its errors, in the log and on the disk. */
static void enter(struct bp_fleet_follower *f, enum bp_fleet_phase phase, const char *errors)
{
	const bool bad = phase == BP_FLEET_REFUSED || phase == BP_FLEET_ROLLED_BACK;

	if (f->state.phase == phase && strcmp(f->state.errors, errors) == 0)
		return;
	f->state.phase = phase;
	f->state.since_ns = clock_ns(CLOCK_REALTIME);
	snprintf(f->state.errors, sizeof(f->state.errors), "%s", errors);
	if (!f->quiet)
		bp_log_event(bad ? BP_LOG_WARNING : BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_NUM("serial", f->state.serial),
				BP_LOG_NUM("version", f->state.version)),
			"fleet: %s%s%s", bp_fleet_phase_name(phase), errors[0] != '\0' ? ": " : "",
			errors);
	save(f);
	if (f->entered != NULL)
		f->entered(f->arg);
}

/* ---- the reload ---- */

static void join_errors(const json_t *reply, char *out, size_t size)
{
	const json_t *errors = json_object_get(reply, "errors"), *e;
	size_t i, n = 0;

	out[0] = '\0';
	json_array_foreach(errors, i, e)
	{
		const char *text = json_string_value(e);

		if (text != NULL && n < size)
			n += (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? "\n" : "", text);
	}
	n = strlen(out);
	while (n > 0 && out[n - 1] == '\n')
		out[--n] = '\0';
	if (out[0] == '\0')
		snprintf(out, size, "the control plane refused the reload without a reason");
}

/* 1: applied; 0: refused, with the errors; -1: it may be possible later, with a sentence. */
static int reload(const struct bp_fleet_follower *f, char *err, size_t err_size)
{
	const struct bp_control_wait wait = {RELOAD_S, f->waiting, f->arg};
	const struct bp_config *c = f->config;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	json_t *reply = NULL;
	int rc;

	if (bp_control_path(c->runtime_dir, c->name, path, sizeof(path)) != 0) {
		snprintf(err, err_size, "runtime.directory is too long for a socket's path");
		return -1;
	}
	if (bp_control_call_waiting(path, json_pack("{ss}", "command", "reload"), &wait, &reply,
		    err, err_size) != 0)
		return -1;
	rc = json_is_true(json_object_get(reply, "ok")) ? 1 : 0;
	if (rc == 0) {
		join_errors(reply, err, err_size);
		if (json_is_true(json_object_get(reply, "retry")))
			rc = -1;
	}
	json_decref(reply);
	return rc;
}

/* ---- trial ---- */

static void end_trial(struct bp_fleet_follower *f)
{
	json_decref(f->baseline);
	f->baseline = NULL;
}

/* Stores the good bundle again. On failure the next ticks try again. */
static void restore(struct bp_fleet_follower *f, enum bp_fleet_phase phase, const char *reason)
{
	char err[PATH_MAX + 256];

	f->restore_due = bp_fleet_restore(&f->store, err, sizeof(err)) != 0;
	if (f->restore_due) {
		f->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
		note(f->delayed, "the good bundle is not stored yet: %.900s", err);
	} else {
		f->state.version = f->state.good_version;
		memcpy(f->state.sha256, f->state.good_sha256, sizeof(f->state.sha256));
	}
	enter(f, phase, reason);
}

/* The planes get the good bundle by a reload, at the latest at their next start. */
static void roll_back(struct bp_fleet_follower *f, const char *reason)
{
	end_trial(f);
	f->state.reload_due = true;
	f->retry_ns = 0;
	restore(f, BP_FLEET_ROLLED_BACK, reason);
}

static void enter_applied(struct bp_fleet_follower *f)
{
	f->state.good_version = f->state.version;
	memcpy(f->state.good_sha256, f->state.sha256, sizeof(f->state.sha256));
	enter(f, BP_FLEET_APPLIED, "");
}

static void pass(struct bp_fleet_follower *f)
{
	char err[PATH_MAX + 256];

	if (bp_fleet_keep(&f->store, err, sizeof(err)) != 0) {
		note(f->notice, "%s", err); /* and the next tick tries again */
		return;
	}
	end_trial(f);
	enter_applied(f);
}

static void watch_trial(struct bp_fleet_follower *f)
{
	json_t *now = bp_fleet_health(f->config);
	char why[512];

	if (now == NULL || bp_fleet_is_worse(f->baseline, now, why, sizeof(why)))
		roll_back(f, now != NULL ? why : "no memory to read the health of the gateway");
	else if (clock_ns(CLOCK_MONOTONIC) >= f->trial_end_ns)
		pass(f);
	json_decref(now);
}

static void reload_again(struct bp_fleet_follower *f)
{
	char err[4096];

	if (reload(f, err, sizeof(err)) > 0) {
		bp_log(BP_LOG_INFO, "fleet: the good bundle is active again");
		f->state.reload_due = false;
		save(f);
		return;
	}
	/* a refusal may end, too: a worker that still uses older rules */
	f->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
	note(f->delayed, "the good bundle is not active yet: %.900s", err);
}

static void restore_again(struct bp_fleet_follower *f)
{
	char reason[sizeof(f->state.errors)];

	memcpy(reason, f->state.errors, sizeof(reason));
	restore(f, f->state.phase, reason);
}

void bp_fleet_follow_tick(struct bp_fleet_follower *f)
{
	/* first the trial: a rollback does not wait for etcd */
	if (f->baseline != NULL)
		watch_trial(f);
	if (f->restore_due && clock_ns(CLOCK_MONOTONIC) >= f->retry_ns)
		restore_again(f);
	if (f->save_due && !f->restore_due)
		save(f);
	if (f->state.reload_due && !f->restore_due && clock_ns(CLOCK_MONOTONIC) >= f->retry_ns)
		reload_again(f);
	if (!f->restore_due && !f->save_due && !f->state.reload_due)
		note(f->delayed, "%s", "");
}

void bp_fleet_follow_start(struct bp_fleet_follower *f)
{
	char err[PATH_MAX + 256];
	const bool valid = bp_fleet_state_read(&f->store, &f->state, err, sizeof(err)) == 0;

	if (!valid)
		bp_log(BP_LOG_ERROR, "fleet: %s", err);
	if (f->state.phase != BP_FLEET_TRIAL)
		return;
	/* the trial passed, and only the state could not be written */
	if (valid && bp_fleet_is_good(&f->store, f->state.sha256))
		enter_applied(f);
	else
		roll_back(f, "the agent was restarted in the trial time");
}

void bp_fleet_follow_end(struct bp_fleet_follower *f)
{
	end_trial(f);
}

/* ---- apply ---- */

static void refuse(
	struct bp_fleet_follower *f, const struct bp_fleet_rollout *r, const char *errors)
{
	f->state.serial = r->serial;
	f->state.phase = BP_FLEET_IDLE; /* the serial number goes to the disk in any case */
	enter(f, BP_FLEET_REFUSED, errors);
}

/* Reads the file with the bundle, as `config check`. False, with the errors. */
static bool check(
	const struct bp_fleet_follower *f, const struct bp_fleet_bundle *b, char *out, size_t size)
{
	char name[40], *text, *errors = NULL;
	struct bp_bundle bundle = {name, b->text, b->len};
	struct bp_config *c = NULL;
	size_t len = 0, n = 0;
	FILE *stream = open_memstream(&errors, &n);

	snprintf(out, size, "no memory to check the bundle");
	if (stream == NULL)
		return false;
	snprintf(name, sizeof(name), "bundles/%" PRIu64, b->version);
	text = bp_config_read_file(f->path, &len, stream);
	if (text != NULL)
		c = bp_config_parse_with(f->path, text, len, &bundle, stream);
	fclose(stream);
	if (c == NULL && errors != NULL) {
		while (n > 0 && errors[n - 1] == '\n')
			errors[--n] = '\0';
		snprintf(out, size, "%s", errors);
	}
	free(errors);
	free(text);
	bp_config_free(c);
	return c != NULL;
}

/* The result of the reload of a new bundle. `before`: the state to return to. */
static void after_reload(struct bp_fleet_follower *f, const struct bp_fleet_rollout *r,
	const struct bp_fleet_state *before, int rc, const char *errors)
{
	if (rc > 0) {
		const uint64_t trial_ns = r->trial_s != 0 ? r->trial_s * 1000000000ull
							  : f->config->fleet.config.trial_time_ns;

		f->trial_end_ns = clock_ns(CLOCK_MONOTONIC) + trial_ns;
		return;
	}
	/*
	 * After a refusal the planes still have the previous bundle; during a trial this was not
	 * the good one. Without an answer they may have the new one.
	 */
	f->retry_ns = rc < 0 ? clock_ns(CLOCK_MONOTONIC) + RETRY_NS : 0;
	end_trial(f);
	f->state = *before;
	f->state.reload_due |= before->phase == BP_FLEET_TRIAL || rc < 0;
	f->state.phase = BP_FLEET_TRIAL; /* as on the disk */
	if (rc == 0)
		f->state.serial = r->serial;
	f->quiet = rc < 0 && r->serial == f->repeated &&
		   strncmp(errors, f->repeated_errors, sizeof(f->repeated_errors) - 1) == 0;
	f->repeated = rc < 0 ? r->serial : 0;
	snprintf(f->repeated_errors, sizeof(f->repeated_errors), "%.511s", errors);
	restore(f, rc == 0 ? BP_FLEET_REFUSED : BP_FLEET_WAITING, errors);
	f->quiet = false;
}

/* First the state: after a crash, the next start restores the good bundle. False: it cannot be
 * written. */
static bool begin_trial(struct bp_fleet_follower *f, const struct bp_fleet_rollout *r,
	const struct bp_fleet_bundle *b)
{
	struct bp_fleet_state next = f->state;
	char err[PATH_MAX + 256];

	next.serial = r->serial;
	next.version = b->version;
	memcpy(next.sha256, b->sha256, sizeof(next.sha256));
	next.phase = BP_FLEET_TRIAL;
	next.reload_due = false;
	next.errors[0] = '\0';
	if (bp_fleet_state_write(&f->store, &next, err, sizeof(err)) != 0) {
		f->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
		f->save_due = true;
		note(f->delayed, "%.1000s", err);
		return false;
	}
	f->state = next;
	f->restore_due = false;
	f->state.phase = BP_FLEET_IDLE; /* a trial after a trial is a new phase, too */
	f->quiet = r->serial == f->repeated;
	enter(f, BP_FLEET_TRIAL, "");
	f->quiet = false;
	return true;
}

static void apply(struct bp_fleet_follower *f, const struct bp_fleet_rollout *r,
	const struct bp_fleet_bundle *b)
{
	const struct bp_fleet_state before = f->state;
	char errors[4096];
	int rc;

	if (!check(f, b, errors, sizeof(errors))) {
		if (f->baseline != NULL)
			roll_back(f, "a newer rollout, which was refused, ended the trial");
		refuse(f, r, errors);
		return;
	}
	/* the trial of a rollout that replaces one in its trial compares with the health before
	 * both */
	if (f->baseline == NULL)
		f->baseline = bp_fleet_health(f->config);
	if (!bp_fleet_is_running(f->baseline)) {
		end_trial(f);
		enter(f, BP_FLEET_WAITING, "the instance does not run");
		return;
	}
	if (!begin_trial(f, r, b)) {
		if (before.phase != BP_FLEET_TRIAL)
			end_trial(f);
		return;
	}
	rc = bp_fleet_activate(&f->store, b->text, b->len, errors, sizeof(errors));
	if (rc == 0)
		rc = reload(f, errors, sizeof(errors));
	else
		rc = 0; /* the disk: refused */
	after_reload(f, r, &before, rc, errors);
}

/* ---- which rollout ---- */

/* 1: this gateway may apply it; 0: it waits; -1 with a sentence: etcd did not answer. */
static int may_apply(struct bp_fleet_follower *f, struct bp_etcd *etcd,
	const struct bp_fleet_rollout *r, char *err, size_t err_size)
{
	char key[BP_FLEET_KEY_MAX], why[512], errors[640];
	struct bp_etcd_rows rows;
	int rc = 1;

	if (bp_fleet_is_canary(r, f->config->name))
		return 1;
	/* one by one: in a large fleet, all members together are long */
	for (unsigned i = 0; rc > 0 && i < r->n_canaries; i++) {
		bp_fleet_path(f->config->fleet.name, "members", r->canary[i], key);
		rc = bp_etcd_read(etcd, key, BP_ETCD_KEY, &rows, err, err_size) != 0 ? -1
		     : bp_fleet_canary_passed(
			       rows.n > 0 ? &rows.row[0] : NULL, r, r->canary[i], why, sizeof(why))
			     ? 1
			     : 0;
		bp_etcd_rows_free(&rows);
	}
	if (rc == 0 && f->baseline == NULL) {
		snprintf(errors, sizeof(errors), "rollout %" PRIu64 ": %s", r->serial, why);
		enter(f, BP_FLEET_WAITING, errors);
	}
	return rc;
}

/* Reads the bundle of a rollout. As may_apply(). */
static int read_bundle(struct bp_fleet_follower *f, struct bp_etcd *etcd,
	const struct bp_fleet_rollout *r, struct bp_fleet_bundle *b, char *err, size_t err_size)
{
	char key[BP_FLEET_KEY_MAX], version[24], why[512] = "";
	struct bp_etcd_rows rows;
	int rc;

	snprintf(version, sizeof(version), "%" PRIu64, r->version);
	bp_fleet_path(f->config->fleet.name, "bundles", version, key);
	rc = bp_etcd_read(etcd, key, BP_ETCD_KEY, &rows, err, err_size);
	if (rc == 0 && rows.n != 1)
		note(f->notice, "rollout %" PRIu64 ": there is no bundle %s in etcd", r->serial,
			version);
	else if (rc == 0 && bp_fleet_bundle_read(&f->keys, f->config->fleet.name, &rows.row[0], b,
				    why, sizeof(why)) != 0)
		note(f->notice, "bundle %s is refused: %s", version, why);
	else if (rc == 0 && strcmp(b->sha256, r->sha256) != 0)
		note(f->notice, "bundle %s is refused: it is not the one of rollout %" PRIu64,
			version, r->serial);
	else if (rc == 0)
		rc = 1;
	bp_etcd_rows_free(&rows);
	return rc;
}

/* The rollout that was tried, or another one with its number, after rollouts were removed. */
static void note_same(struct bp_fleet_follower *f, const struct bp_fleet_rollout *r)
{
	const bool active = f->state.phase == BP_FLEET_APPLIED || f->state.phase == BP_FLEET_TRIAL;

	if (active && strcmp(r->sha256, f->state.sha256) != 0)
		note(f->notice,
			"rollout %s has serial number %" PRIu64
			" of another one that is applied: it is refused; push it again with "
			"--serial %" PRIu64,
			r->selector, r->serial, r->serial + 1);
	else
		note(f->notice, "%s", "");
}

static int follow_rollout(struct bp_fleet_follower *f, struct bp_etcd *etcd,
	const struct bp_fleet_rollout *r, char *err, size_t err_size)
{
	struct bp_fleet_bundle bundle = {.text = NULL};
	int rc;

	if (r->serial < f->state.serial) {
		note(f->notice,
			"rollout %s has serial number %" PRIu64 ", lower than %" PRIu64
			" of the last one: it is refused as a replay; push it again with --serial "
			"%" PRIu64,
			r->selector, r->serial, f->state.serial, f->state.serial + 1);
		return 0;
	}
	if (r->serial == f->state.serial) {
		note_same(f, r);
		return 0;
	}
	/* after a failure the next attempt waits, too: each writes the bundle and the state */
	if (clock_ns(CLOCK_MONOTONIC) < f->retry_ns)
		return 0;
	rc = may_apply(f, etcd, r, err, err_size);
	if (rc == 0)
		note(f->notice, "%s", "");
	if (rc > 0)
		rc = read_bundle(f, etcd, r, &bundle, err, err_size);
	if (rc > 0) {
		note(f->notice, "%s", "");
		apply(f, r, &bundle);
	}
	free(bundle.text);
	return rc < 0 ? -1 : 0;
}

int bp_fleet_follow(struct bp_fleet_follower *f, struct bp_etcd *etcd, char *err, size_t err_size)
{
	char prefix[BP_FLEET_KEY_MAX], why[1024];
	struct bp_fleet_rollout *r = malloc(sizeof(*r));
	struct bp_etcd_rows rows = {.n = 0};
	int rc = -1, found;

	snprintf(err, err_size, "no memory");
	bp_fleet_path(f->config->fleet.name, "rollouts", "", prefix);
	if (r != NULL && bp_etcd_read(etcd, prefix, BP_ETCD_BELOW, &rows, err, err_size) == 0) {
		found = bp_fleet_choose(&f->keys, &f->config->fleet, &rows, r, why, sizeof(why));
		note(f->notice, "%s", found < 0 ? why : found == 0 ? "" : f->notice);
		rc = found > 0 ? follow_rollout(f, etcd, r, err, err_size) : 0;
	}
	bp_etcd_rows_free(&rows);
	free(r);
	return rc;
}
