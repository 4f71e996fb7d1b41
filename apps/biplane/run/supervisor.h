/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_RUN_SUPERVISOR_H
#define BP_APPS_BIPLANE_RUN_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "apps/biplane/run/backoff.h"
#include "apps/biplane/run/hand_down.h"
#include "apps/biplane/run/heartbeat.h"

/*
 * Supervises processes. It knows only their command lines: `biplane run` starts two planes, the
 * tests start shells.
 *
 * - A plane that ends unexpectedly is reported with its status, counted and restarted (backoff.h);
 *   the others are not affected.
 * - A process with `optional` does not stop the others, whatever its exit status is; after such a
 *   status it is started again BP_SUP_OPTIONAL_NS later. A crash of it is no failure of the stop.
 * - If the first process of a plane exits with 64, 69, 71 or 78 (usage, missing resource, system,
 *   configuration), a retry cannot help: all planes are stopped, and this is the exit status.
 * - SIGTERM or SIGINT: the planes are stopped (SIGTERM) one after the other in their order, the
 *   next one only after the one before it has exited. A second such signal, or a plane that takes
 *   longer than stop_timeout_ns: SIGKILL. Signals within same_signal_ns of the first count as one:
 *   timeout(1) and service managers signal a process and its group too.
 * - A plane that has reported that it is ready, or sent heartbeats (heartbeat.h), and then sends
 *   none for heartbeat_limit_ns hangs: it gets SIGABRT, which leaves a core dump if enabled, and
 * BP_SUP_ABORT_NS later SIGKILL, which also ends a stopped process. Until it is ready it is
 * starting, without a limit. A plane that is being stopped is not watched.
 * - SIGHUP is forwarded to the planes that use it; the others ignore it.
 * - If the supervisor itself dies, the kernel sends SIGTERM to every plane (PR_SET_PDEATHSIG): an
 *   unsupervised plane would not be restarted.
 *
 * Each plane is the leader of its own process group, so that Ctrl-C of a terminal only reaches the
 * supervisor, which keeps the order.
 */
#define BP_SUP_ABORT_NS 2000000000ull
#define BP_SUP_OPTIONAL_NS 30000000000ull

struct bp_sup_plane {
	const char *name;  /* "data plane": for the messages */
	const char *path;  /* the executable */
	char *const *argv; /* NULL terminated */
	bool gets_hup;
	bool optional;           /* the others do their work without it */
	struct bp_hand_down fds; /* that it starts with; other planes do not get them */
	/* Called before every start of it, may change `fds`; may be NULL. */
	void (*prepare)(struct bp_sup_plane *p, void *arg);
	/* the supervisor's own */
	pid_t pid; /* 0: not running */
	uint32_t starts, restarts;
	uint32_t hung; /* of these restarts, because of missing heartbeats */
	bool stop_sent, aborted;
	uint64_t started_ns, start_at_ns, kill_at_ns; /* CLOCK_MONOTONIC */
	struct bp_heartbeat heartbeat;
	struct bp_backoff backoff;
};

struct bp_supervisor {
	struct bp_sup_plane *planes; /* started and stopped in this order */
	unsigned n;
	uint64_t stop_timeout_ns; /* per plane */
	uint64_t same_signal_ns;
	uint64_t heartbeat_limit_ns; /* 0: hanging planes are left alone */
	/*
	 * Of the socket, on which planes also report that they are ready: needed without a limit
	 * too, because a plane may replace the segment after the last call of `changed`. NULL:
	 * none.
	 */
	const char *heartbeat_path;
	/*
	 * Called after every start and end of a plane and when it is ready, and again every second
	 * while it returns false; may be NULL.
	 */
	bool (*changed)(const struct bp_supervisor *s, void *arg);
	void *arg;
	/* the supervisor's own */
	bool stopping, killing;
	int status;
	uint64_t now_ns, notify_at_ns, stop_asked_ns;
	struct bp_heartbeat_socket heartbeats;
	pid_t own_pid;
};

/*
 * Returns when all planes have ended: 0 after an orderly stop, BP_EX_SOFTWARE if a plane was killed
 * or crashed during the stop, BP_EX_OSERR if the supervisor cannot work, otherwise the status of
 * the plane that could not start. Blocks and restores the signals it uses; no other code may call
 * waitpid() on its planes.
 */
int bp_supervisor_run(struct bp_supervisor *s);

#endif
