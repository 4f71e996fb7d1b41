/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of the monitor's HTTP server and their bounds, over socket pairs. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "apps/biplane/monitor/event_stream.h"
#include "apps/biplane/monitor/http.h"
#include "apps/biplane/monitor/monitor.h"

#define MAX 4u
#define S 1000000000ull

static struct bp_config config;
static struct bp_monitor monitor;
static struct bp_http *http;
static char reply[1 << 17];

static int begin(void **state)
{
	char err[512];

	(void)state;
	memset(&config, 0, sizeof(config));
	config.monitoring.listen = (struct bp_config_listen){.kind = BP_LISTEN_UNIX};
	config.monitoring.max_connections = MAX;
	memset(&monitor, 0, sizeof(monitor));
	monitor.config = &config;
	strcpy(monitor.instance.name, "no-such-instance");
	strcpy(monitor.instance.runtime_dir, "/nonexistent");
	monitor.instance.no_hugepages = true;
	memset(&bp_monitor_counters, 0, sizeof(bp_monitor_counters));
	http = bp_http_new(&monitor, -1, err, sizeof(err));
	return http != NULL ? 0 : -1;
}

static int finish(void **state)
{
	(void)state;
	bp_http_free(http);
	return 0;
}

/* What the loop of the monitor does, as long as there is work. */
static void run(void)
{
	struct pollfd p = {.fd = bp_http_fd(http), .events = POLLIN};

	do
		bp_http_run(http);
	while (poll(&p, 1, 0) > 0 || bp_http_timeout_ms(http) == 0);
}

static int client(void)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(bp_http_add(http, fd[1]), 0);
	run();
	return fd[0];
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	run();
}

/* What has arrived; NULL: the connection is closed, and nothing has. */
static const char *heard(int fd)
{
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, reply + len, sizeof(reply) - 1 - len, 0)) > 0) {
		len += (size_t)n;
		run();
	}
	reply[len] = '\0';
	return len == 0 && n == 0 ? NULL : reply;
}

static bool is_open(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

static void assert_heard(int fd, const char *what)
{
	const char *text = heard(fd);

	if (text == NULL || strstr(text, what) == NULL)
		fail_msg("expected '%s', got: %s", what, text != NULL ? text : "(closed)");
}

#define LIVE "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

static void requests_are_answered_on_one_connection(void **state)
{
	int fd = client();

	(void)state;
	say(fd, LIVE);
	assert_heard(fd, "HTTP/1.1 200 OK\r\n");
	assert_non_null(strstr(reply, "X-Content-Type-Options: nosniff\r\n"));
	assert_non_null(strstr(reply, "Content-Security-Policy: default-src 'none'; "));
	assert_non_null(strstr(reply, "Cache-Control: no-store\r\n"));
	assert_null(strstr(reply, "Access-Control"));
	assert_non_null(strstr(reply, "\r\n\r\n{\"live\":true}"));
	say(fd, "HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_heard(fd, "HTTP/1.1 200 OK\r\n");
	assert_null(strstr(reply, "live"));
	/* one byte after the other */
	for (const char *p = LIVE; *p != '\0'; p++)
		say(fd, (const char[]){*p, '\0'});
	assert_heard(fd, "{\"live\":true}");
	/* pipelined */
	say(fd, LIVE LIVE LIVE);
	assert_heard(fd, "{\"live\":true}HTTP/1.1 200 OK");
	assert_int_equal(bp_monitor_counters.requests, 6);
	close(fd);
	run();
	assert_int_equal(bp_monitor_counters.connections, 0);
	assert_int_equal(bp_monitor_counters.incomplete, 0);
	assert_int_equal(bp_monitor_counters.aborted, 0);
	assert_int_equal(bp_monitor_counters.answer_bytes, 0);
}

static void slow_clients_make_room_for_new_ones(void **state)
{
	int slow[MAX], fd;

	(void)state;
	for (unsigned i = 0; i < MAX; i++) {
		slow[i] = client();
		say(slow[i], "GET /livez HTTP/1.1\r\nX: ");
	}
	for (unsigned i = 0; i < 100; i++) {
		fd = client();
		assert_int_equal(bp_monitor_counters.connections, MAX);
		say(fd, LIVE);
		assert_heard(fd, "{\"live\":true}");
		close(fd);
		run();
	}
	assert_false(is_open(slow[0])); /* it had waited longest */
	assert_true(is_open(slow[1]));
	assert_int_equal(bp_monitor_counters.evicted, 1);
	assert_int_equal(bp_monitor_counters.incomplete, 1);
	assert_int_equal(bp_monitor_counters.requests, 100);
	for (unsigned i = 0; i < MAX; i++)
		close(slow[i]);
	run();
	assert_int_equal(bp_monitor_counters.connections, 0);
}

static void a_thousand_slow_clients_are_bounded(void **state)
{
	static int slow[1000];
	int fd;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		slow[i] = client();
		send(slow[i], "GET / HTTP/1.1\r\nX: a", 20, MSG_NOSIGNAL);
		run();
		assert_true(bp_monitor_counters.connections <= MAX);
	}
	assert_int_equal(bp_monitor_counters.accepted, 1000);
	assert_int_equal(bp_monitor_counters.evicted, 1000 - MAX);
	fd = client();
	say(fd, LIVE);
	assert_heard(fd, "{\"live\":true}");
	close(fd);
	for (unsigned i = 0; i < 1000; i++)
		close(slow[i]);
}

/* They ask, and read nothing: their answers fill the buffers of their sockets. */
static void clients_that_do_not_read_make_room(void **state)
{
	int stuck[MAX], fd;
	uint64_t began;

	(void)state;
	for (unsigned i = 0; i < MAX; i++) {
		stuck[i] = client();
		for (unsigned k = 0; k < 4096; k++)
			send(stuck[i], LIVE, strlen(LIVE), MSG_NOSIGNAL);
		run();
	}
	assert_int_equal(bp_monitor_counters.connections, MAX);
	began = bp_monitor_mono_ns();
	while (bp_monitor_mono_ns() < began + S) /* they have a second to read */
		usleep(1000);
	fd = client();
	say(fd, LIVE);
	assert_heard(fd, "{\"live\":true}");
	assert_int_equal(bp_monitor_counters.refused, 1);
	close(fd);
	for (unsigned i = 0; i < MAX; i++)
		close(stuck[i]);
	run();
	assert_int_equal(bp_monitor_counters.connections, 0);
	assert_int_equal(bp_monitor_counters.answer_bytes, 0);
}

static void deadlines_end_connections(void **state)
{
	const int silent = client(), used = client();
	const uint64_t now = bp_monitor_mono_ns();

	(void)state;
	say(used, LIVE);
	assert_heard(used, "{\"live\":true}");
	bp_http_expire(http, now + (BP_HTTP_REQUEST_S - 1) * S);
	run();
	assert_true(is_open(silent) && is_open(used));
	bp_http_expire(http, now + (BP_HTTP_REQUEST_S + 1) * S);
	run();
	assert_true(!is_open(silent) && is_open(used));
	bp_http_expire(http, now + (BP_HTTP_IDLE_S + 1) * S);
	run();
	assert_false(is_open(used));
	assert_int_equal(bp_monitor_counters.timed_out, 2);
	assert_int_equal(bp_monitor_counters.connections, 0);
	close(silent);
	close(used);
}

static void malformed_requests_are_bounded(void **state)
{
	static const char *const malformed[] = {"\r\n\r\n", "GET\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\xfc", "GET / HTTP/9.9\r\n\r\n",
		"GET /livez HTTP/1.1\r\n\r\n" /* no Host */,
		"GET /livez HTTP/1.1\r\nHost x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
		"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"POST /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", NULL};
	static char big[1 << 20];
	int fd;

	(void)state;
	for (unsigned i = 0; malformed[i] != NULL; i++) {
		fd = client();
		say(fd, malformed[i]);
		heard(fd);
		close(fd);
		run();
	}
	/* headers and a path without an end */
	for (unsigned i = 0; i < 2; i++) {
		fd = client();
		memset(big, 'a', sizeof(big));
		memcpy(big, i == 0 ? "GET /" : "GET /livez HTTP/1.1\r\nX-Y: ", i == 0 ? 5 : 26);
		for (unsigned k = 0; k < 64 && is_open(fd); k++) {
			send(fd, big, BP_HTTP_MEMORY, MSG_NOSIGNAL);
			run();
		}
		assert_heard(fd, i == 0 ? "HTTP/1.1 414 " : "HTTP/1.1 431 ");
		close(fd);
		run();
	}
	assert_int_equal(bp_monitor_counters.connections, 0);
	fd = client();
	say(fd, LIVE);
	assert_heard(fd, "{\"live\":true}");
	close(fd);
}

static void a_path_with_nul_is_nothing(void **state)
{
	int fd = client();

	(void)state;
	say(fd, "GET /livez%00/x HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_heard(fd, "HTTP/1.1 404 ");
	say(fd, "GET /metrics?a%00b=1 HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_heard(fd, "HTTP/1.1 400 ");
	close(fd);
}

static void a_body_is_not_used(void **state)
{
	int fd = client();

	(void)state;
	say(fd, "GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" LIVE);
	assert_heard(fd, "{\"live\":true}HTTP/1.1 200 OK");
	close(fd);
	fd = client();
	say(fd, "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nhello");
	assert_heard(fd, "HTTP/1.1 405 ");
	assert_non_null(strstr(reply, "Allow: GET, HEAD\r\n"));
	close(fd);
}

static void streams_of_events_are_bounded(void **state)
{
	const uint64_t unix_ns = bp_monitor_unix_ns(), now = bp_monitor_mono_ns();
	int stream = client(), fd;

	(void)state;
	assert_false(bp_http_streams(http, unix_ns, now));
	say(stream, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_heard(stream, "Content-Type: text/event-stream\r\n");
	assert_int_equal(bp_monitor_counters.event_streams, 1);
	assert_true(bp_http_streams(http, unix_ns, now));
	run();
	assert_string_equal(heard(stream), ""); /* no event */
	assert_true(bp_http_streams(http, unix_ns, now + BP_EVENT_STREAM_KEEPALIVE_NS + S));
	run();
	assert_heard(stream, ":\n\n");
	/* a stream is in use: it makes no room for others */
	for (unsigned i = 0; i < 2 * MAX; i++) {
		fd = client();
		say(fd, LIVE);
		assert_heard(fd, "{\"live\":true}");
		close(fd);
		run();
	}
	assert_true(is_open(stream));
	/* its end is noticed without an event, and behind bytes that are not read */
	say(stream, "more");
	close(stream);
	bp_http_streams(http, unix_ns, now);
	run();
	assert_int_equal(bp_monitor_counters.event_streams, 0);
	assert_int_equal(bp_monitor_counters.connections, 0);
	/* the server ends while one waits */
	stream = client();
	say(stream, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_heard(stream, "text/event-stream");
	bp_http_free(http);
	assert_int_equal(bp_monitor_counters.event_streams, 0);
	http = NULL;
	close(stream);
}

/* Without a deadline in the kernel, clients that vanished would use all streams for 15 minutes. */
static void a_stream_whose_client_vanishes_ends(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const int listener = socket(AF_INET, SOCK_STREAM, 0);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a), size = sizeof(unsigned);
	unsigned ms = 0;
	int server;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	server = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	assert_true(server >= 0);
	assert_int_equal(bp_http_add(http, server), 0);
	say(fd, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_int_equal(bp_monitor_counters.event_streams, 1);
	assert_int_equal(getsockopt(server, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &size), 0);
	assert_int_equal(ms, BP_HTTP_STREAM_S * 1000);
	close(fd);
	close(listener);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(requests_are_answered_on_one_connection),
		CASE(slow_clients_make_room_for_new_ones),
		CASE(a_thousand_slow_clients_are_bounded),
		CASE(clients_that_do_not_read_make_room),
		CASE(deadlines_end_connections),
		CASE(malformed_requests_are_bounded),
		CASE(a_path_with_nul_is_nothing),
		CASE(a_body_is_not_used),
		CASE(streams_of_events_are_bounded),
		CASE(a_stream_whose_client_vanishes_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
