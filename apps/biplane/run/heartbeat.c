/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/run/heartbeat.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int bp_heartbeat_open(struct bp_heartbeat_socket *h, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const size_t n = strlen(path);
	const int on = 1;
	mode_t mask;
	bool bound;
	int e;

	h->fd = -1;
	if (n >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(a.sun_path, path, n);
	memcpy(h->address, path, n + 1);

	h->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0)
		return -1;
	unlink(path); /* of a killed supervisor */
	mask = umask(0177);
	bound = bind(h->fd, (struct sockaddr *)&a, sizeof(a)) == 0;
	umask(mask);
	if (bound && setsockopt(h->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0)
		return 0;
	e = errno;
	bp_heartbeat_close(h);
	errno = e;
	return -1;
}

void bp_heartbeat_close(struct bp_heartbeat_socket *h)
{
	if (h->fd < 0)
		return;
	close(h->fd);
	unlink(h->address);
	h->fd = -1;
}

static pid_t sender(struct msghdr *m)
{
	struct ucred who;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
			c->cmsg_len != CMSG_LEN(sizeof(who)))
			continue;
		memcpy(&who, CMSG_DATA(c), sizeof(who));
		return who.pid;
	}
	return 0;
}

/* Whether one of the lines is `line`. */
static bool has_line(const char *text, const char *line)
{
	const size_t n = strlen(line);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, line, n) == 0 && (at[n] == '\n' || at[n] == '\0'))
			return true;
	}
	return false;
}

bool bp_heartbeat_next(const struct bp_heartbeat_socket *h, pid_t *pid, unsigned *what)
{
	char text[512];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec part = {.iov_base = text, .iov_len = sizeof(text) - 1};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n;

	if (h->fd < 0)
		return false;
	do
		n = recvmsg(h->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	text[n] = '\0';
	*pid = sender(&m);
	*what = (has_line(text, "READY=1") ? BP_HEARTBEAT_READY : 0) |
		(has_line(text, "WATCHDOG=1") ? BP_HEARTBEAT_ALIVE : 0);
	return true;
}

void bp_heartbeat_start(struct bp_heartbeat *b)
{
	b->deadline_ns = UINT64_MAX;
}

void bp_heartbeat_received(struct bp_heartbeat *b, uint64_t now_ns)
{
	if (b->limit_ns != 0)
		b->deadline_ns = now_ns + b->limit_ns;
}

bool bp_heartbeat_missed(const struct bp_heartbeat *b, uint64_t now_ns)
{
	return b->deadline_ns != UINT64_MAX && now_ns >= b->deadline_ns;
}

void bp_heartbeat_forgive(struct bp_heartbeat *b, uint64_t now_ns)
{
	if (b->deadline_ns != UINT64_MAX)
		b->deadline_ns = now_ns + b->limit_ns;
}
