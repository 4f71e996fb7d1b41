/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/process/process_rig.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/segment.h"
#include "config/config.h"
#include "controlplane/process/controlplane.h"

#define AS_CONTROLPLANE "--controlplane"

void process_begin(struct process *p)
{
	memset(p, 0, sizeof(*p));
	test_dir_make(p->dir, sizeof(p->dir));
	snprintf(p->config_path, sizeof(p->config_path), "%s/biplane.yaml", p->dir);
	snprintf(p->socket_path, sizeof(p->socket_path), "%s/test.sock", p->dir);
}

void process_end(struct process *p)
{
	if (p->pid != 0) {
		kill(p->pid, SIGKILL);
		process_wait(p);
	}
	if (p->shm.segment != NULL)
		bp_segment_close(p->shm.segment);
	test_dir_remove(p->dir);
}

int process_setup(void **state)
{
	struct process *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	process_begin(p);
	*state = p;
	return 0;
}

int process_teardown(void **state)
{
	process_end(*state);
	free(*state);
	return 0;
}

void process_write_bridge(const struct process *p, const char *more)
{
	char text[2048];

	snprintf(text, sizeof(text),
		"version: 1\nname: test\nruntime: {directory: %s, hugepages: never}\n"
		"ports: [{name: devices, device: net_null0}, {name: cloud, device: net_null1}]\n"
		"bridges: [{name: bridge0, ports: [devices, cloud]}]\n%s",
		p->dir, more);
	test_write_file(p->config_path, text);
}

/*
 * A program of its own, not only a fork: a thread of the test, such as a subscriber, may hold the
 * allocator's lock at the moment of the fork, and no one would give it back in the child.
 */
void process_start(struct process *p)
{
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "controlplane", AS_CONTROLPLANE, p->config_path,
			(char *)NULL);
		_exit(127);
	}
}

int process_wait(struct process *p)
{
	int status = 0;

	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	return status;
}

void process_kill(struct process *p)
{
	kill(p->pid, SIGKILL);
	assert_true(WIFSIGNALED(process_wait(p)));
}

struct bp_config *process_attach(struct process *p)
{
	struct bp_config *c = bp_config_load(p->config_path, stderr);
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;
	char err[512];
	unsigned n;

	assert_non_null(c);
	n = bp_shm_specs(c, specs);
	/* tests also leave behind what a control plane that was killed would */
	s = bp_segment_open(c->name, NULL, c->runtime_dir, specs, n, 0, err, sizeof(err));
	if (s == NULL || bp_shm_map(&p->shm, s, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	return c;
}

bool process_has_ended(const struct process *p)
{
	siginfo_t ended = {0};

	return waitid(P_PID, (id_t)p->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       ended.si_pid != 0;
}

json_t *process_ask(struct process *p, const char *command)
{
	char err[512];
	json_t *reply = NULL;

	WAIT_UNTIL(bp_control_request(p->socket_path, command, &reply, err, sizeof(err)) == 0 ||
		   process_has_ended(p));
	assert_non_null(reply);
	return reply;
}

bool process_is_controlplane(int argc, char **argv, int *status)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc != 3 || strcmp(argv[1], AS_CONTROLPLANE) != 0)
		return false;
	*status = bp_controlplane_run(argv[2]);
	return true;
}
