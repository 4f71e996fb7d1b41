/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/run/hand_down.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST 3 /* sd_listen_fds(3) */

void bp_hand_down_add(struct bp_hand_down *h, int fd, const char *name)
{
	const size_t len = strlen(h->names);

	if (fd < 0 || h->n == BP_HAND_DOWN_MAX)
		return;
	h->fd[h->n++] = fd;
	snprintf(h->names + len, sizeof(h->names) - len, "%s%s", len > 0 ? ":" : "", name);
}

/* A lock, for one, is held by whichever descriptor: its number does not matter. */
static int move_descriptors(int number, int above)
{
	const int flags = fcntl(number, F_GETFD);

	if (flags < 0 || (flags & FD_CLOEXEC) != 0)
		return 0;
	return fcntl(number, F_DUPFD, above) < 0 ? -1 : 0;
}

static int move_one(const struct bp_hand_down *h)
{
	const int above = FIRST + (int)h->n;
	int copy[BP_HAND_DOWN_MAX];

	/* first moves all of them: one may have the target number of another */
	for (unsigned i = 0; i < h->n; i++) {
		copy[i] = fcntl(h->fd[i], F_DUPFD_CLOEXEC, above);
		if (copy[i] < 0)
			return -1;
	}
	for (unsigned i = 0; i < h->n; i++)
		if (move_descriptors(FIRST + (int)i, above) != 0 ||
			dup2(copy[i], FIRST + (int)i) < 0)
			return -1;
	return 0;
}

int bp_hand_down(const struct bp_hand_down *h)
{
	char pid[24], n[24];

	if (h->n == 0)
		return unsetenv("LISTEN_PID") | unsetenv("LISTEN_FDS") | unsetenv("LISTEN_FDNAMES");
	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	snprintf(n, sizeof(n), "%u", h->n);
	if (move_one(h) != 0 || setenv("LISTEN_PID", pid, 1) != 0 ||
		setenv("LISTEN_FDS", n, 1) != 0 || setenv("LISTEN_FDNAMES", h->names, 1) != 0)
		return -1;
	return 0;
}
