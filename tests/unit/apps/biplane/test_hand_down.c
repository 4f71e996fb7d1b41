/* SPDX-License-Identifier: BSD-3-Clause */
/* File descriptors passed to a started program: which ones, their numbers, and the environment
 * variables that describe them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/biplane/run/hand_down.h"

/* Output of a shell that is started with them; its pid in *pid. */
static void started(
	const struct bp_hand_down *h, const char *script, char *said, size_t size, long *pid)
{
	size_t n = 0;
	ssize_t got;
	int out[2], status;
	pid_t child;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		if (bp_hand_down(h) == 0)
			execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(99);
	}
	close(out[1]);
	while ((got = read(out[0], said + n, size - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	*pid = child;
}

#define TELL                                                                                       \
	"echo $$ ${LISTEN_PID-none} ${LISTEN_FDS-none} ${LISTEN_FDNAMES-none};"                    \
	"cat <&3; cat <&4; test -e /proc/$$/fd/5 && echo five; true"

/* Descriptors of files with one line each, whichever numbers they get. */
static int with_line(const char *line, int number)
{
	char path[] = "/tmp/bp-hand-down-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, line, strlen(line)), (ssize_t)strlen(line));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (fd != number) {
		assert_int_equal(dup3(fd, number, O_CLOEXEC), number);
		close(fd);
	}
	return number;
}

/* Also where one has the number that is another's in the new program, both ways round. */
static void descriptors_become_three_and_four(void **state)
{
	static const int numbers[][2] = {{20, 21}, {3, 4}, {4, 3}, {4, 5}, {20, 3}};

	(void)state;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct bp_hand_down h = {0};
		char said[256], expected[256];
		long pid;

		bp_hand_down_add(&h, with_line("first\n", numbers[i][0]), "a");
		bp_hand_down_add(&h, -1, "none");
		bp_hand_down_add(&h, with_line("second\n", numbers[i][1]), "b-c");
		assert_int_equal(h.n, 2);
		started(&h, TELL, said, sizeof(said), &pid);
		snprintf(expected, sizeof(expected), "%ld %ld 2 a:b-c\nfirst\nsecond\n", pid, pid);
		assert_string_equal(said, expected);
		close(numbers[i][0]);
		close(numbers[i][1]);
	}
}

/* A plane that is given none must not take a service manager's for its own. */
static void none_are_reported(void **state)
{
	const struct bp_hand_down h = {0};
	char said[256], expected[64];
	long pid;

	(void)state;
	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDS", "2", 1);
	setenv("LISTEN_FDNAMES", "x:y", 1);
	with_line("not for it\n", 3);
	started(&h,
		"echo $$ ${LISTEN_PID-none} ${LISTEN_FDS-none} ${LISTEN_FDNAMES-none};"
		"test -e /proc/$$/fd/3 && echo three; true",
		said, sizeof(said), &pid);
	snprintf(expected, sizeof(expected), "%ld none none none\n", pid);
	assert_string_equal(said, expected);
	close(3);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

/* The lock that a plane is to hold (bp_instance_lock() with `inherit`) may have number 3. */
static void other_inherited_descriptors_stay_open(void **state)
{
	struct bp_hand_down h = {0};
	char path[] = "/tmp/bp-hand-down-lock-XXXXXX", script[512], said[256];
	int fd = mkstemp(path);
	long pid;

	(void)state;
	assert_true(fd >= 0);
	if (fd != 3) {
		assert_int_equal(dup2(fd, 3), 3);
		close(fd);
	}
	assert_int_equal(flock(3, LOCK_EX), 0);
	bp_hand_down_add(&h, with_line("first\n", 20), "a");
	snprintf(script, sizeof(script),
		"cat <&3; for f in /proc/$$/fd/*; do readlink $f; done | grep -c '^%s$'", path);
	started(&h, script, said, sizeof(said), &pid);
	assert_string_equal(said, "first\n1\n");
	close(3);
	close(20);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_become_three_and_four),
		cmocka_unit_test(none_are_reported),
		cmocka_unit_test(other_inherited_descriptors_stay_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
