/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_CONTROLPLANE_H
#define BP_CONTROLPLANE_PROCESS_CONTROLPLANE_H

/* Exit statuses of the planes. */
#define BP_EXIT_CONFIG                                                                             \
	78 /* EX_CONFIG: the file, or one it names, is wrong; a restart does not help */

/*
 * The control plane: loads the configuration, opens the segment, activates the rules, publishes
 * alarms and serves the control socket, in one event loop, until SIGTERM or SIGINT. SIGHUP reloads.
 * Sockets for health devices that LISTEN_FDS names (controlplane/health/sockets.h) are used.
 * Returns the exit status: 0 after a signal, BP_EXIT_CONFIG for configuration errors and for
 * unexpected sockets, otherwise 1. Messages go to stderr.
 */
int bp_controlplane_run(const char *config_path);

#endif
