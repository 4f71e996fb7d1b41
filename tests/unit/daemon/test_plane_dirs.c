/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/plane_dirs.h"

#define GROUP 64102 /* that no one is in */

static char top[64], data[128], control[128];

static int make(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/biplane-test-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(control, sizeof(control), "%s/control", top);
	snprintf(data, sizeof(data), "%s/data", top);
	return 0;
}

static int removed(void **state)
{
	char file[160];

	(void)state;
	snprintf(file, sizeof(file), "%s/file", data);
	unlink(file);
	rmdir(data);
	rmdir(control);
	return rmdir(top);
}

static void test_own_directory_is_used(void **state)
{
	char dir[PATH_MAX], huge[128];

	(void)state;
	assert_true(bp_control_dir(top, dir, sizeof(dir)));
	assert_string_equal(dir, top);
	assert_true(bp_data_dir(top, dir, sizeof(dir)));
	assert_string_equal(dir, top);
	assert_int_equal(mkdir(control, 0700) | mkdir(data, 0700), 0);
	assert_true(bp_control_dir(top, dir, sizeof(dir)));
	assert_string_equal(dir, control);
	assert_true(bp_data_dir(top, dir, sizeof(dir)));
	assert_string_equal(dir, data);
	assert_true(bp_huge_dir("/", top, dir, sizeof(dir)));
	assert_string_equal(dir, "/");
	snprintf(huge, sizeof(huge), "%s/biplane", top);
	assert_int_equal(mkdir(huge, 0700), 0);
	assert_true(bp_huge_dir(top, top, dir, sizeof(dir)));
	assert_string_equal(dir, huge);
	/* not for a runtime directory of another kind */
	assert_true(bp_huge_dir(top, "/nowhere", dir, sizeof(dir)));
	assert_string_equal(dir, top);
	rmdir(huge);
	assert_false(bp_control_dir(top, dir, 8));
}

static void test_file_is_given_to_its_group(void **state)
{
	char file[160];
	struct stat st;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(file, sizeof(file), "%s/file", data);
	assert_int_equal(mkdir(data, 0700), 0);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(bp_control_share(fd, file, 0664), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(mkdir(control, 0700), 0);
	assert_int_equal(chown(control, 0, GROUP), 0);
	assert_int_equal(bp_control_share(fd, file, 0664), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0664);
	assert_int_equal(st.st_gid, GROUP);
	/* another owner's directory is not changed */
	assert_int_equal(fchown(fd, GROUP, 0), 0);
	assert_int_equal(bp_control_share(fd, file, 0600), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0664);
	assert_int_equal(st.st_gid, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_directory_is_used, make, removed),
		cmocka_unit_test_setup_teardown(test_file_is_given_to_its_group, make, removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
