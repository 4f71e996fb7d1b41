/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket against clients of every kind. */
#include "tests/unit/controlplane/test.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "controlplane/process/control.h"

struct fixture {
	char dir[64], path[128];
	struct event_base *base;
	struct bp_control *control;
	uint64_t reloading[64]; /* clients that wait */
	unsigned reloads;
};

static void on_reload(void *arg, const json_t *request, uint64_t client)
{
	struct fixture *f = arg;

	assert_true(json_is_object(request));
	f->reloading[f->reloads++ % 64] = client;
}

static json_t *on_status(void *arg, const json_t *request)
{
	(void)arg;
	(void)request;
	return json_pack("{s:b, s:i}", "ok", 1, "answer", 42);
}

static json_t *on_config(void *arg, const json_t *request)
{
	(void)arg;
	(void)request;
	return json_pack("{s:b, s:s}", "ok", 1, "config", "name: test\n");
}

/* Tells what it was given. */
static json_t *on_release(void *arg, const json_t *request)
{
	const char *id = json_string_value(json_object_get(request, "id"));

	(void)arg;
	return id != NULL ? json_pack("{s:b, s:s}", "ok", 1, "of", id)
			  : bp_control_refusal("nobody");
}

static const struct bp_control_command offered[] = {
	{.name = "reload", .begin = on_reload, .reload = true, .for_agent = true},
	{.name = "status", .answer = on_status},
	{.name = "config", .answer = on_config},
};
/* Of another owner. */
static const struct bp_control_command release[] = {
	{.name = "sessions-release", .members = ",\"id\":...", .answer = on_release}};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char err[256];

	test_dir_make(f->dir, sizeof(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/test.sock", f->dir);
	f->base = event_base_new();
	f->control = bp_control_new(f->base, f->path, err, sizeof(err));
	assert_non_null(f->control);
	assert_int_equal(bp_control_add(f->control, offered, 3, f), 0);
	assert_int_equal(bp_control_add(f->control, release, 1, NULL), 0);
	assert_int_equal(bp_control_add(f->control, offered, BP_CONTROL_COMMANDS_MAX - 3, f), -1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_control_free(f->control);
	assert_int_equal(access(f->path, F_OK), -1);
	event_base_free(f->base);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static int client(const struct fixture *f)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s", f->path) <
		    sizeof(a.sun_path));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Runs the loop until the client has a line, or is closed (then ""). */
static const char *line(struct fixture *f, int fd)
{
	static char text[8192];
	size_t n = 0;
	uint64_t end = test_now_ns() + TEST_DEADLINE_NS;

	while (test_now_ns() < end) {
		ssize_t got = recv(fd, text + n, 1, 0);

		if (got == 1 && text[n] == '\n') {
			text[n] = '\0';
			return text;
		}
		if (got == 0 || (got < 0 && errno != EAGAIN))
			return "";
		if (got == 1)
			n++;
		else
			event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	fail_msg("no line came");
	return NULL;
}

#define STATUS "{\"command\":\"status\"}\n"
#define STATUS_ANSWER "{\"ok\":true,\"answer\":42}"
#define RELOAD "{\"command\":\"reload\"}\n"

static void commands_are_answered_in_pieces_and_pipelined(void **state)
{
	struct fixture *f = *state;
	int fd = client(f);
	struct stat st;

	say(fd, STATUS);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	/* In pieces, and two in one. */
	say(fd, "{\"command\"");
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	say(fd, ":\"status\"}\n" STATUS);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	say(fd, "{\"command\":\"config\"}\n");
	assert_string_equal(line(f, fd), "{\"ok\":true,\"config\":\"name: test\\n\"}");
	close(fd);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
}

static void invalid_input_is_rejected(void **state)
{
	static const char *const nonsense[] = {"\n", "reload\n", "[]\n", "{}\n",
		"{\"command\":1}\n", "{\"command\":\"format\"}\n",
		"{\"command\":\"reload\",\"command\":\"reload\"}\n", "\"\xff\"\n",
		"{\"command\":\"rel\\u0000oad\"}\n"};
	struct fixture *f = *state;
	int fd = client(f);

	for (unsigned i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		say(fd, nonsense[i]);
		assert_int_equal(strncmp(line(f, fd), "{\"ok\":false,\"errors\":[\"", 23), 0);
	}
	assert_int_equal(f->reloads, 0);
	say(fd, STATUS);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	close(fd);
}

static void restricted_user_may_only_do_its_work(void **state)
{
	struct fixture *f = *state;
	int fd = client(f);

	bp_control_restrict(f->control, getuid());
	say(fd, STATUS);
	assert_non_null(strstr(line(f, fd), "this user may only reload and report"));
	say(fd, "{\"command\":\"sessions-release\",\"id\":\"1\"}\n");
	assert_non_null(strstr(line(f, fd), "this user may only reload and report"));
	say(fd, RELOAD);
	while (f->reloads == 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	bp_control_reply(f->control, f->reloading[0], json_pack("{s:b}", "ok", 1));
	assert_string_equal(line(f, fd), "{\"ok\":true}");
	close(fd);
	/* others are not affected */
	bp_control_restrict(f->control, getuid() + 1);
	fd = client(f);
	say(fd, STATUS);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	close(fd);
}

static void answers_later_and_in_order(void **state)
{
	struct fixture *f = *state;
	int fd = client(f), other = client(f);

	say(fd, RELOAD STATUS RELOAD);
	while (f->reloads == 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	/* Others are served meanwhile; this client's next line waits. */
	say(other, STATUS);
	assert_string_equal(line(f, other), STATUS_ANSWER);
	assert_int_equal(f->reloads, 1);
	bp_control_reply(f->control, f->reloading[0], json_pack("{s:b}", "ok", 1));
	assert_string_equal(line(f, fd), "{\"ok\":true}");
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	while (f->reloads == 1)
		event_base_loop(f->base, EVLOOP_ONCE);
	/* A client that disconnected: the answer is discarded. */
	close(fd);
	bp_control_reply(f->control, f->reloading[1], json_pack("{s:b}", "ok", 1));
	bp_control_reply(f->control, 987654, json_pack("{s:b}", "ok", 1));
	say(other, STATUS);
	assert_string_equal(line(f, other), STATUS_ANSWER);
	close(other);
}

/* As `echo ... | nc -N` does: the last word is said, the answers are awaited. */
static void half_closed_client_is_answered(void **state)
{
	struct fixture *f = *state;
	int fd = client(f);

	say(fd, RELOAD);
	shutdown(fd, SHUT_WR);
	while (f->reloads == 0)
		event_base_loop(f->base, EVLOOP_ONCE);
	for (unsigned i = 0; i < 5; i++)
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	/* More than the socket takes at once: it must not be closed before all is written. */
	char *text = calloc(1, 700001), *got = malloc(8192);
	size_t total = 0;

	memset(text, 'x', 700000);
	bp_control_reply(f->control, f->reloading[0], json_pack("{s:s}", "text", text));
	for (ssize_t n = -1; n != 0;) {
		n = recv(fd, got, 8192, 0);
		assert_true(n >= 0 || errno == EAGAIN);
		total += n > 0 ? (size_t)n : 0;
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(total, strlen("{\"text\":\"\"}\n") + 700000);
	free(text);
	free(got);
	close(fd);
}

static void long_line_is_cut_off(void **state)
{
	struct fixture *f = *state;
	char *text = malloc(BP_CONTROL_LINE_MAX * 2);
	int fd = client(f);

	/* The longest line that is taken. */
	snprintf(text, BP_CONTROL_LINE_MAX * 2, "%*s", (int)BP_CONTROL_LINE_MAX + 1, STATUS);
	assert_int_equal(strlen(text), BP_CONTROL_LINE_MAX + 1);
	say(fd, text);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	/* One byte more without an end. */
	memset(text, ' ', BP_CONTROL_LINE_MAX + 1);
	text[BP_CONTROL_LINE_MAX + 1] = '\0';
	say(fd, text);
	assert_string_equal(line(f, fd), "{\"ok\":false,\"errors\":[\"the line is too long\"]}");
	assert_string_equal(line(f, fd), "");
	close(fd);
	free(text);
}

static void is_answered(struct fixture *f, int fd)
{
	say(fd, STATUS);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
}

/* More clients than there is room for: the quietest is closed, the others are served. */
static void clients_are_bounded(void **state)
{
	struct fixture *f = *state;
	int fd[BP_CONTROL_CLIENTS_MAX + 1];

	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++) {
		fd[i] = client(f);
		is_answered(f, fd[i]);
	}
	is_answered(f, fd[0]);
	fd[BP_CONTROL_CLIENTS_MAX] = client(f);
	is_answered(f, fd[BP_CONTROL_CLIENTS_MAX]);
	assert_string_equal(line(f, fd[1]), "");
	for (unsigned i = 0; i <= BP_CONTROL_CLIENTS_MAX; i++) {
		if (i != 1)
			is_answered(f, fd[i]);
		close(fd[i]);
	}
}

/* Clients that never send a request do not block others. */
static unsigned libevent_lines;

static void on_libevent_line(int severity, const char *text)
{
	(void)severity;
	(void)text;
	libevent_lines++;
}

/* Without a descriptor for it, a client waits: the loop neither spins nor fills the log. */
static void client_waits_for_a_descriptor(void **state)
{
	struct fixture *f = *state;
	int fd = client(f), last = dup(fd);
	const uint64_t end = test_now_ns() + 300000000;
	struct rlimit was, none;
	unsigned turns = 0;

	assert_true(last > fd);
	close(last);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)last, .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	event_set_log_callback(on_libevent_line);
	for (; test_now_ns() < end; turns++)
		event_base_loop(f->base, EVLOOP_ONCE);
	event_set_log_callback(NULL);
	assert_int_equal(libevent_lines, 0);
	assert_in_range(turns, 1, 20);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	say(fd, STATUS);
	assert_string_equal(line(f, fd), STATUS_ANSWER);
	close(fd);
}

static void silent_client_blocks_no_other(void **state)
{
	struct fixture *f = *state;
	int fd[200];

	for (unsigned i = 0; i < 200; i++) {
		fd[i] = client(f);
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	const int last = client(f);

	is_answered(f, last);
	for (unsigned i = 0; i < 200; i++)
		close(fd[i]);
	is_answered(f, last);
	close(last);
}

/* Waiting clients get their answers; a new one is rejected and asked to retry. */
static void all_wait_for_answers(void **state)
{
	struct fixture *f = *state;
	int fd[BP_CONTROL_CLIENTS_MAX], more;

	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++) {
		fd[i] = client(f);
		say(fd[i], RELOAD);
		while (f->reloads == i)
			event_base_loop(f->base, EVLOOP_ONCE);
	}
	more = client(f);
	assert_non_null(strstr(
		line(f, more), "\"ok\":false,\"retry\":true,\"errors\":[\"too many clients"));
	assert_string_equal(line(f, more), "");
	close(more);
	for (unsigned i = 0; i < BP_CONTROL_CLIENTS_MAX; i++) {
		bp_control_reply(f->control, f->reloading[i], json_pack("{s:b}", "ok", 1));
		assert_string_equal(line(f, fd[i]), "{\"ok\":true}");
		close(fd[i]);
	}
}

/* A client that sends requests and never reads is closed, and delays no other. */
static void client_that_never_reads(void **state)
{
	struct fixture *f = *state;
	int rude = client(f), fd = client(f);
	uint64_t end = test_now_ns() + TEST_DEADLINE_NS;
	bool closed = false;
	const char *answered;

	while (!closed && test_now_ns() < end) {
		ssize_t n = send(rude, STATUS, strlen(STATUS), MSG_NOSIGNAL);

		closed = n < 0 && errno != EAGAIN;
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	assert_true(closed);
	/* Both are of one user, whose requests are refused for a few milliseconds more. */
	do {
		say(fd, STATUS);
		answered = line(f, fd);
	} while (strstr(answered, "too many requests") != NULL);
	assert_string_equal(answered, STATUS_ANSWER);
	close(rude);
	close(fd);
}

/* ---- the client's side ---- */

struct serve {
	struct fixture *f;
	atomic_bool stop;
};

static void *serve_main(void *arg)
{
	struct serve *s = arg;

	while (!s->stop) {
		event_base_loop(s->f->base, EVLOOP_NONBLOCK);
		if (s->f->reloads != 0) {
			json_t *errors = json_array();

			for (unsigned i = 0; i < 2000; i++)
				json_array_append_new(errors, json_sprintf("line %u: wrong", i));
			bp_control_reply(s->f->control, s->f->reloading[0],
				json_pack("{s:b, s:o}", "ok", 0, "errors", errors));
			s->f->reloads = 0;
		}
		test_nap();
	}
	return NULL;
}

static void request_returns_the_answer(void **state)
{
	struct fixture *f = *state;
	struct serve s = {.f = f};
	pthread_t thread;
	char err[512];
	json_t *reply;

	pthread_create(&thread, NULL, serve_main, &s);
	assert_int_equal(bp_control_request(f->path, "status", &reply, err, sizeof(err)), 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "answer")), 42);
	json_decref(reply);
	/* An answer of many kilobytes. */
	assert_int_equal(bp_control_request(f->path, "reload", &reply, err, sizeof(err)), 0);
	assert_true(json_is_false(json_object_get(reply, "ok")));
	assert_int_equal(json_array_size(json_object_get(reply, "errors")), 2000);
	json_decref(reply);
	/* A command with more in it than its name. */
	assert_int_equal(
		bp_control_call(f->path,
			json_pack("{s:s, s:s}", "command", "sessions-release", "id", "a \"b\""),
			&reply, err, sizeof(err)),
		0);
	assert_string_equal(json_string_value(json_object_get(reply, "of")), "a \"b\"");
	json_decref(reply);
	assert_int_equal(
		bp_control_request(f->path, "sessions-release", &reply, err, sizeof(err)), 0);
	assert_true(json_is_false(json_object_get(reply, "ok")));
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(reply, "errors"), 0)), "nobody");
	json_decref(reply);
	s.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(
		bp_control_request("/nowhere/x.sock", "status", &reply, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "/nowhere/x.sock"));
	assert_null(reply);
	char longer[301];

	memset(longer, 'x', 300);
	longer[300] = '\0';
	assert_int_equal(bp_control_request(longer, "status", &reply, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "too long"));
}

static void old_socket_is_replaced(void **state)
{
	struct fixture *f = *state;
	char err[256], path[128], longer[256];
	struct bp_control *c;

	snprintf(path, sizeof(path), "%s/other.sock", f->dir);
	test_write_file(path, "left over");
	c = bp_control_new(f->base, path, err, sizeof(err));
	assert_non_null(c);
	bp_control_free(c);
	memset(longer, 'a', sizeof(longer));
	longer[200] = '\0';
	assert_null(bp_control_new(f->base, longer, err, sizeof(err)));
	assert_non_null(strstr(err, "too long"));
	assert_null(bp_control_new(f->base, "/nowhere/x.sock", err, sizeof(err)));
	assert_non_null(strstr(err, "/nowhere/x.sock"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			commands_are_answered_in_pieces_and_pipelined, setup, teardown),
		cmocka_unit_test_setup_teardown(invalid_input_is_rejected, setup, teardown),
		cmocka_unit_test_setup_teardown(
			restricted_user_may_only_do_its_work, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_later_and_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(half_closed_client_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(long_line_is_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(client_waits_for_a_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(silent_client_blocks_no_other, setup, teardown),
		cmocka_unit_test_setup_teardown(all_wait_for_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(client_that_never_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(request_returns_the_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(old_socket_is_replaced, setup, teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
