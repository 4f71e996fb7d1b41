/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "apps/biplane/instance.h"
#include "apps/biplane/monitor_pid.h"
#include "tests/unit/apps/biplane/wait_for.h"

static char dir[64];
static char err[PATH_MAX + 256];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int set_up(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/bp-instance-XXXXXX");
	err[0] = 0;
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void makes_the_directory_and_those_above(void **state)
{
	char path[128], file[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s/a/b//c/", dir);
	assert_int_equal(bp_runtime_dir_make(path, err, sizeof(err)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_int_equal(bp_runtime_dir_make(path, err, sizeof(err)), 0);

	snprintf(file, sizeof(file), "%s/a/file", dir);
	fclose(fopen(file, "w"));
	assert_int_equal(bp_runtime_dir_make(file, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "not a directory"));
	snprintf(file, sizeof(file), "%s/a/file/below", dir);
	assert_int_equal(bp_runtime_dir_make(file, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "cannot create"));
}

static void writes_its_number_and_removes_the_file(void **state)
{
	struct bp_instance_lock l;

	assert_int_equal(bp_instance_lock(&l, dir, "plant", "", 0, 0, err, sizeof(err)), 0);
	assert_int_equal(number_in(dir, "plant.pid"), getpid());
	bp_instance_unlock(&l);
	assert_int_equal(l.fd, -1);
	assert_int_equal(access(l.path, F_OK), -1);
	bp_instance_unlock(&l); /* harmless */
}

static void lists_a_monitor_while_it_runs(void **state)
{
	struct bp_instance_lock l, second;
	struct bp_monitor_seen seen;
	char sub[128], path[160];
	struct stat st;

	bp_monitor_see(dir, "plant", &seen);
	assert_false(seen.running);
	snprintf(sub, sizeof(sub), "%s/monitor", dir);
	assert_int_equal(mkdir(sub, 0755), 0); /* as the package has it */
	assert_int_equal(bp_monitor_pid_take(&l, dir, "plant", 1234567890123456789ull, "[::1]:9464",
				 err, sizeof(err)),
		0);
	snprintf(path, sizeof(path), "%s/plant-monitor.pid", sub);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	bp_monitor_see(dir, "plant", &seen);
	assert_true(seen.running);
	assert_int_equal(seen.pid, getpid());
	assert_int_equal(seen.started_ns, 1234567890123456789ull);
	assert_string_equal(seen.address, "[::1]:9464");
	bp_monitor_see(dir, "other", &seen);
	assert_false(seen.running);
	assert_int_equal(bp_monitor_pid_take(&second, dir, "plant", 1, "", err, sizeof(err)), 1);
	assert_non_null(strstr(err, "is running already"));
	bp_monitor_pid_remove(dir, "plant"); /* of a monitor that runs: nothing */
	assert_int_equal(access(path, F_OK), 0);
	bp_monitor_pid_release(&l);
	assert_int_equal(access(path, F_OK), -1);
	bp_monitor_see(dir, "plant", &seen);
	assert_false(seen.running);
}

/* The file of a monitor is another user's. */
static void distrusts_the_file_of_a_monitor(void **state)
{
	struct bp_instance_lock l;
	struct bp_monitor_seen seen;
	char text[1024], path[PATH_MAX];

	assert_int_equal(bp_monitor_pid_take(&l, dir, "plant", 1, "a\033[2J", err, sizeof(err)), 0);
	bp_monitor_see(dir, "plant", &seen);
	assert_string_equal(seen.address, "a?[2J");
	memset(text, 'x', sizeof(text));
	assert_int_equal(pwrite(l.fd, text, sizeof(text), 0), sizeof(text));
	bp_monitor_see(dir, "plant", &seen);
	assert_false(seen.running);
	snprintf(text, sizeof(text), "%d\n1\n", getpid());
	memset(text + strlen(text), 'x', sizeof(text) - strlen(text));
	assert_int_equal(pwrite(l.fd, text, sizeof(text), 0), sizeof(text));
	bp_monitor_see(dir, "plant", &seen);
	assert_true(seen.running);
	assert_true(strlen(seen.address) < BP_INSTANCE_PID_TEXT);
	memcpy(path, l.path, sizeof(path));
	close(l.fd); /* as killed */
	bp_monitor_see(dir, "plant", &seen);
	assert_false(seen.running);
	bp_monitor_pid_remove(dir, "plant");
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(symlink("/proc/self/stat", path), 0);
	bp_monitor_see(dir, "plant", &seen);
	assert_false(seen.running);
}

static void refuses_a_second_of_the_same_name_at_once(void **state)
{
	struct bp_instance_lock first, second, other;
	char number[32];

	assert_int_equal(bp_instance_lock(&first, dir, "plant", "", 0, 0, err, sizeof(err)), 0);
	/* with patience for an hour: a living holder is not waited for */
	assert_int_equal(
		bp_instance_lock(&second, dir, "plant", "", 0, 3600000, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "'plant' is running already"));
	snprintf(number, sizeof(number), "pid %ld", (long)getpid());
	assert_non_null(strstr(err, number));
	bp_instance_unlock(&second); /* not held: must not remove the first one's file */
	assert_int_equal(number_in(dir, "plant.pid"), getpid());
	assert_int_equal(bp_instance_lock(&other, dir, "clinic", "", 0, 0, err, sizeof(err)), 0);
	bp_instance_unlock(&other);
	assert_int_equal(
		bp_instance_lock(&other, dir, "plant", "dataplane", 0, 0, err, sizeof(err)), 0);
	assert_int_equal(number_in(dir, "plant-dataplane.pid"), getpid());
	bp_instance_unlock(&other);
	bp_instance_unlock(&first);
	assert_int_equal(bp_instance_lock(&second, dir, "plant", "", 0, 0, err, sizeof(err)), 0);
	bp_instance_unlock(&second);
}

/* Holds the lock in a process of its own; with `heir`, in a child of that process as well. */
static pid_t hold_elsewhere(int heir)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct bp_instance_lock l;

		if (bp_instance_lock(&l, dir, "plant", "", heir, 0, err, sizeof(err)))
			_exit(1);
		if (heir && fork() == 0) {
			char path[128];

			snprintf(path, sizeof(path), "%s/heir.tmp", dir);

			FILE *out = fopen(path, "w");

			fprintf(out, "%ld\n", (long)getpid());
			fclose(out);
			char to[128];

			snprintf(to, sizeof(to), "%s/heir", dir);
			rename(path, to);
		}
		for (;;)
			pause();
	}
	WAIT_FOR(number_in(dir, "plant.pid") == pid && (!heir || number_in(dir, "heir")));
	return pid;
}

static void a_killed_holder_leaves_no_obstacle(void **state)
{
	struct bp_instance_lock l;
	pid_t pid = hold_elsewhere(0);

	assert_int_equal(bp_instance_lock(&l, dir, "plant", "", 0, 0, err, sizeof(err)), -1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(number_in(dir, "plant.pid"), pid); /* the file is still there */
	assert_int_equal(bp_instance_lock(&l, dir, "plant", "", 0, 0, err, sizeof(err)), 0);
	assert_int_equal(number_in(dir, "plant.pid"), getpid());
	bp_instance_unlock(&l);
}

static void heirs_of_a_killed_holder_are_waited_for(void **state)
{
	struct bp_instance_lock l;

	prctl(PR_SET_CHILD_SUBREAPER, 1);

	pid_t pid = hold_elsewhere(1);
	pid_t heir = (pid_t)number_in(dir, "heir");

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(bp_instance_lock(&l, dir, "plant", "", 0, 40, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "have outlived"));

	/* a process that waits for them gets the lock after the last one */
	pid_t waiting = fork();

	assert_true(waiting >= 0);
	if (waiting == 0)
		_exit(bp_instance_lock(&l, dir, "plant", "", 0, 60000, err, sizeof(err)) ? 1 : 0);
	kill(heir, SIGKILL);
	waitpid(heir, NULL, 0);

	int status;

	assert_int_equal(waitpid(waiting, &status, 0), waiting);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(makes_the_directory_and_those_above),
		CASE(writes_its_number_and_removes_the_file),
		CASE(lists_a_monitor_while_it_runs),
		CASE(distrusts_the_file_of_a_monitor),
		CASE(refuses_a_second_of_the_same_name_at_once),
		CASE(a_killed_holder_leaves_no_obstacle),
		CASE(heirs_of_a_killed_holder_are_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
