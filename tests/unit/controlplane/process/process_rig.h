/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_PROCESS_PROCESS_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_PROCESS_PROCESS_RIG_H

#include <jansson.h>

#include "controlplane/process/control.h"
#include "tests/unit/controlplane/test.h"

/*
 * The control plane as a process of its own, which the test starts and kills, and the segment, in
 * which the test plays the data plane.
 */
struct process {
	char dir[64], config_path[128], socket_path[128];
	struct bp_shm shm; /* segment NULL: not attached */
	pid_t pid;         /* 0: none runs */
};

/* A new directory; the test writes the configuration file in it, with the instance name "test". */
void process_begin(struct process *p);
/* Kills it, and removes all. */
void process_end(struct process *p);

/* The same as cmocka has it: *state is the struct process. */
int process_setup(void **state);
int process_teardown(void **state);

/* A file with ports devices and cloud, bridged, and `more`. */
void process_write_bridge(const struct process *p, const char *more);

void process_start(struct process *p);
/* Its status of waitpid(2), once it has ended. */
int process_wait(struct process *p);
void process_kill(struct process *p);
bool process_has_ended(const struct process *p);

/* The data plane's side of the segment, for the file as it is, which is returned: free it. */
struct bp_config *process_attach(struct process *p);
/* The answer, as soon as there is a socket to ask. A new reference. */
json_t *process_ask(struct process *p, const char *command);

/* To be called first in main(): true in a process that process_start() started, which has ended
 * then with *status. */
bool process_is_controlplane(int argc, char **argv, int *status);

#endif
