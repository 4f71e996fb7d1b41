/* SPDX-License-Identifier: BSD-3-Clause */
/* The manager's sockets on loopback: callbacks for received data, and the source address of
 * answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/health/server.h"
#include "controlplane/health/tcp.h"

static struct event_base *base;
static char err[256];

/* Received messages, in order. */
struct got {
	unsigned n, on_disconnect, answers, written;
	struct bp_phd_peer peer;
	uint8_t apdu[70000];
	size_t len;
	uint64_t bytes;
	uint32_t next; /* number expected in the next one's 5th to 8th byte */
	bool numbered, not_cse;
	struct bp_phd_server *udp;
	struct bp_phd_tcp *tcp;
	bool close; /* the connection, once one came */
};

static void receive(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	struct got *g = arg;

	g->n++;
	g->peer = *from;
	g->bytes += len;
	assert_true(len <= sizeof(g->apdu));
	memcpy(g->apdu, apdu, len);
	g->len = len;
	if (g->numbered) {
		uint32_t number;

		assert_true(len >= 8);
		memcpy(&number, apdu + 4, sizeof(number));
		assert_int_equal(number, g->next++);
	}
	for (unsigned i = 0; i < g->answers; i++) {
		if (g->udp)
			bp_phd_server_send(g->udp, from, apdu, len);
		else
			bp_phd_tcp_send(g->tcp, from->connection, apdu, len);
	}
	if (g->close)
		bp_phd_tcp_close(g->tcp, from->connection);
}

static bool ours(void *arg, unsigned ifindex)
{
	assert_true(ifindex != 0);
	return !((struct got *)arg)->not_cse;
}

static void on_disconnect(void *arg, uint32_t connection)
{
	(void)connection;
	((struct got *)arg)->on_disconnect++;
}

static void written(void *arg, uint32_t connection)
{
	(void)connection;
	((struct got *)arg)->written++;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin6_port);
}

/* A socket that is connected to an address, "::1" or dotted. */
static int dial(const char *address, uint16_t port, int type)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const bool six = strchr(address, ':') != NULL;
	int fd = socket(six ? AF_INET6 : AF_INET, type, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, address,
				 six ? (void *)&a6.sin6_addr : (void *)&a4.sin_addr),
		1);
	assert_int_equal(connect(fd, six ? (struct sockaddr *)&a6 : (struct sockaddr *)&a4,
				 six ? sizeof(a6) : sizeof(a4)),
		0);
	return fd;
}

/* Turns of the loop until `what` holds. */
#define UNTIL(what)                                                                                \
	while (!(what))                                                                            \
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0)

static int set_up(void **state)
{
	(void)state;
	base = event_base_new();
	return base == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	event_base_free(base);
	return 0;
}

static struct bp_phd_server *start_udp(struct got *g, uint16_t *port)
{
	const struct bp_phd_server_ops ops = {.receive = receive, .ours = ours};
	int fd = bp_phd_server_socket(0, err, sizeof(err));

	assert_true(fd >= 0);
	*port = port_of(fd);
	g->udp = bp_phd_server_new(base, fd, &ops, g, err, sizeof(err));
	assert_non_null(g->udp);
	return g->udp;
}

/* The address as the manager knows it. */
static void is_address(const uint8_t got[16], const char *text)
{
	uint8_t want[16] = {[10] = 0xff, [11] = 0xff};

	assert_int_equal(strchr(text, ':') ? inet_pton(AF_INET6, text, want)
					   : inet_pton(AF_INET, text, want + 12),
		1);
	assert_memory_equal(got, want, 16);
}

/* A connected socket takes datagrams of that very address and port only. */
static void udp_answers_from_where_it_was_asked(void **state)
{
	static const char *const to[] = {"127.0.0.1", "127.0.0.2", "::1"};
	struct got g = {.answers = 1};
	uint16_t port;

	(void)state;
	start_udp(&g, &port);
	for (unsigned i = 0; i < 3; i++) {
		int fd = dial(to[i], port, SOCK_DGRAM);
		char back[16];

		assert_int_equal(send(fd, "hello", 5, 0), 5);
		UNTIL(g.n == i + 1);
		is_address(g.peer.own, to[i]);
		is_address(g.peer.address, i == 2 ? "::1" : "127.0.0.1");
		assert_int_equal(g.peer.transport, BP_PHD_TRANSPORT_UDP);
		assert_int_equal(g.len, 5);
		assert_memory_equal(g.apdu, "hello", 5);
		event_base_loop(base, EVLOOP_NONBLOCK);
		assert_int_equal(recv(fd, back, sizeof(back), MSG_DONTWAIT), 5);
		close(fd);
	}
	bp_phd_server_free(g.udp);
}

static void udp_receives_in_batches(void **state)
{
	enum { MANY = 3000 };
	struct got g = {.answers = 3, .numbered = true};
	struct bp_phd_server_counts n;
	uint8_t apdu[40] = {0}, back[64];
	unsigned answers = 0;
	uint16_t port;
	int fd, size = 16 << 20;

	(void)state;
	start_udp(&g, &port);
	fd = dial("127.0.0.1", port, SOCK_DGRAM);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
		skip(); /* without the privilege neither socket buffer holds that many */
	for (uint32_t i = 0; i < MANY; i++) {
		memcpy(apdu + 4, &i, sizeof(i));
		assert_int_equal(send(fd, apdu, sizeof(apdu), 0), sizeof(apdu));
	}
	UNTIL(g.n == MANY);
	event_base_loop(base, EVLOOP_NONBLOCK);
	while (recv(fd, back, sizeof(back), MSG_DONTWAIT) == sizeof(apdu))
		answers++;
	assert_int_equal(answers, 3 * MANY);
	bp_phd_server_count(g.udp, &n);
	assert_int_equal(n.received, MANY);
	assert_int_equal(n.sent, 3 * MANY);
	assert_int_equal(n.socket.drops + n.unsent + n.not_cse + n.oversized, 0);
	close(fd);
	bp_phd_server_free(g.udp);
}

/* Socket drops of the kernel are counted. */
static void udp_overflow_is_counted(void **state)
{
	enum { MANY = 2000 };
	const struct bp_phd_server_ops ops = {.receive = receive};
	struct bp_phd_server_counts n;
	struct got g = {0};
	uint8_t apdu[1000] = {0};
	int server = bp_phd_server_socket(0, err, sizeof(err)), small = 20000, fd;

	(void)state;
	assert_true(server >= 0);
	assert_int_equal(setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	fd = dial("127.0.0.1", port_of(server), SOCK_DGRAM);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(send(fd, apdu, sizeof(apdu), 0), sizeof(apdu));
	g.udp = bp_phd_server_new(base, server, &ops, &g, err, sizeof(err));
	assert_non_null(g.udp);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_in_range(g.n, 1, MANY / 2);
	bp_phd_server_count(g.udp, &n);
	assert_int_equal(n.received + n.socket.drops, MANY);
	assert_int_not_equal(n.socket.cookie, 0);
	close(fd);
	bp_phd_server_free(g.udp);
}

static void udp_only_on_our_interfaces(void **state)
{
	struct got g = {.not_cse = true};
	struct bp_phd_server_counts n;
	uint16_t port;
	int fd;

	(void)state;
	start_udp(&g, &port);
	fd = dial("127.0.0.1", port, SOCK_DGRAM);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	do {
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
		bp_phd_server_count(g.udp, &n);
	} while (n.not_cse == 0);
	assert_int_equal(g.n, 0);
	close(fd);
	bp_phd_server_free(g.udp);
}

/* A datagram to a broadcast address has no source address for an answer. */
static void udp_accepts_only_answerable(void **state)
{
	const int on = 1;
	struct sockaddr_in all = {.sin_family = AF_INET};
	struct got g = {0};
	struct bp_phd_server_counts n;
	uint16_t port;
	int fd;

	(void)state;
	start_udp(&g, &port);
	all.sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, "127.255.255.255", &all.sin_addr), 1);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)), 0);
	assert_int_equal(sendto(fd, "hello", 5, 0, (struct sockaddr *)&all, sizeof(all)), 5);
	do {
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
		bp_phd_server_count(g.udp, &n);
	} while (n.unanswerable + n.received == 0);
	assert_int_equal(g.n, 0);
	assert_int_equal(n.unanswerable, 1);
	close(fd);
	bp_phd_server_free(g.udp);
}

static void ports_that_are_taken(void **state)
{
	int udp = bp_phd_server_socket(0, err, sizeof(err));
	int tcp = bp_phd_tcp_socket(0, err, sizeof(err));

	(void)state;
	assert_true(udp >= 0 && tcp >= 0);
	assert_int_equal(bp_phd_server_socket(port_of(udp), err, sizeof(err)), -1);
	assert_non_null(strstr(err, "health_devices.listen.udp_port: port "));
	assert_non_null(strstr(err, "in use"));
	assert_int_equal(bp_phd_tcp_socket(port_of(tcp), err, sizeof(err)), -1);
	assert_non_null(strstr(err, "health_devices.listen.tcp_port: port "));
	close(udp);
	close(tcp);
}

/* ---- TCP ---- */

static struct bp_phd_tcp *start_tcp(
	struct got *g, uint32_t connections, uint32_t idle_s, uint16_t *port)
{
	const struct bp_phd_tcp_ops ops = {
		.receive = receive, .on_disconnect = on_disconnect, .written = written};
	const struct bp_phd_tcp_limits limits = {.connections = connections, .idle_s = idle_s};
	int fd = bp_phd_tcp_socket(0, err, sizeof(err));

	assert_true(fd >= 0);
	*port = port_of(fd);
	g->tcp = bp_phd_tcp_new(base, fd, &limits, &ops, g, err, sizeof(err));
	assert_non_null(g->tcp);
	return g->tcp;
}

static struct bp_phd_tcp_counts tcp_counts(const struct got *g)
{
	struct bp_phd_tcp_counts n;

	bp_phd_tcp_count(g->tcp, &n);
	return n;
}

/* An ABRT, with a number in place of its reason. */
static void abrt(uint8_t out[8], uint32_t number)
{
	memcpy(out, "\xe6\x00\x00\x04", 4);
	memcpy(out + 4, &number, sizeof(number));
}

static bool is_closed(int fd)
{
	uint8_t byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

/* However the bytes come, one at a time or many APDUs at once, the APDUs are the same. */
static void tcp_cuts_the_stream(void **state)
{
	enum { MANY = 1000 };
	struct got g = {.answers = 1, .numbered = true};
	uint8_t all[MANY * 8], back[MANY * 8];
	size_t sent = 0, there = 0;
	uint16_t port;
	int fd;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		abrt(all + (size_t)i * 8, i);
	start_tcp(&g, 4, 0, &port);
	fd = dial("127.0.0.2", port, SOCK_STREAM);
	for (; sent < 50; sent++) { /* byte by byte */
		assert_int_equal(send(fd, all + sent, 1, 0), 1);
		UNTIL(tcp_counts(&g).open == 1);
		UNTIL(g.n == (sent + 1) / 8);
	}
	assert_int_equal(send(fd, all + sent, sizeof(all) - sent, 0), sizeof(all) - sent);
	UNTIL(g.n == MANY);
	is_address(g.peer.own, "127.0.0.2");
	is_address(g.peer.address, "127.0.0.1");
	assert_int_equal(g.peer.transport, BP_PHD_TRANSPORT_TCP);
	while (there < sizeof(back)) {
		ssize_t n;

		event_base_loop(base, EVLOOP_NONBLOCK);
		n = recv(fd, back + there, sizeof(back) - there, MSG_DONTWAIT);
		there += n > 0 ? (size_t)n : 0;
	}
	assert_memory_equal(back, all, sizeof(all));
	close(fd);
	UNTIL(g.on_disconnect == 1);
	assert_int_equal(tcp_counts(&g).open, 0);
	bp_phd_tcp_free(g.tcp);
}

/* The sender of answers is notified when the kernel has them: they arrive even if this process ends
 * then. */
static void tcp_reports_written_data(void **state)
{
	struct got g = {0};
	uint8_t apdu[8], back[64];
	uint16_t port;
	int fd;

	(void)state;
	start_tcp(&g, 1, 0, &port);
	fd = dial("127.0.0.1", port, SOCK_STREAM);
	UNTIL(g.written == 1); /* of a connection that nothing was sent on, that is true too */
	for (uint32_t i = 1; i < 6; i++) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		g.answers = 1 + i % 3;
		abrt(apdu, i);
		assert_int_equal(send(fd, apdu, sizeof(apdu), 0), sizeof(apdu));
		UNTIL(g.written == i + 1);
		assert_int_equal(poll(&p, 1, 30000), 1);
		assert_int_equal(recv(fd, back, sizeof(back), 0), g.answers * sizeof(apdu));
		assert_memory_equal(back, apdu, sizeof(apdu));
	}
	assert_int_equal(g.n, 5);
	close(fd);
	bp_phd_tcp_free(g.tcp);
}

/* The longest APDU that there can be. */
static void tcp_takes_the_longest(void **state)
{
	static uint8_t apdu[4 + 65535] = {0xe7, 0, 0xff, 0xff};
	struct got g = {0};
	uint16_t port;
	size_t sent = 0;
	int fd;

	(void)state;
	start_tcp(&g, 1, 0, &port);
	fd = dial("::1", port, SOCK_STREAM);
	while (sent < sizeof(apdu)) {
		ssize_t n = send(fd, apdu + sent, sizeof(apdu) - sent, MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	UNTIL(g.n == 1);
	assert_int_equal(g.len, sizeof(apdu));
	close(fd);
	bp_phd_tcp_free(g.tcp);
}

static void tcp_closes_on_invalid_apdu(void **state)
{
	static const char *const what[] = {"GET / HTTP/1.1\r\n", "\xe1\x00\x00\x02..", "\xe8\x00..",
		"\xe2\x01\x00\x00", "\xff\xff\xff\xff"};
	struct got g = {0};
	uint16_t port;

	(void)state;
	start_tcp(&g, 1, 0, &port);
	for (unsigned i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		int fd = dial("127.0.0.1", port, SOCK_STREAM);

		assert_true(send(fd, what[i], 4, 0) == 4);
		UNTIL(g.on_disconnect == i + 1);
		assert_true(is_closed(fd));
		close(fd);
	}
	assert_int_equal(g.n, 0);
	assert_int_equal(tcp_counts(&g).malformed, sizeof(what) / sizeof(what[0]));
	bp_phd_tcp_free(g.tcp);
}

static void tcp_connections_are_bounded(void **state)
{
	struct got g = {0};
	uint16_t port;
	int fd[3];

	(void)state;
	start_tcp(&g, 2, 0, &port);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = dial("127.0.0.1", port, SOCK_STREAM);
	UNTIL(tcp_counts(&g).refused == 1);
	assert_int_equal(tcp_counts(&g).open, 2);
	UNTIL(is_closed(fd[2]));
	close(fd[0]);
	UNTIL(g.on_disconnect == 1);
	close(fd[2]);
	fd[2] = dial("127.0.0.1", port, SOCK_STREAM);
	UNTIL(tcp_counts(&g).accepted == 3);
	/* a remaining connection is closed at the end, without a callback */
	bp_phd_tcp_free(g.tcp);
	event_base_loop(base, EVLOOP_NONBLOCK); /* libevent closes in its own time */
	assert_true(is_closed(fd[1]) && is_closed(fd[2]));
	assert_int_equal(g.on_disconnect, 1);
	close(fd[1]);
	close(fd[2]);
}

/* A device that asks and asks, and never reads. */
static void tcp_writes_are_bounded(void **state)
{
	struct got g = {.answers = 20};
	uint8_t apdu[8];
	uint16_t port;
	int fd, small = 4096;

	(void)state;
	start_tcp(&g, 1, 0, &port);
	fd = dial("127.0.0.1", port, SOCK_STREAM);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	abrt(apdu, 0);
	while (g.on_disconnect == 0) {
		(void)!send(fd, apdu, sizeof(apdu), MSG_DONTWAIT | MSG_NOSIGNAL);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(tcp_counts(&g).unread, 1);
	assert_true(tcp_counts(&g).unsent > 0);
	close(fd);
	bp_phd_tcp_free(g.tcp);
}

/* Data sent before the close arrives; data of the device after it is not read. */
static void tcp_closes_after_the_answer(void **state)
{
	struct got g = {.answers = 1, .close = true};
	uint8_t apdu[16], back[64];
	uint16_t port;
	int fd;

	(void)state;
	start_tcp(&g, 1, 0, &port);
	fd = dial("127.0.0.1", port, SOCK_STREAM);
	abrt(apdu, 1);
	abrt(apdu + 8, 2);
	assert_int_equal(send(fd, apdu, sizeof(apdu), 0), sizeof(apdu));
	UNTIL(g.on_disconnect == 1);
	assert_int_equal(g.n, 1);
	assert_int_equal(recv(fd, back, sizeof(back), 0), 8);
	assert_memory_equal(back, apdu, 8);
	close(fd);
	bp_phd_tcp_free(g.tcp);
}

static void tcp_silence_ends(void **state)
{
	struct got g = {0};
	uint16_t port;
	int fd;

	(void)state;
	start_tcp(&g, 1, 1, &port);
	fd = dial("127.0.0.1", port, SOCK_STREAM);
	assert_int_equal(send(fd, "\xe6", 1, 0), 1); /* part of an APDU is none */
	UNTIL(g.on_disconnect == 1);
	assert_int_equal(tcp_counts(&g).idle, 1);
	close(fd);
	bp_phd_tcp_free(g.tcp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			udp_answers_from_where_it_was_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(udp_receives_in_batches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(udp_overflow_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(udp_only_on_our_interfaces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(udp_accepts_only_answerable, set_up, tear_down),
		cmocka_unit_test(ports_that_are_taken),
		cmocka_unit_test_setup_teardown(tcp_cuts_the_stream, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tcp_reports_written_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tcp_takes_the_longest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tcp_closes_on_invalid_apdu, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tcp_connections_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tcp_writes_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tcp_closes_after_the_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tcp_silence_ends, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
