/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices on TCP when the process may open no more files: all else continues, and connections wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/health/tcp.h"

#define TURNS 50

static char err[256];

static void receive(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	(void)arg;
	(void)from;
	(void)apdu;
	(void)len;
}

static void on_disconnect(void *arg, uint32_t connection)
{
	(void)arg;
	(void)connection;
}

static void limit_to(rlim_t soft)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
	l.rlim_cur = soft;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
}

static int dial(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Not one attempt a turn of the loop; and no one is lost. */
static void no_descriptor(void **state)
{
	const struct bp_phd_tcp_ops ops = {.receive = receive, .on_disconnect = on_disconnect};
	const struct bp_phd_tcp_limits limits = {.connections = 4};
	struct event_base *base = event_base_new();
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);
	int fd = bp_phd_tcp_socket(0, err, sizeof(err)), device, lowest;
	struct bp_phd_tcp_counts n;
	struct rlimit was;
	struct bp_phd_tcp *t;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	t = bp_phd_tcp_new(base, fd, &limits, &ops, NULL, err, sizeof(err));
	assert_non_null(t);
	device = dial(ntohs(a.sin6_port));
	event_base_loop(base, EVLOOP_NONBLOCK); /* the loop's own descriptors are there */
	close(device);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.open != 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	device = dial(ntohs(a.sin6_port));
	lowest = fcntl(device, F_DUPFD, 0);
	close(lowest);
	limit_to((rlim_t)lowest);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.postponed == 0);
	for (unsigned i = 0; i < TURNS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	bp_phd_tcp_count(t, &n);
	assert_true(n.postponed < TURNS / 2); /* a tenth of a second each */
	assert_int_equal(n.open, 0);
	limit_to(was.rlim_cur);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.open == 0);
	assert_int_equal(n.accepted, 2);
	assert_int_equal(n.refused, 0);
	bp_phd_tcp_free(t);
	event_base_free(base);
	close(device);
}

static struct bp_phd_tcp *serve(struct event_base *base, const struct bp_phd_tcp_limits *limits,
	const struct bp_phd_tcp_ops *ops, uint16_t *port)
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);
	int fd = bp_phd_tcp_socket(0, err, sizeof(err));
	struct bp_phd_tcp *t;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin6_port);
	t = bp_phd_tcp_new(base, fd, limits, ops, NULL, err, sizeof(err));
	assert_non_null(t);
	return t;
}

/* From another of this machine's addresses. */
static int dial_from(uint32_t address, uint16_t port)
{
	struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	from.sin_addr.s_addr = htonl(address);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons(port);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* An address is limited to its share; a closed connection frees an entry. */
static void one_address(void **state)
{
	const struct bp_phd_tcp_ops ops = {.receive = receive, .on_disconnect = on_disconnect};
	const struct bp_phd_tcp_limits limits = {.connections = 8, .per_address = 2};
	struct event_base *base = event_base_new();
	struct bp_phd_tcp_counts n;
	struct bp_phd_tcp *t;
	uint16_t port;
	int fd[5];

	(void)state;
	t = serve(base, &limits, &ops, &port);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = dial(port);
	fd[3] = dial_from(INADDR_LOOPBACK + 1, port);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.accepted + n.refused < 4);
	assert_int_equal(n.accepted, 3);
	assert_int_equal(n.refused, 1);
	close(fd[0]);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.open == 3);
	bp_phd_tcp_limit(t, 3);
	fd[0] = dial(port);
	fd[4] = dial(port);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.accepted + n.refused < 6);
	assert_int_equal(n.refused, 1);
	bp_phd_tcp_free(t);
	event_base_free(base);
	for (unsigned i = 0; i < 5; i++)
		close(fd[i]);
}

static uint32_t with_association;
static bool associated(void *arg, uint32_t connection)
{
	(void)arg;
	return connection == with_association;
}

/* Connections without an association are closed first. */
static void unassociated_closed(void **state)
{
	const struct bp_phd_tcp_ops ops = {
		.receive = receive, .on_disconnect = on_disconnect, .associated = associated};
	const struct bp_phd_tcp_limits limits = {.connections = 4, .unassociated_ms = 20};
	struct event_base *base = event_base_new();
	struct bp_phd_tcp_counts n;
	struct bp_phd_tcp *t;
	uint16_t port;
	int device, attacker;
	char byte;

	(void)state;
	with_association = 0;
	t = serve(base, &limits, &ops, &port);
	device = dial(port);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.accepted < 1);
	attacker = dial(port);
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.accepted < 2 || n.open == 2);
	assert_int_equal(n.unassociated_closed, 1);
	assert_int_equal(read(attacker, &byte, 1), 0);
	with_association = UINT32_MAX; /* it is released, and does not come again */
	do {
		event_base_loop(base, EVLOOP_ONCE);
		bp_phd_tcp_count(t, &n);
	} while (n.open == 1);
	assert_int_equal(n.unassociated_closed, 2);
	bp_phd_tcp_free(t);
	event_base_free(base);
	close(device);
	close(attacker);
}

/* The raised limit of open files, and the reserve for others if it cannot be raised. */
static void connection_count_is_bounded(void **state)
{
	struct rlimit was, now;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	assert_true(was.rlim_max >= 100 + BP_PHD_TCP_RESERVE);
	limit_to(64);
	assert_int_equal(bp_phd_tcp_capacity(100), 100);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(now.rlim_cur, 100 + BP_PHD_TCP_RESERVE);
	assert_int_equal(bp_phd_tcp_capacity(10), 10); /* and is never lowered */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(now.rlim_cur, 100 + BP_PHD_TCP_RESERVE);
	now.rlim_max = now.rlim_cur;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0); /* for good: the last test */
	assert_int_equal(bp_phd_tcp_capacity(5000), 100);
	now.rlim_cur = now.rlim_max = BP_PHD_TCP_RESERVE;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(bp_phd_tcp_capacity(5000), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_descriptor),
		cmocka_unit_test(one_address),
		cmocka_unit_test(unassociated_closed),
		cmocka_unit_test(connection_count_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
