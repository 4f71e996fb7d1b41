/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_RUN_HEARTBEAT_H
#define BP_APPS_BIPLANE_RUN_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The supervisor's end of the notification socket, sd_notify(3): the planes send the same messages
 * to it as to systemd, so that the same defects stop their heartbeats. The kernel identifies the
 * sender of each message, and only the user of the supervisor can write to the socket: other users
 * can neither send heartbeats nor fill the queue so that the planes' heartbeats are lost.
 */
struct bp_heartbeat_socket {
	int fd;            /* nonblocking; -1: closed */
	char address[108]; /* its path, for NOTIFY_SOCKET */
};

/* Replaces the file at `path`. 0, or -1 with errno. */
int bp_heartbeat_open(struct bp_heartbeat_socket *h, const char *path);
/* Also removes the file. */
void bp_heartbeat_close(struct bp_heartbeat_socket *h);

/* Contents of a message. */
#define BP_HEARTBEAT_READY 1u /* READY=1 */
#define BP_HEARTBEAT_ALIVE 2u /* WATCHDOG=1 */

/* Reads the next message: its sender in *pid, its contents in *what. False: there is none. */
bool bp_heartbeat_next(const struct bp_heartbeat_socket *h, pid_t *pid, unsigned *what);

/*
 * Whether a process hangs: it was ready, but has sent no heartbeat for `limit_ns`. Time in which
 * the supervisor itself did not run (it was stopped, or the machine was overloaded) does not count.
 */
struct bp_heartbeat {
	uint64_t limit_ns;    /* 0: is not watched */
	uint64_t deadline_ns; /* UINT64_MAX: not ready yet */
};
void bp_heartbeat_start(struct bp_heartbeat *b);
void bp_heartbeat_received(struct bp_heartbeat *b, uint64_t now_ns);
bool bp_heartbeat_missed(const struct bp_heartbeat *b, uint64_t now_ns);
/* The supervisor did not run: restarts the timeout. */
void bp_heartbeat_forgive(struct bp_heartbeat *b, uint64_t now_ns);

#endif
