/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/cse_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/errqueue.h>
#include <string.h>
#include <unistd.h>

#define ERRORS_MAX 8u /* between two datagrams */

static socklen_t address_len(const struct bp_cse_socket *s)
{
	return s->to->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					   : sizeof(struct sockaddr_in6);
}

static bool connect_it(struct bp_cse_socket *s)
{
	return connect(s->fd, (const struct sockaddr *)s->to, address_len(s)) == 0;
}

/* Requests the quoted datagram with each ICMP error, to the byte, and not only the fact of an
 * error. */
static void keep_errors(const struct bp_cse_socket *s)
{
	const int on = 1;

	if (s->to->ss_family == AF_INET)
		setsockopt(s->fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	else
		setsockopt(s->fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
}

/* Without a route the socket cannot be connected: each transmission tries again. */
static bool open_socket(struct bp_cse_socket *s)
{
	if (s->fd >= 0)
		return true;
	s->fd = socket(s->to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return false;
	keep_errors(s);
	if (connect_it(s))
		s->readable =
			event_new(s->base, s->fd, EV_READ | EV_PERSIST, s->on_readable, s->arg);
	if (s->readable == NULL || event_add(s->readable, NULL) != 0) {
		bp_cse_socket_close(s);
		return false;
	}
	return true;
}

void bp_cse_socket_reconnect(struct bp_cse_socket *s)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct sockaddr_storage own = {0};
	socklen_t len = sizeof(own);

	if (s->fd < 0)
		return;
	/* Any source address, but the same port: the CSE recognizes repeated requests by port and
	 * message id, if our address is unchanged. */
	if (getsockname(s->fd, (struct sockaddr *)&own, &len) == 0 &&
		connect(s->fd, &none, sizeof(none)) == 0) {
		if (own.ss_family == AF_INET)
			((struct sockaddr_in *)&own)->sin_addr.s_addr = INADDR_ANY;
		else
			((struct sockaddr_in6 *)&own)->sin6_addr = in6addr_any;
		(void)bind(s->fd, (const struct sockaddr *)&own, len); /* otherwise any port */
	}
	if (!connect_it(s))
		bp_cse_socket_close(s); /* opened again at the next transmission */
}

bool bp_cse_socket_send(struct bp_cse_socket *s, const uint8_t *p, size_t len)
{
	if (!open_socket(s))
		return false;
	if (send(s->fd, p, len, MSG_NOSIGNAL) >= 0)
		return true;
	/* send() may return the error of an earlier datagram and not send this one. */
	if (send(s->fd, p, len, MSG_NOSIGNAL) >= 0)
		return true;
	if (errno == EAGAIN || errno == ENOBUFS || errno == EMSGSIZE)
		return false;
	bp_cse_socket_reconnect(s); /* the source address was removed, or has no route */
	return open_socket(s) && send(s->fd, p, len, MSG_NOSIGNAL) >= 0;
}

ssize_t bp_cse_socket_receive(struct bp_cse_socket *s, uint8_t *p, size_t size)
{
	/* the socket reports an error once here, and keeps it for bp_cse_socket_error() */
	for (unsigned i = 0; s->fd >= 0 && i < ERRORS_MAX; i++) {
		ssize_t n = recv(s->fd, p, size, 0);

		if (n >= 0 || errno == EAGAIN || errno == EWOULDBLOCK)
			return n;
	}
	return -1;
}

bool bp_cse_socket_error(
	struct bp_cse_socket *s, uint8_t *p, size_t size, size_t *len, bool *refused)
{
	union {
		struct cmsghdr h;
		char space[512];
	} control;
	struct iovec bytes = {.iov_base = p, .iov_len = size};
	struct msghdr m = {.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = s->fd >= 0 ? recvmsg(s->fd, &m, MSG_ERRQUEUE) : -1;

	if (n < 0)
		return false;
	*len = (size_t)n;
	*refused = false;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h != NULL; h = CMSG_NXTHDR(&m, h)) {
		struct sock_extended_err e;

		if ((h->cmsg_level != IPPROTO_IP || h->cmsg_type != IP_RECVERR) &&
			(h->cmsg_level != IPPROTO_IPV6 || h->cmsg_type != IPV6_RECVERR))
			continue;
		memcpy(&e, CMSG_DATA(h), sizeof(e));
		*refused = e.ee_errno == ECONNREFUSED;
	}
	return true;
}

void bp_cse_socket_close(struct bp_cse_socket *s)
{
	if (s->readable != NULL)
		event_free(s->readable);
	s->readable = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
