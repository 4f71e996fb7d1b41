/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attack: a local user reads alarms from the spool's file; a second instance is started with the
 * same spool.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controlplane/alarms/spool.h"

#define HOUR 3600000000000ull

static void mode_is(const char *path, const char *suffix, bool must)
{
	char file[256];
	struct stat st;

	snprintf(file, sizeof(file), "%s%s", path, suffix);
	if (stat(file, &st) != 0) {
		assert_false(must);
		return;
	}
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void add(struct bp_spool *s, uint64_t id)
{
	struct bp_alarm *a = test_alarm_number(id, "alarm/x", 0);

	assert_true(bp_spool_begin(s));
	assert_int_equal(bp_spool_add(s, a), BP_SPOOL_ADDED);
	assert_true(bp_spool_commit(s));
	free(a);
}

static void private_whatever_the_umask(void **state)
{
	static const mode_t masks[] = {0, 0077, 0777};
	char dir[64], path[128];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const mode_t before = umask(0022);
		struct bp_spool *s;

		test_dir_make(dir, sizeof(dir));
		snprintf(path, sizeof(path), "%s/spool.db", dir);
		s = bp_spool_new(path, 1 << 20, HOUR);
		umask(masks[i]);
		add(s, 1);
		umask(before);
		mode_is(path, "", true);
		mode_is(path, "-wal", true);
		mode_is(path, "-shm", false);
		mode_is(path, ".lock", true);
		bp_spool_free(s);
		/* a file of an older version */
		assert_int_equal(chmod(path, 0644), 0);
		s = bp_spool_new(path, 1 << 20, HOUR);
		add(s, 2);
		assert_int_equal(bp_spool_rows(s), 2);
		mode_is(path, "", true);
		mode_is(path, "-wal", true);
		bp_spool_free(s);
		test_dir_remove(dir);
	}
}

static void one_instance_at_a_time(void **state)
{
	char dir[64], path[128], pid[32];
	struct bp_spool *first, *second;
	int status;
	pid_t child;

	(void)state;
	test_dir_make(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/spool.db", dir);
	first = bp_spool_new(path, 1 << 20, HOUR);
	assert_true(bp_spool_ready(first));
	assert_false(bp_spool_in_use(first));
	second = bp_spool_new(path, 1 << 20, HOUR);
	assert_false(bp_spool_ready(second));
	assert_true(bp_spool_in_use(second));
	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	assert_non_null(strstr(bp_spool_error(second), "in use"));
	assert_non_null(strstr(bp_spool_error(second), pid));
	assert_non_null(strstr(bp_spool_error(second), path));
	bp_spool_free(first);
	/* the lock of a killed process is free */
	child = fork();
	if (child == 0) {
		struct bp_spool *s = bp_spool_new(path, 1 << 20, HOUR);

		_exit(bp_spool_ready(s) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(bp_spool_ready(second));
	assert_false(bp_spool_in_use(second));
	bp_spool_free(second);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_whatever_the_umask),
		cmocka_unit_test(one_instance_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
