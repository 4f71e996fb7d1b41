/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attack: a local user with write access to the control socket sends requests as fast as possible,
 * or reloads of an invalid file. Without a limit this gave 69 MB of log in 25 s and a blocked
 * control plane.
 */
#include "test.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "controlplane/process/control.h"
#include "daemon/log.h"

struct fixture {
	char dir[64], path[128];
	struct event_base *base;
	struct bp_control *control;
	unsigned reloads, statuses;
};

static void on_reload(void *arg, const json_t *request, uint64_t client)
{
	struct fixture *f = arg;

	(void)request;
	f->reloads++;
	bp_control_reply(f->control, client, bp_control_refusal("a bad file"));
}

static json_t *on_status(void *arg, const json_t *request)
{
	struct fixture *f = arg;

	(void)request;
	f->statuses++;
	return json_pack("{s:b}", "ok", 1);
}

static const struct bp_control_command commands[] = {
	{.name = "reload", .begin = on_reload, .reload = true},
	{.name = "status", .answer = on_status},
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char err[256];

	test_dir_make(f->dir, sizeof(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/test.sock", f->dir);
	f->base = event_base_new();
	f->control = bp_control_new(f->base, f->path, err, sizeof(err));
	assert_non_null(f->control);
	assert_int_equal(bp_control_add(f->control, commands, 2, f), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_control_free(f->control);
	event_base_free(f->base);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static int client(const struct fixture *f)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", f->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Sends n lines over several connections, and counts the answers. */
static void flood(struct fixture *f, const char *request, unsigned n, unsigned *refused)
{
	char answer[4096];
	unsigned answers = 0;

	*refused = 0;
	while (answers < n) {
		int fd = client(f);

		for (unsigned i = 0; i < 50; i++)
			assert_int_equal(
				send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
		for (unsigned got = 0; got < 50;) {
			ssize_t size = recv(fd, answer, sizeof(answer), 0);

			if (size < 0) {
				assert_int_equal(errno, EAGAIN);
				event_base_loop(f->base, EVLOOP_NONBLOCK);
				continue;
			}
			assert_true(size > 0);
			for (ssize_t i = 0; i < size; i++) {
				got += answer[i] == '\n';
				*refused += answer[i] == 'u' && i + 3 < size &&
					    memcmp(&answer[i], "user", 4) == 0;
			}
		}
		close(fd);
		answers += 50;
	}
}

static void reloads_are_bounded(void **state)
{
	struct fixture *f = *state;
	const uint64_t began = test_now_ns();
	unsigned refused;

	flood(f, "{\"command\":\"reload\"}\n", 5000, &refused);
	const uint64_t seconds = (test_now_ns() - began) / 1000000000u + 1;

	assert_true(f->reloads >= BP_CONTROL_RELOADS_BURST);
	assert_true(f->reloads <= BP_CONTROL_RELOADS_BURST + BP_CONTROL_RELOADS_S * seconds);
}

static void requests_are_bounded(void **state)
{
	struct fixture *f = *state;
	const uint64_t began = test_now_ns();
	unsigned refused;

	flood(f, "{\"command\":\"status\"}\n", 5000, &refused);
	const uint64_t seconds = (test_now_ns() - began) / 1000000000u + 1;

	assert_true(f->statuses >= BP_CONTROL_REQUESTS_BURST);
	assert_true(f->statuses <= BP_CONTROL_REQUESTS_BURST + BP_CONTROL_REQUESTS_S * seconds);
	assert_true(refused > 0);
}

/* Of many messages one is written; the next that is written says how many were not. */
static void log_is_bounded(void **state)
{
	struct bp_log_limit limit = {0};
	uint64_t left_out = 99;

	(void)state;
	assert_true(bp_log_may(&limit, &left_out));
	assert_int_equal(left_out, 0);
	for (unsigned i = 0; i < 1000; i++)
		assert_false(bp_log_may(&limit, &left_out));
	limit.last_ns -= BP_LOG_EVERY_NS;
	assert_true(bp_log_may(&limit, &left_out));
	assert_int_equal(left_out, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reloads_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(requests_are_bounded, setup, teardown),
		cmocka_unit_test(log_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
