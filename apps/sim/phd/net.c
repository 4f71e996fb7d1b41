/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/sim/phd/sim.h"

double sim_random(struct sim *s)
{
	/* xorshift64*: the same seed loses the same datagrams. */
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return (double)(s->random * UINT64_C(2685821657736338717) >> 11) / 9007199254740992.0;
}

static void fatal(const char *what)
{
	fprintf(stderr, "biplane-phd-sim: %s: %s\n", what, strerror(errno));
	exit(71);
}

static socklen_t length(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static void watch(struct sim *s, struct sim_device *d, int how, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = d};

	if (epoll_ctl(s->epoll, how, d->fd, &e) != 0)
		fatal("epoll_ctl");
}

/* An address of --sources need not be one of the machine. */
static void bind_source(struct sim *s, struct sim_device *d)
{
	struct sockaddr_storage from;
	int on = 1;

	sim_source(&s->o, d->index, &from);
	if (from.ss_family == 0)
		return;
	if (setsockopt(d->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
		fatal("SO_REUSEADDR");
	if (from.ss_family == AF_INET)
		setsockopt(d->fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	else
		setsockopt(d->fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on));
	if (bind(d->fd, (struct sockaddr *)&from, length(&from)) != 0)
		fatal("cannot bind to the device's source address");
}

void sim_net_open(struct sim *s, struct sim_device *d)
{
	const struct sockaddr_storage *to = &s->o.to;
	int on = 1;

	d->fd = socket(to->ss_family,
		(s->o.tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		fatal("socket");
	bind_source(s, d);
	d->input_len = d->rest_len = 0;
	if (s->o.tcp) {
		setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (d->input == NULL)
			d->input = malloc(SIM_INPUT_MAX);
		if (d->input == NULL)
			fatal("memory");
	}
	if (connect(d->fd, (const struct sockaddr *)to, length(to)) != 0 && errno != EINPROGRESS &&
		!s->o.tcp)
		fatal("cannot reach the manager's address");
	/* epoll also reports a refused connection. */
	watch(s, d, EPOLL_CTL_ADD, s->o.tcp ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void sim_net_close(struct sim *s, struct sim_device *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

/* The kernel accepted only a part: the rest is sent before any other data. */
static void send_stream(struct sim *s, struct sim_device *d, const uint8_t *p, size_t len)
{
	ssize_t n;

	if (d->rest_len > 0) {
		s->counts.not_sent++;
		return;
	}
	n = send(d->fd, p, len, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN)
		return; /* epoll says so too */
	if (n <= 0) {
		s->counts.not_sent++;
		return;
	}
	if ((size_t)n < len) {
		d->rest_len = len - (size_t)n;
		memcpy(d->rest, p + n, d->rest_len);
		watch(s, d, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
	}
}

static void send_datagram(struct sim *s, struct sim_device *d, const uint8_t *p, size_t len)
{
	unsigned times = 1;

	if (s->o.loss > 0 && sim_random(s) < s->o.loss) {
		s->counts.lost_out++;
		return;
	}
	if (s->o.duplicate > 0 && sim_random(s) < s->o.duplicate) {
		s->counts.duplicated++;
		times = 2;
	}
	while (times-- > 0) {
		/* The next send fails with an earlier port-unreachable. */
		if (send(d->fd, p, len, 0) < 0 &&
			(errno != ECONNREFUSED || send(d->fd, p, len, 0) < 0))
			s->counts.not_sent++;
	}
}

void sim_net_send(struct sim *s, struct sim_device *d, const uint8_t *p, size_t len)
{
	if (d->fd < 0)
		return;
	if (s->o.tcp)
		send_stream(s, d, p, len);
	else
		send_datagram(s, d, p, len);
}

void sim_net_flush(struct sim *s, struct sim_device *d)
{
	const size_t len = d->rest_len;
	uint8_t rest[SIM_APDU_MAX];

	watch(s, d, EPOLL_CTL_MOD, EPOLLIN);
	d->rest_len = 0;
	if (len == 0)
		return;
	memcpy(rest, d->rest, len);
	send_stream(s, d, rest, len);
}
