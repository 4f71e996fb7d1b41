/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATUS_SIZE 256

/* Sets the address of the service manager's socket. Returns its length, or 0 if there is no usable
 * socket. */
static socklen_t manager(struct sockaddr_un *a)
{
	const char *path = getenv("NOTIFY_SOCKET");
	const size_t n = path ? strlen(path) : 0;
	size_t most = sizeof(a->sun_path);

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (n < 2 || (path[0] != '/' && path[0] != '@'))
		return 0;
	if (path[0] == '/')
		most--; /* a path ends with a NUL byte, a name in the abstract namespace does not */
	if (n > most)
		return 0;
	memcpy(a->sun_path, path, n);
	if (path[0] == '@') /* abstract namespace */
		a->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

/* Like sd_notify(), but does not block when the service manager does not read. */
static bool say(const char *text)
{
	struct sockaddr_un a;
	const socklen_t size = manager(&a);
	bool full;
	int fd;

	if (size == 0)
		return true;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	full = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&a, size) < 0 &&
	       (errno == EAGAIN || errno == ENOBUFS);
	close(fd);
	return !full;
}

bool bp_notify_ready(void)
{
	return say("READY=1");
}

bool bp_notify_stopping(void)
{
	return say("STOPPING=1");
}

bool bp_notify_status(const char *format, ...)
{
	char text[STATUS_SIZE] = "STATUS=";
	const size_t n = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - n, format, args);
	va_end(args);
	return say(text);
}

bool bp_notify_alive(void)
{
	return say("WATCHDOG=1");
}

/* Returns the number in an environment variable, or 0 if it holds no number. */
static uint64_t number(const char *variable)
{
	const char *text = getenv(variable);
	char *end;
	uint64_t n;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' ? n : 0;
}

/* Like sd_watchdog_enabled(3). */
uint64_t bp_notify_watchdog_ns(void)
{
	const uint64_t us = number("WATCHDOG_USEC");

	if (getenv("WATCHDOG_PID") && number("WATCHDOG_PID") != (uint64_t)getpid())
		return 0;
	return us < UINT64_MAX / 1000 ? us * 1000 : 0;
}
