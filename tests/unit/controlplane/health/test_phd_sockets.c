/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets opened by another process: the environment variables that describe them, and their
 * selection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/process/listen_fds.h"
#include "controlplane/health/sockets.h"

static char err[512];

/* ---- what the environment says ---- */

static void environment_is_read(void **state)
{
	struct bp_listen_fds l;

	(void)state;
	assert_int_equal(bp_listen_fds_parse(&l, "42", "2", "phd-udp:phd-tcp", 42, err, 512), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.name[0], "phd-udp");
	assert_string_equal(l.name[1], "phd-tcp");
	/* sd_listen_fds_with_names(3): without names they are "unknown" */
	assert_int_equal(bp_listen_fds_parse(&l, "42", "1", NULL, 42, err, 512), 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.name[0], "unknown");
	/* a name may be empty */
	assert_int_equal(bp_listen_fds_parse(&l, "42", "3", "a::", 42, err, 512), 0);
	assert_string_equal(l.name[0], "a");
	assert_string_equal(l.name[1], "");
	assert_string_equal(l.name[2], "");
	assert_int_equal(bp_listen_fds_parse(&l, "42", "0", "", 42, err, 512), 0);
	assert_int_equal(l.n, 0);
}

/* Another process's are not ours, whatever they are. */
static void other_entries_are_unchanged(void **state)
{
	struct bp_listen_fds l = {.n = 7};

	(void)state;
	assert_int_equal(bp_listen_fds_parse(&l, "43", "x", "y:z", 42, err, 512), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(bp_listen_fds_parse(&l, NULL, "2", "a:b", 42, err, 512), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(bp_listen_fds_parse(&l, "42", NULL, "a:b", 42, err, 512), 0);
	assert_int_equal(l.n, 0);
}

static void invalid_input_is_rejected(void **state)
{
	static const struct {
		const char *pid, *fds, *names, *says;
	} cases[] = {
		{"", "1", "a", "LISTEN_PID is ''; expected the number of a process"},
		{"4 2", "1", "a", "LISTEN_PID is '4 2'; expected the number of a process"},
		{"99999999999999999999", "1", "a",
			"LISTEN_PID is '99999999999999999999'; expected"},
		{"42", "-1", "a", "LISTEN_FDS is '-1'; expected the number of descriptors"},
		{"42", "17", "a", "LISTEN_FDS is '17'; expected the number of descriptors"},
		{"42", "1x", "a", "LISTEN_FDS is '1x'; expected the number of descriptors"},
		{"42", "2", "a", "LISTEN_FDNAMES is 'a'; expected 2 names"},
		{"42", "2", "", "LISTEN_FDNAMES is ''; expected 2 names"},
		{"42", "2", "a:b:c", "LISTEN_FDNAMES is 'a:b:c'; expected 2 names"},
		{"42", "1", "a:", "LISTEN_FDNAMES is 'a:'; expected 1 names"},
	};
	char longest[BP_LISTEN_FDS_NAME + 1];
	struct bp_listen_fds l;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(bp_listen_fds_parse(&l, cases[i].pid, cases[i].fds, cases[i].names,
					 42, err, sizeof(err)),
			-1);
		assert_non_null(strstr(err, cases[i].says));
	}
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(bp_listen_fds_parse(&l, "42", "1", longest, 42, err, 512), -1);
	longest[BP_LISTEN_FDS_NAME - 1] = '\0';
	assert_int_equal(bp_listen_fds_parse(&l, "42", "1", longest, 42, err, 512), 0);
	assert_string_equal(l.name[0], longest);
}

/* A child process does not take the descriptors for its own; and a closed one is reported. */
static void environment_is_emptied(void **state)
{
	struct bp_listen_fds l;
	char own[24];

	(void)state;
	snprintf(own, sizeof(own), "%ld", (long)getpid());
	for (unsigned i = 0; i < 2; i++) {
		setenv("LISTEN_PID", own, 1);
		setenv("LISTEN_FDS", "1", 1);
		setenv("LISTEN_FDNAMES", "phd-udp", 1);
		close(BP_LISTEN_FDS_FIRST);
		if (i == 0) {
			assert_int_equal(dup2(STDERR_FILENO, BP_LISTEN_FDS_FIRST), 3);
			assert_int_equal(bp_listen_fds_take(&l, err, sizeof(err)), 0);
			assert_int_equal(l.n, 1);
			assert_int_equal(fcntl(BP_LISTEN_FDS_FIRST, F_GETFD), FD_CLOEXEC);
		} else {
			assert_int_equal(bp_listen_fds_take(&l, err, sizeof(err)), -1);
			assert_int_equal(l.n, 0);
			assert_non_null(strstr(err, "descriptor 3 (phd-udp) is not open"));
		}
		assert_null(getenv("LISTEN_PID"));
		assert_null(getenv("LISTEN_FDS"));
		assert_null(getenv("LISTEN_FDNAMES"));
	}
}

/* ---- which are taken ---- */

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin6_port);
}

/* As a service manager has it: `type` bound to `address` and any port; TCP listens. */
static int make(int family, int type, const char *address, bool v6only)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6};
	struct sockaddr_in a4 = {.sin_family = AF_INET};
	int fd = socket(family, type, 0), only = v6only;

	assert_true(fd >= 0);
	if (family == AF_INET6) {
		assert_int_equal(inet_pton(AF_INET6, address, &a6.sin6_addr), 1);
		assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)), 0);
		assert_int_equal(bind(fd, (struct sockaddr *)&a6, sizeof(a6)), 0);
	} else {
		assert_int_equal(inet_pton(AF_INET, address, &a4.sin_addr), 1);
		assert_int_equal(bind(fd, (struct sockaddr *)&a4, sizeof(a4)), 0);
	}
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* Makes it descriptor 3 + i. */
static void give(struct bp_listen_fds *l, int fd, const char *name)
{
	const int at = BP_LISTEN_FDS_FIRST + (int)l->n;

	snprintf(l->name[l->n++], BP_LISTEN_FDS_NAME, "%s", name);
	if (fd == at)
		return;
	assert_int_equal(dup2(fd, at), at);
	close(fd);
}

static int take(struct bp_phd_sockets *s, const struct bp_listen_fds *l, uint16_t udp, uint16_t tcp)
{
	const struct bp_config_phd c = {
		.enabled = true, .listen_udp_port = udp, .listen_tcp_port = tcp};

	return bp_phd_sockets_take(s, l, &c, err, sizeof(err));
}

static void configured_sockets_are_taken(void **state)
{
	struct bp_listen_fds l = {0};
	struct bp_phd_sockets s;
	int value;
	socklen_t len = sizeof(value);

	(void)state;
	/* out of order, and none of them as a reader needs it */
	close(3);
	close(4);
	give(&l, make(AF_INET6, SOCK_STREAM, "::", false), "phd-tcp");
	give(&l, make(AF_INET6, SOCK_DGRAM, "::", false), "phd-udp");
	assert_int_equal(take(&s, &l, port_of(4), port_of(3)), 0);
	assert_true(s.udp == 4 && s.tcp == 3);
	assert_true(fcntl(3, F_GETFL) & O_NONBLOCK && fcntl(4, F_GETFL) & O_NONBLOCK);
	assert_int_equal(getsockopt(4, IPPROTO_IPV6, IPV6_RECVPKTINFO, &value, &len), 0);
	assert_int_equal(value, 1);
	/* one of the two may be missing */
	l.n = 1;
	assert_int_equal(take(&s, &l, 6024, port_of(3)), 0);
	assert_true(s.udp == -1 && s.tcp == 3);
	l.n = 0;
	assert_int_equal(take(&s, &l, 6024, 6024), 0);
	assert_true(s.udp == -1 && s.tcp == -1);
	close(3);
	close(4);
}

static void others_are_refused(void **state)
{
	static const struct {
		int family, type;
		const char *address;
		bool v6only;
		const char *name, *says;
	} cases[] = {
		{AF_INET6, SOCK_STREAM, "::", false, "phd-udp",
			"descriptor 3 (phd-udp): it is not a datagram socket; expected a UDP "
			"socket"},
		{AF_INET6, SOCK_DGRAM, "::", false, "phd-tcp",
			"descriptor 3 (phd-tcp): it is not a stream socket; expected a TCP socket"},
		{AF_INET, SOCK_DGRAM, "0.0.0.0", false, "phd-udp", "it is not an IPv6 socket"},
		{AF_INET, SOCK_STREAM, "127.0.0.1", false, "phd-tcp", "it is not an IPv6 socket"},
		{AF_INET6, SOCK_DGRAM, "::", true, "phd-udp", "it does not accept IPv4"},
		{AF_INET6, SOCK_DGRAM, "::1", false, "phd-udp", "it is bound to one address"},
		{AF_INET6, SOCK_DGRAM, "::", false, "biplane.socket",
			"is called 'biplane.socket'; expected phd-udp or phd-tcp"},
	};
	struct bp_phd_sockets s;
	struct bp_listen_fds l;
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		l = (struct bp_listen_fds){0};
		give(&l, make(cases[i].family, cases[i].type, cases[i].address, cases[i].v6only),
			cases[i].name);
		port = port_of(3);
		assert_int_equal(take(&s, &l, port, port), -1);
		assert_non_null(strstr(err, cases[i].says));
		assert_true(s.udp == -1 && s.tcp == -1);
	}
	/* right, but for the port; then right, but not wanted */
	l = (struct bp_listen_fds){0};
	give(&l, make(AF_INET6, SOCK_DGRAM, "::", false), "phd-udp");
	port = port_of(3);
	assert_int_equal(take(&s, &l, (uint16_t)(port ^ 1), 0), -1);
	assert_non_null(
		strstr(err, "it has another port; expected a UDP socket for IPv6 and IPv4"));
	assert_int_equal(take(&s, &l, 0, port), -1);
	assert_non_null(strstr(err, "health_devices.listen does not have it"));
	/* two of one name */
	give(&l, dup(3), "phd-udp");
	assert_int_equal(take(&s, &l, port, 0), -1);
	assert_non_null(strstr(err, "descriptor 4 (phd-udp): another descriptor has this name"));
	close(4);
	/* a file, and one that does not listen */
	l.n = 0;
	give(&l, open("/dev/null", O_RDONLY), "phd-udp");
	assert_int_equal(take(&s, &l, port, 0), -1);
	assert_non_null(strstr(err, "it is not a datagram socket"));
	l.n = 0;
	give(&l, socket(AF_INET6, SOCK_STREAM, 0), "phd-tcp");
	{
		struct sockaddr_in6 any = {.sin6_family = AF_INET6};

		assert_int_equal(bind(3, (struct sockaddr *)&any, sizeof(any)), 0);
	}
	assert_int_equal(take(&s, &l, 0, port_of(3)), -1);
	assert_non_null(strstr(err, "it does not listen"));
	close(3);
}

/* As root; else skipped. */
static void another_namespace_is_refused(void **state)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd;
	struct bp_listen_fds l = {0};
	struct bp_phd_sockets s;

	(void)state;
	if (home < 0 || unshare(CLONE_NEWNET) != 0)
		skip();
	fd = make(AF_INET6, SOCK_DGRAM, "::", false);
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
	close(home);
	give(&l, fd, "phd-udp");
	assert_int_equal(take(&s, &l, port_of(3), 0), -1);
	assert_non_null(strstr(err, "it is in another network namespace; expected a UDP socket"));
	close(3);
}

/* ---- those that `biplane run` has ---- */

static uint16_t free_port(int type)
{
	int fd = make(AF_INET6, type, "::", false);
	uint16_t port = port_of(fd);

	close(fd);
	return port;
}

static void they_follow_the_file(void **state)
{
	struct bp_config_phd c = {.enabled = true,
		.listen_udp_port = free_port(SOCK_DGRAM),
		.listen_tcp_port = free_port(SOCK_STREAM)};
	struct bp_phd_sockets s = {-1, -1}, before;
	int taken;

	(void)state;
	assert_int_equal(bp_phd_sockets_follow(&s, &c, err, sizeof(err)), 0);
	assert_int_equal(port_of(s.udp), c.listen_udp_port);
	assert_int_equal(port_of(s.tcp), c.listen_tcp_port);
	assert_true(fcntl(s.udp, F_GETFD) & FD_CLOEXEC && fcntl(s.tcp, F_GETFD) & FD_CLOEXEC);
	/* no change: queued datagrams remain */
	before = s;
	assert_int_equal(bp_phd_sockets_follow(&s, &c, err, sizeof(err)), 0);
	assert_true(s.udp == before.udp && s.tcp == before.tcp);
	/* another port, and one off */
	c.listen_udp_port = free_port(SOCK_DGRAM);
	c.listen_tcp_port = 0;
	assert_int_equal(bp_phd_sockets_follow(&s, &c, err, sizeof(err)), 0);
	assert_int_equal(port_of(s.udp), c.listen_udp_port);
	assert_int_equal(s.tcp, -1);
	/* a port in use by another socket is reported, and is bound once it is free */
	taken = make(AF_INET6, SOCK_STREAM, "::", false);
	c.listen_tcp_port = port_of(taken);
	assert_int_equal(bp_phd_sockets_follow(&s, &c, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "health_devices.listen.tcp_port: port"));
	assert_int_equal(port_of(s.udp), c.listen_udp_port);
	assert_int_equal(s.tcp, -1);
	close(taken);
	assert_int_equal(bp_phd_sockets_follow(&s, &c, err, sizeof(err)), 0);
	assert_int_equal(port_of(s.tcp), c.listen_tcp_port);
	/* the section went away */
	c.enabled = false;
	assert_int_equal(bp_phd_sockets_follow(&s, &c, err, sizeof(err)), 0);
	assert_true(s.udp == -1 && s.tcp == -1);
	bp_phd_sockets_close(&s);
}

/* Datagrams that arrive without a reader are kept for the next reader. */
static void datagrams_wait(void **state)
{
	struct bp_config_phd c = {.enabled = true, .listen_udp_port = free_port(SOCK_DGRAM)};
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(c.listen_udp_port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct bp_phd_sockets s = {-1, -1};
	int sender = socket(AF_INET, SOCK_DGRAM, 0), first;
	struct pollfd p;
	char got[8];

	(void)state;
	assert_int_equal(bp_phd_sockets_follow(&s, &c, err, sizeof(err)), 0);
	first = dup(s.udp);
	close(first); /* a reader that ended */
	assert_int_equal(sendto(sender, "abc", 3, 0, (struct sockaddr *)&to, sizeof(to)), 3);
	first = dup(s.udp);
	p = (struct pollfd){.fd = first, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(recv(first, got, sizeof(got), 0), 3);
	assert_memory_equal(got, "abc", 3);
	close(first);
	close(sender);
	bp_phd_sockets_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_is_read),
		cmocka_unit_test(other_entries_are_unchanged),
		cmocka_unit_test(invalid_input_is_rejected),
		cmocka_unit_test(environment_is_emptied),
		cmocka_unit_test(configured_sockets_are_taken),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(another_namespace_is_refused),
		cmocka_unit_test(they_follow_the_file),
		cmocka_unit_test(datagrams_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
