/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/notify.h"

static int fd = -1;

static const char *received(void)
{
	static char text[512];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Listens on NOTIFY_SOCKET in the abstract namespace: no file to remove. */
static int listen_at(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const size_t n = strlen(name);

	memcpy(a.sun_path, name, n);
	a.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return bind(
		fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

static int open_socket(void **state)
{
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@biplane-test-%ld", (long)getpid());
	return listen_at(name);
}

static int close_socket(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	return close(fd);
}

static void test_messages(void **state)
{
	(void)state;
	assert_true(bp_notify_ready());
	assert_string_equal(received(), "READY=1");
	assert_true(bp_notify_alive());
	assert_string_equal(received(), "WATCHDOG=1");
	assert_true(bp_notify_status("%u ports", 3));
	assert_string_equal(received(), "STATUS=3 ports");
	assert_true(bp_notify_stopping());
	assert_string_equal(received(), "STOPPING=1");
	assert_string_equal(received(), "");
}

/* Abstract names are not terminated: one may fill the whole field. A longer one is invalid. */
static void test_the_longest_name(void **state)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 2] = "";

	(void)state;
	close(fd);
	snprintf(name, sizeof(name), "@biplane-test-%0*ld", (int)sizeof(name) - 16, (long)getpid());
	assert_int_equal(strlen(name), sizeof(name) - 2);
	assert_int_equal(listen_at(name), 0);
	assert_true(bp_notify_ready());
	assert_string_equal(received(), "READY=1");
	name[sizeof(name) - 2] = 'x';
	setenv("NOTIFY_SOCKET", name, 1);
	assert_true(bp_notify_ready());
	assert_string_equal(received(), "");
}

/* A line that is too long is cut, and says no more than it is: no other message is in it. */
static void test_a_long_status(void **state)
{
	char line[1000];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	assert_true(bp_notify_status("%s", line));
	line[255 - 7] = '\0';
	assert_string_equal(received() + 7, line);
}

/* No one reads: no message waits, and what found no room can be said once there is some. */
static void test_a_manager_that_does_not_read(void **state)
{
	unsigned taken = 0;

	(void)state;
	alarm(20); /* a message that waited would wait for ever */
	while (taken < 100000 && bp_notify_alive())
		taken++;
	assert_in_range(taken, 1, 99999);
	assert_false(bp_notify_ready());
	assert_false(bp_notify_status("no room"));
	assert_false(bp_notify_stopping());
	assert_string_equal(received(), "WATCHDOG=1");
	assert_true(bp_notify_ready());
	while (taken-- > 1)
		assert_string_equal(received(), "WATCHDOG=1");
	assert_string_equal(received(), "READY=1");
	assert_string_equal(received(), "");
	alarm(0);
}

/* No message again: there is no receiver. */
static void test_manager_disconnects(void **state)
{
	(void)state;
	setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
	assert_true(bp_notify_ready());
	setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
	assert_true(bp_notify_ready());
	unsetenv("NOTIFY_SOCKET");
}

static void test_watchdog(void **state)
{
	char pid[24];

	(void)state;
	unsetenv("WATCHDOG_USEC");
	assert_int_equal(bp_notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "10000000", 1);
	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(bp_notify_watchdog_ns(), 10000000000ull);
	/* it is asked of another process */
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(bp_notify_watchdog_ns(), 0);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

static void test_without_a_manager(void **state)
{
	(void)state;
	assert_true(bp_notify_ready());
	assert_true(bp_notify_alive());
	assert_true(bp_notify_status("nobody listens"));
	assert_true(bp_notify_stopping());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_messages, open_socket, close_socket),
		cmocka_unit_test_setup_teardown(test_the_longest_name, open_socket, close_socket),
		cmocka_unit_test_setup_teardown(test_a_long_status, open_socket, close_socket),
		cmocka_unit_test_setup_teardown(
			test_a_manager_that_does_not_read, open_socket, close_socket),
		cmocka_unit_test(test_manager_disconnects),
		cmocka_unit_test(test_watchdog),
		cmocka_unit_test(test_without_a_manager),
	};

	unsetenv("NOTIFY_SOCKET");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
