/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

const char *bp_listen_text(const struct bp_config_listen *l, char out[BP_LISTEN_TEXT])
{
	char address[INET6_ADDRSTRLEN];

	if (l->kind == BP_LISTEN_UNIX) {
		snprintf(out, BP_LISTEN_TEXT, "%s", l->path);
		return out;
	}
	inet_ntop(l->address.family == 4 ? AF_INET : AF_INET6, l->address.bytes, address,
		sizeof(address));
	snprintf(out, BP_LISTEN_TEXT, l->address.family == 6 ? "[%s]:%u" : "%s:%u", address,
		l->tcp_port);
	return out;
}

static socklen_t fill(const struct bp_config_listen *l, struct sockaddr_storage *a)
{
	memset(a, 0, sizeof(*a));
	if (l->kind == BP_LISTEN_UNIX) {
		struct sockaddr_un *un = (struct sockaddr_un *)a;

		un->sun_family = AF_UNIX;
		memcpy(un->sun_path, l->path, strlen(l->path) + 1);
		return sizeof(*un);
	}
	if (l->address.family == 6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)a;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(l->tcp_port);
		memcpy(&in6->sin6_addr, l->address.bytes, 16);
		return sizeof(*in6);
	}
	struct sockaddr_in *in = (struct sockaddr_in *)a;

	in->sin_family = AF_INET;
	in->sin_port = htons(l->tcp_port);
	memcpy(&in->sin_addr, l->address.bytes, 4);
	return sizeof(*in);
}

/* Whether the path is a socket on which no process listens. */
static bool is_stale(const char *path, const struct sockaddr *a, socklen_t len)
{
	struct stat st;
	bool refused;
	int fd;

	if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	refused = fd >= 0 && connect(fd, a, len) != 0 && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused;
}

int bp_listen_open(const struct bp_config_listen *l, char *err, size_t err_size)
{
	char text[BP_LISTEN_TEXT];
	struct sockaddr_storage a;
	const socklen_t len = fill(l, &a);
	const int on = 1;
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc, e;
	mode_t mask;

	if (fd >= 0 && l->kind == BP_LISTEN_TCP)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd >= 0 && a.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (l->kind == BP_LISTEN_UNIX && is_stale(l->path, (struct sockaddr *)&a, len))
		unlink(l->path);
	mask = umask(0117);
	rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&a, len);
	e = errno;
	umask(mask);
	if (rc == 0) {
		rc = listen(fd, BACKLOG);
		e = errno;
	}
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(err, err_size, "monitoring.listen: cannot listen on %s: %s%s",
		bp_listen_text(l, text), strerror(e),
		e == EADDRINUSE      ? "; is another monitor running?"
		: e == EADDRNOTAVAIL ? "; no interface of this machine has the address"
				     : "");
	return -1;
}

void bp_listen_remove(const struct bp_config_listen *l)
{
	if (l->kind == BP_LISTEN_UNIX)
		unlink(l->path);
}
