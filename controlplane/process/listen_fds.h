/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_LISTEN_FDS_H
#define BP_CONTROLPLANE_PROCESS_LISTEN_FDS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Descriptors that the parent opened for this process, as in sd_listen_fds(3): they are 3, 4 and so
 * on; LISTEN_FDS is their number, LISTEN_PID the process, and LISTEN_FDNAMES their names, separated
 * by colons.
 */
#define BP_LISTEN_FDS_FIRST 3
#define BP_LISTEN_FDS_MAX 16
#define BP_LISTEN_FDS_NAME 64

struct bp_listen_fds {
	unsigned n;                                       /* the i-th is BP_LISTEN_FDS_FIRST + i */
	char name[BP_LISTEN_FDS_MAX][BP_LISTEN_FDS_NAME]; /* "unknown" where none was given */
};

/* Reads the three variables; NULL: not set. None at all when they are for another process than
 * `own`. 0, or -1 with a sentence. */
int bp_listen_fds_parse(struct bp_listen_fds *out, const char *pid, const char *fds,
	const char *names, pid_t own, char *err, size_t err_size);

/* The same from the environment, which is cleared afterwards so that no child uses them. The
 * descriptors are closed on exec. */
int bp_listen_fds_take(struct bp_listen_fds *out, char *err, size_t err_size);

#endif
