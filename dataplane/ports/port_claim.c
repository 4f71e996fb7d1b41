/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/port_claim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "biplane/limits.h"

#define BACKLOG 16
#define ATTEMPTS 20 /* of 100 ms */

static int claim[BP_MAX_PORTS];
static unsigned n_claims;

static socklen_t address_of(struct sockaddr_un *a, const char *interface)
{
	int n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	/* sun_path[0] is 0: an abstract name, not a file */
	n = snprintf(
		a->sun_path + 1, sizeof(a->sun_path) - 1, "biplane/interface/%.64s", interface);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/*
 * The process that holds the claim, if it runs as this user or as root. Other users can create a
 * socket of that name too, and must not be able to stop a gateway with it. 0: none.
 */
static pid_t holder(const struct sockaddr_un *a, socklen_t len)
{
	struct ucred who = {0};
	socklen_t size = sizeof(who);
	const struct timespec pause = {.tv_nsec = 100000000};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc = -1;

	if (fd < 0)
		return 0;
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		rc = connect(fd, (const struct sockaddr *)a, len);
		if (rc == 0 || errno != EAGAIN)
			break;
		nanosleep(&pause, NULL); /* a running data plane accepts pending connections soon */
	}
	if (rc != 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
		who.pid = 0;
	close(fd);
	return who.uid == 0 || who.uid == geteuid() ? who.pid : 0;
}

int bp_port_claim(const char *port, const char *interface, char *err, size_t err_size)
{
	struct sockaddr_un a;
	const socklen_t len = address_of(&a, interface);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), e;
	pid_t pid;

	if (fd >= 0 && n_claims < BP_MAX_PORTS && bind(fd, (const struct sockaddr *)&a, len) == 0 &&
		listen(fd, BACKLOG) == 0) {
		claim[n_claims++] = fd;
		return 0;
	}
	e = errno;
	if (fd >= 0)
		close(fd);
	pid = e == EADDRINUSE ? holder(&a, len) : 0;
	/* AF_XDP: one process may use several queues of an interface */
	if (pid == 0 || pid == getpid())
		return 0;
	snprintf(err, err_size,
		"port %s: interface %s is a port of another data plane that runs (process %ld); "
		"both "
		"would forward every frame. Stop that one, or give this instance interfaces of its "
		"own",
		port, interface, (long)pid);
	return -1;
}

void bp_port_claims_serve(void)
{
	for (unsigned i = 0; i < n_claims; i++) {
		int fd;

		while ((fd = accept4(claim[i], NULL, NULL, SOCK_CLOEXEC)) >= 0)
			close(fd);
	}
}

void bp_port_claims_release(void)
{
	while (n_claims != 0)
		close(claim[--n_claims]);
}
