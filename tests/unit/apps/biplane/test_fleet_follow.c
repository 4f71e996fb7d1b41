/* SPDX-License-Identifier: BSD-3-Clause */
/* What the agent of the fleet repeats: reloads, files that could not be written. No instance runs;
 * a thread answers in place of the control plane. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/biplane/fleet/follow.h"
#include "controlplane/process/control.h"
#include "shm/plane_dirs.h"

struct rig {
	struct bp_config config;
	struct bp_fleet_follower f;
	char dir[64];
	int listener;
	pthread_t thread;
	_Atomic(const char *) answer;
	atomic_uint reloads;
};

static void *serve(void *arg)
{
	struct rig *r = arg;
	char line[BP_CONTROL_LINE_MAX];
	int fd;

	while ((fd = accept(r->listener, NULL, NULL)) >= 0) {
		ssize_t n;

		/* the whole request: unread bytes would reset the connection before the answer */
		do
			n = recv(fd, line, sizeof(line), 0);
		while (n > 0 && line[n - 1] != '\n');
		if (n > 0) {
			const char *answer = atomic_load(&r->answer);

			atomic_fetch_add(&r->reloads, 1);
			send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		}
		close(fd);
	}
	return NULL;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char folder[128];

	if (r == NULL)
		return -1;
	*state = r;
	strcpy(r->dir, "/tmp/biplane-follow.XXXXXX");
	if (mkdtemp(r->dir) == NULL)
		return -1;
	strcpy(r->config.name, "gw1");
	strcpy(r->config.runtime_dir, r->dir);
	strcpy(r->config.fleet.config.directory, r->dir);
	r->config.fleet.config.given = true;
	r->answer = "{\"ok\":true}\n";
	r->f = (struct bp_fleet_follower){.path = "none", .config = &r->config};
	bp_control_dir(r->dir, folder, sizeof(folder));
	mkdir(folder, 0755);
	if (!bp_fleet_store_init(&r->f.store, &r->config) ||
		bp_control_path(r->dir, "gw1", a.sun_path, sizeof(a.sun_path)) != 0)
		return -1;
	r->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	return bind(r->listener, (struct sockaddr *)&a, sizeof(a)) != 0 ||
			       listen(r->listener, 4) != 0 ||
			       pthread_create(&r->thread, NULL, serve, r) != 0
		       ? -1
		       : 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	char command[96];

	bp_fleet_follow_end(&r->f);
	shutdown(r->listener, SHUT_RDWR);
	pthread_join(r->thread, NULL);
	close(r->listener);
	snprintf(command, sizeof(command), "rm -r %s", r->dir);
	free(r);
	return system(command);
}

/* Another process with the same files. */
static void restart(struct rig *r)
{
	bp_fleet_follow_end(&r->f);
	r->f = (struct bp_fleet_follower){
		.path = "none", .config = &r->config, .store = r->f.store};
	bp_fleet_follow_start(&r->f);
}

static struct bp_fleet_state on_disk(struct rig *r)
{
	struct bp_fleet_state s;
	char err[PATH_MAX + 256];

	assert_int_equal(bp_fleet_state_read(&r->f.store, &s, err, sizeof(err)), 0);
	return s;
}

static void sha256(const char *text, char out[BP_SHA256_HEX])
{
	bp_sha256_hex(text, strlen(text), out);
}

/* A trial of "two" after "one" had passed its own. */
static void begin_trial(struct rig *r)
{
	struct bp_fleet_state s = {
		.phase = BP_FLEET_TRIAL, .serial = 2, .version = 2, .good_version = 1};
	char err[PATH_MAX + 256];

	sha256("one", s.good_sha256);
	sha256("two", s.sha256);
	assert_int_equal(bp_fleet_activate(&r->f.store, "one", 3, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_keep(&r->f.store, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_activate(&r->f.store, "two", 3, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_state_write(&r->f.store, &s, err, sizeof(err)), 0);
}

static void expect_active(struct rig *r, const char *expected)
{
	char text[16] = "";
	FILE *f = fopen(r->f.store.active, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_string_equal(text, expected);
}

/* Makes a file impossible to replace, also for root: a folder that is not empty. */
static void block(const char *path)
{
	char inside[PATH_MAX + 8];

	unlink(path);
	snprintf(inside, sizeof(inside), "%s/x", path);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(mkdir(inside, 0755), 0);
}

static void unblock(const char *path)
{
	char inside[PATH_MAX + 8];

	snprintf(inside, sizeof(inside), "%s/x", path);
	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(rmdir(path), 0);
}

static void pending_reload_survives_a_restart(void **state)
{
	struct rig *r = *state;

	begin_trial(r);
	restart(r);
	assert_int_equal(r->f.state.phase, BP_FLEET_ROLLED_BACK);
	expect_active(r, "one");
	assert_int_equal(atomic_load(&r->reloads), 0);
	/* it ends before its first tick */
	restart(r);
	assert_int_equal(r->f.state.phase, BP_FLEET_ROLLED_BACK);
	bp_fleet_follow_tick(&r->f);
	assert_int_equal(atomic_load(&r->reloads), 1);
	/* and no more than one */
	bp_fleet_follow_tick(&r->f);
	restart(r);
	bp_fleet_follow_tick(&r->f);
	assert_int_equal(atomic_load(&r->reloads), 1);
}

static void failed_trial_is_reloaded_in_the_same_tick(void **state)
{
	struct rig *r = *state;

	begin_trial(r);
	r->f.state = on_disk(r);
	r->f.baseline = json_pack("{s[] s[i]}", "problems", "planes", 1);
	r->f.trial_end_ns = UINT64_MAX;
	bp_fleet_follow_tick(&r->f); /* no instance runs: it is worse */
	assert_int_equal(r->f.state.phase, BP_FLEET_ROLLED_BACK);
	expect_active(r, "one");
	assert_int_equal(atomic_load(&r->reloads), 1);
}

static void restore_that_fails_survives_a_restart(void **state)
{
	struct rig *r = *state;

	begin_trial(r);
	block(r->f.store.active);
	restart(r);
	assert_int_equal(r->f.state.phase, BP_FLEET_ROLLED_BACK);
	assert_non_null(strstr(r->f.delayed, "the good bundle is not stored yet: "));
	bp_fleet_follow_tick(&r->f);
	assert_int_equal(atomic_load(&r->reloads), 0);
	assert_int_equal(on_disk(r).phase, BP_FLEET_TRIAL);
	unblock(r->f.store.active);
	restart(r);
	expect_active(r, "one");
	bp_fleet_follow_tick(&r->f);
	assert_int_equal(atomic_load(&r->reloads), 1);
	assert_int_equal(on_disk(r).phase, BP_FLEET_ROLLED_BACK);
	assert_int_equal(on_disk(r).version, 1);
}

/* The disk was full when the trial passed. */
static void trial_that_passed_is_no_rollback(void **state)
{
	struct rig *r = *state;
	char err[PATH_MAX + 256];

	begin_trial(r);
	assert_int_equal(bp_fleet_keep(&r->f.store, err, sizeof(err)), 0);
	restart(r);
	assert_int_equal(r->f.state.phase, BP_FLEET_APPLIED);
	assert_int_equal(on_disk(r).good_version, 2);
	assert_string_equal(on_disk(r).good_sha256, r->f.state.sha256);
	expect_active(r, "two");
}

static void state_is_written_when_it_is_possible(void **state)
{
	struct rig *r = *state;

	begin_trial(r);
	r->f.state = on_disk(r);
	block(r->f.store.state_file);
	r->f.baseline = json_pack("{s[s] s[]}", "problems", "the instance does not run", "planes");
	bp_fleet_follow_tick(&r->f); /* the trial ends: nothing is worse */
	assert_int_equal(r->f.state.phase, BP_FLEET_APPLIED);
	assert_non_null(strstr(r->f.delayed, "gw1.json cannot be written: "));
	unblock(r->f.store.state_file);
	bp_fleet_follow_tick(&r->f);
	assert_int_equal(on_disk(r).phase, BP_FLEET_APPLIED);
	assert_int_equal(on_disk(r).good_version, 2);
	assert_string_equal(r->f.delayed, "");
}

static void reason_is_kept_while_the_reload_is_repeated(void **state)
{
	struct rig *r = *state;
	static const char reason[] = "the agent was restarted in the trial time";

	begin_trial(r);
	atomic_store(&r->answer, "{\"ok\":false,\"errors\":[\"a worker hangs\"]}\n");
	restart(r);
	bp_fleet_follow_tick(&r->f);
	assert_string_equal(r->f.state.errors, reason);
	assert_string_equal(r->f.delayed, "the good bundle is not active yet: a worker hangs");
	atomic_store(&r->answer, "{\"ok\":true}\n");
	r->f.retry_ns = 0;
	bp_fleet_follow_tick(&r->f);
	assert_int_equal(atomic_load(&r->reloads), 2);
	assert_string_equal(r->f.state.errors, reason);
	assert_string_equal(r->f.delayed, "");
	assert_string_equal(on_disk(r).errors, reason);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(pending_reload_survives_a_restart),
		CASE(failed_trial_is_reloaded_in_the_same_tick),
		CASE(restore_that_fails_survives_a_restart),
		CASE(trial_that_passed_is_no_rollback),
		CASE(state_is_written_when_it_is_possible),
		CASE(reason_is_kept_while_the_reload_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
