/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_SESSIONS_H
#define BP_APPS_BIPLANE_DOCTOR_SESSIONS_H

#include <stdint.h>

#include "biplane/fib.h"

#define BP_DOCTOR_SESSIONS_MAX 256

/*
 * SSH sessions of this machine, by which somebody may be looking at it: that of the caller, from
 * SSH_CONNECTION in its environment or in that of a process above it (sudo takes it away) or from
 * the connection of the sshd above it; and whatever else is established on a port of sshd's.
 */
struct bp_doctor_sessions {
	unsigned n;
	struct bp_doctor_session {
		struct bp_address local, peer;
	} session[BP_DOCTOR_SESSIONS_MAX];
	/* A sentence when the caller is below sshd and its connection was not found, or when there
	 * are more than fit; else "". */
	char unknown[256];
};

/* connection: SSH_CONNECTION, or NULL; pid: the caller, in proc/ below the root. */
void bp_doctor_sessions_read(
	const char *root, const char *connection, uint64_t pid, struct bp_doctor_sessions *out);

#endif
