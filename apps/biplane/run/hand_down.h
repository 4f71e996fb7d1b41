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

/* Adds one; `fd` < 0: nothing. */
void bp_hand_down_add(struct bp_hand_down *h, int fd, const char *name);

/*
 * Between fork and exec, in a process without threads: the descriptors are 3, 4 and so on, and
 * LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID say so; with none of them these are unset. What else
 * the new program is to inherit keeps open, under another number where it has to. 0, or -1 with
 * errno.
 */
int bp_hand_down(const struct bp_hand_down *h);

#endif
