/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/listen_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a decimal number up to `max`, without any other character. */
static bool read_number(const char *text, unsigned long max, unsigned long *out)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*out = strtoul(text, &end, 10);
	return errno == 0 && *end == '\0' && *out <= max;
}

static int read_names(struct bp_listen_fds *out, const char *names, char *err, size_t err_size)
{
	unsigned n = 0;
	size_t len;

	for (const char *at = names;; at += len + 1) {
		len = strcspn(at, ":");
		if (n == out->n || len >= BP_LISTEN_FDS_NAME)
			break;
		memcpy(out->name[n], at, len);
		out->name[n++][len] = '\0';
		if (at[len] == '\0' && n == out->n)
			return 0;
		if (at[len] == '\0')
			break;
	}
	snprintf(err, err_size,
		"LISTEN_FDNAMES is '%s'; expected %u names of at most %u bytes, separated by "
		"colons, as in LISTEN_FDS",
		names, out->n, BP_LISTEN_FDS_NAME - 1);
	return -1;
}

int bp_listen_fds_parse(struct bp_listen_fds *out, const char *pid, const char *fds,
	const char *names, pid_t own, char *err, size_t err_size)
{
	unsigned long number;

	memset(out, 0, sizeof(*out));
	if (pid == NULL || fds == NULL)
		return 0;
	if (!read_number(pid, INT_MAX, &number)) {
		snprintf(
			err, err_size, "LISTEN_PID is '%s'; expected the number of a process", pid);
		return -1;
	}
	if ((pid_t)number != own)
		return 0;
	if (!read_number(fds, BP_LISTEN_FDS_MAX, &number)) {
		snprintf(err, err_size,
			"LISTEN_FDS is '%s'; expected the number of descriptors, at most %u", fds,
			BP_LISTEN_FDS_MAX);
		return -1;
	}
	out->n = (unsigned)number;
	for (unsigned i = 0; i < out->n; i++)
		strcpy(out->name[i], "unknown");
	return names == NULL || out->n == 0 ? 0 : read_names(out, names, err, err_size);
}

int bp_listen_fds_take(struct bp_listen_fds *out, char *err, size_t err_size)
{
	int status = bp_listen_fds_parse(out, getenv("LISTEN_PID"), getenv("LISTEN_FDS"),
		getenv("LISTEN_FDNAMES"), getpid(), err, err_size);

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	for (unsigned i = 0; status == 0 && i < out->n; i++) {
		const int fd = BP_LISTEN_FDS_FIRST + (int)i;

		if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
			continue;
		snprintf(err, err_size, "LISTEN_FDS says %u, and descriptor %d (%s) is not open",
			out->n, fd, out->name[i]);
		status = -1;
	}
	if (status != 0)
		out->n = 0;
	return status;
}
