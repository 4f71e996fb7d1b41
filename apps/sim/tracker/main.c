/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * biplane-tracker-sim: trackers that send spherical readings, and a robot that receives
 * coordinates. It does not link gateway code, in particular not its arithmetic. See --help.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/tracker/send.h"

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

void tracker_fatal(const char *what)
{
	fprintf(stderr, "biplane-tracker-sim: %s: %s\n", what, strerror(errno));
	exit(71);
}

unsigned tracker_socket_len(const struct sockaddr_storage *at)
{
	return at->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

int tracker_socket(const struct sockaddr_storage *at)
{
	const int fd = socket(at->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		tracker_fatal("socket");
	if (bind(fd, (const struct sockaddr *)at, tracker_socket_len(at)) != 0)
		tracker_fatal("cannot bind");
	return fd;
}

int main(int argc, char **argv)
{
	static struct tracker_options o;
	FILE *log = NULL;

	tracker_options_read(&o, argc, argv);
	if (o.log != NULL && (log = fopen(o.log, "w")) == NULL)
		tracker_fatal(o.log);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (o.receive)
		tracker_receive(&o, log, &stopped);
	else
		tracker_send(&o, log);
	if (log != NULL && fclose(log) != 0)
		tracker_fatal(o.log);
	return 0;
}
