/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_RUN_HAND_DOWN_H
#define BP_APPS_BIPLANE_RUN_HAND_DOWN_H

#define BP_HAND_DOWN_MAX 8

/* Descriptors that a process is started with, as sd_listen_fds(3) has it. */
struct bp_hand_down {
	unsigned n;
	int fd[BP_HAND_DOWN_MAX]; /* stay the parent's */
	char names[128];          /* with colons in between */
};

/* Adds one; no effect if `fd` < 0. */
void bp_hand_down_add(struct bp_hand_down *h, int fd, const char *name);

/*
 * Runs between fork and exec, in a process without threads: the descriptors become 3, 4 and so on,
 * and LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID describe them; without descriptors these are unset.
 * Other descriptors that the new program inherits remain open, with another number if necessary. 0,
 * or -1 with errno.
 */
int bp_hand_down(const struct bp_hand_down *h);

#endif
