/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;

/* The child: reads `from` and runs the pager; if that fails, copies. */
static void run_pager(const char *command, int from)
{
	char text[4096];
	ssize_t n;

	dup2(from, STDIN_FILENO);
	close(from);
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	while ((n = read(STDIN_FILENO, text, sizeof(text))) > 0)
		if (write(STDOUT_FILENO, text, (size_t)n) != n)
			break;
	_exit(0);
}

void bp_pager_begin(void)
{
	const char *command = getenv("PAGER");
	int pipes[2];

	if (command == NULL)
		command = "less 2>/dev/null || cat";
	if (command[0] == '\0' || strcmp(command, "cat") == 0 || !isatty(STDOUT_FILENO) ||
		pipe2(pipes, O_CLOEXEC) != 0)
		return;
	pager = fork();
	if (pager == 0)
		run_pager(command, pipes[0]);
	if (pager > 0)
		dup2(pipes[1], STDOUT_FILENO);
	close(pipes[0]);
	close(pipes[1]);
}

void bp_pager_end(void)
{
	if (pager <= 0)
		return;
	/* the pager reads the end of its input when the last writer has closed it */
	fflush(stdout);
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}
