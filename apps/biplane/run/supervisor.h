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
 * Keeps processes alive. Knows nothing of planes but their command lines: `biplane run` gives it
 * two, the tests give it shells.
 *
 * - A plane that ends unasked is reported with how, counted and started again (backoff.h); the
 *   others are not touched.
 * - A plane whose very first process exits with 64, 69, 71 or 78 (usage, missing resource, system,
 *   configuration) can't be helped by another try: all planes are stopped, and that is the status.
 * - SIGTERM or SIGINT: the planes are told to end (SIGTERM) one after the other in their order, the
 *   next one only when the one before it has gone. A second such signal, or a plane that takes
 *   longer than stop_timeout_ns: SIGKILL. Those that come within same_signal_ns of the first are
 * the same wish: timeout(1) and service managers signal a process and its group too.
 * - A plane that has given heartbeats (heartbeat.h) and then none for heartbeat_limit_ns hangs: it
 *   gets SIGABRT, which leaves a core dump where those are kept, and BP_SUP_ABORT_NS later SIGKILL,
 *   which also ends one that is stopped. Until its first heartbeat it starts, however long that
 *   takes. One that was told to end is not watched.
 * - SIGHUP goes on to the planes that want it; the others ignore it.
 * - Should the supervisor itself die in whatever way, the kernel sends every plane SIGTERM
 *   (PR_SET_PDEATHSIG): planes that nobody watches would be planes that nobody restarts.
 *
 * Each plane is the leader of its own process group, so that a terminal's Ctrl-C reaches the
 * supervisor alone, and the order is kept.
 */
#define BP_SUP_ABORT_NS 2000000000ull

struct bp_sup_plane {
	const char *name;  /* "data plane": for the messages */
	const char *path;  /* what to execute */
	char *const *argv; /* NULL terminated */
	bool gets_hup;
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
	const char *heartbeat_path;  /* of the socket; needed with a limit */
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
 * Returns when all planes have ended: 0 after an orderly stop, BP_EX_SOFTWARE when a plane had to
 * be killed or crashed while it stopped, BP_EX_OSERR when it can't work at all, else the status of
 * the plane that could not start. Blocks and restores the signals it uses; needs to be the only
 * user of waitpid() on its planes.
 */
int bp_supervisor_run(struct bp_supervisor *s);

#endif
