/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/health/server.h"
#include "controlplane/health/tcp.h"

/* Returns -1 if the option is unavailable: the socket is then unsuitable. */
static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) == 0 ? value : -1;
}

/* Returns the bound address; false: it is not an IPv6 socket. */
static bool bound_to(int fd, struct sockaddr_in6 *out)
{
	socklen_t len = sizeof(*out);

	memset(out, 0, sizeof(*out));
	return getsockname(fd, (struct sockaddr *)out, &len) == 0 && out->sin6_family == AF_INET6;
}

/* Returns the network namespace of a socket; 0: the kernel (before 5.14) does not provide it. */
static uint64_t namespace_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0 ? cookie : 0;
}

/* Returns whether no packet for our interfaces can ever reach the socket. */
static bool is_other_netns(int fd)
{
	const int own = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool elsewhere;

	if (own < 0)
		return false;
	elsewhere = namespace_of(fd) != namespace_of(own);
	close(own);
	return elsewhere;
}

/* Returns the reason why the socket is unsuitable; NULL: it is suitable. */
static const char *fault(int fd, int type, uint16_t port)
{
	struct sockaddr_in6 at;

	if (option(fd, SOL_SOCKET, SO_TYPE) != type)
		return type == SOCK_DGRAM ? "it is not a datagram socket"
					  : "it is not a stream socket";
	if (!bound_to(fd, &at))
		return "it is not an IPv6 socket";
	if (is_other_netns(fd))
		return "it is in another network namespace";
	if (!IN6_IS_ADDR_UNSPECIFIED(&at.sin6_addr))
		return "it is bound to one address";
	if (option(fd, IPPROTO_IPV6, IPV6_V6ONLY) != 0)
		return "it does not accept IPv4";
	if (ntohs(at.sin6_port) != port)
		return "it has another port";
	if (type == SOCK_STREAM && option(fd, SOL_SOCKET, SO_ACCEPTCONN) != 1)
		return "it does not listen";
	return NULL;
}

static int take_one(
	int *out, int fd, const char *name, int type, uint16_t port, char *err, size_t err_size)
{
	const char *why = port == 0   ? "health_devices.listen does not have it"
			  : *out >= 0 ? "another descriptor has this name"
				      : fault(fd, type, port);

	if (why == NULL &&
		(type == SOCK_DGRAM ? bp_phd_server_prepare(fd) : bp_phd_tcp_prepare(fd)) != 0)
		why = strerror(errno);
	if (why == NULL) {
		*out = fd;
		return 0;
	}
	if (port == 0)
		snprintf(err, err_size,
			"LISTEN_FDS: descriptor %d (%s) is inherited, and %s; "
			"expected no such descriptor, or its port in health_devices.listen",
			fd, name, why);
	else
		snprintf(err, err_size,
			"LISTEN_FDS: descriptor %d (%s): %s; expected a %s socket for IPv6 and "
			"IPv4, bound to [::]:%u%s, as health_devices.listen has it",
			fd, name, why, type == SOCK_DGRAM ? "UDP" : "TCP", port,
			type == SOCK_DGRAM ? "" : ", that listens");
	return -1;
}

int bp_phd_sockets_take(struct bp_phd_sockets *out, const struct bp_listen_fds *fds,
	const struct bp_config_phd *c, char *err, size_t err_size)
{
	struct bp_phd_sockets s = {-1, -1};
	int status = 0;

	for (unsigned i = 0; i < fds->n && status == 0; i++) {
		const int fd = BP_LISTEN_FDS_FIRST + (int)i;
		const char *name = fds->name[i];

		if (strcmp(name, BP_PHD_UDP_NAME) == 0) {
			status = take_one(&s.udp, fd, name, SOCK_DGRAM,
				c->enabled ? c->listen_udp_port : 0, err, err_size);
		} else if (strcmp(name, BP_PHD_TCP_NAME) == 0) {
			status = take_one(&s.tcp, fd, name, SOCK_STREAM,
				c->enabled ? c->listen_tcp_port : 0, err, err_size);
		} else {
			snprintf(err, err_size,
				"LISTEN_FDS: descriptor %d is called '%s'; "
				"expected " BP_PHD_UDP_NAME " or " BP_PHD_TCP_NAME
				" in LISTEN_FDNAMES (FileDescriptorName= of a socket unit)",
				fd, name);
			status = -1;
		}
	}
	*out = status == 0 ? s : (struct bp_phd_sockets){-1, -1};
	return status;
}

/* Returns whether this port is already in the list. */
static bool has_port(int fd, uint16_t port)
{
	struct sockaddr_in6 at;

	return fd >= 0 && port != 0 && bound_to(fd, &at) && ntohs(at.sin6_port) == port;
}

static int follow_one(int *fd, uint16_t port, int (*open_it)(uint16_t, char *, size_t), char *err,
	size_t err_size)
{
	if (has_port(*fd, port))
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	if (port == 0)
		return 0;
	*fd = open_it(port, err, err_size);
	return *fd >= 0 ? 0 : -1;
}

int bp_phd_sockets_follow(
	struct bp_phd_sockets *s, const struct bp_config_phd *c, char *err, size_t err_size)
{
	char why[2][256] = {"", ""};
	const int udp = follow_one(&s->udp, c->enabled ? c->listen_udp_port : 0,
		bp_phd_server_socket, why[0], sizeof(why[0]));
	const int tcp = follow_one(&s->tcp, c->enabled ? c->listen_tcp_port : 0, bp_phd_tcp_socket,
		why[1], sizeof(why[1]));

	if (udp == 0 && tcp == 0)
		return 0;
	snprintf(err, err_size, "%s%s%s", why[0], udp != 0 && tcp != 0 ? "; " : "", why[1]);
	return -1;
}

void bp_phd_sockets_close(struct bp_phd_sockets *s)
{
	if (s->udp >= 0)
		close(s->udp);
	if (s->tcp >= 0)
		close(s->tcp);
	*s = (struct bp_phd_sockets){-1, -1};
}
