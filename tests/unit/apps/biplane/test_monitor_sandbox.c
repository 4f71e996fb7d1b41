/* SPDX-License-Identifier: BSD-3-Clause */
/* What the monitor can no longer do. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "apps/biplane/monitor/sandbox.h"

static char top[64], own[96], other[96];

static int make(void **state)
{
	(void)state;
	strcpy(top, "/tmp/biplane-sandbox.XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	snprintf(own, sizeof(own), "%s/own", top);
	snprintf(other, sizeof(other), "%s/other", top);
	return mkdir(own, 0755) != 0 || mkdir(other, 0755) != 0;
}

static int clean(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

/* The exit status of a process in the sandbox: the number of the first check that fails, or 0. */
static int confined(int (*check)(void))
{
	const char *const readable[] = {top, NULL}, *const writable[] = {own, NULL};
	char err[256];
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(bp_sandbox_enter(readable, writable, false, err, sizeof(err)) == 0 ? check()
											 : 99);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool creates(const char *directory)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/file", directory);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int files(void)
{
	int fd;

	if (!creates(own))
		return 1;
	if (creates(other))
		return 2;
	if (mkdir("/tmp/biplane-sandbox-new", 0755) == 0)
		return 3;
	fd = open("/etc/hostname", O_RDONLY);
	if (fd < 0)
		return 4;
	if (rmdir(other) == 0)
		return 5;
	if (open("/dev/null", O_WRONLY) >= 0)
		return 6;
	return 0;
}

static int programs(void)
{
	execl("/bin/true", "true", NULL);
	return errno == EACCES ? 0 : 1;
}

static int connections(void)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(1), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* without the restriction: ECONNREFUSED */
	return connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0 && errno == EACCES ? 0 : 1;
}

/* The parent has the same user. */
static int signals(void)
{
	if (kill(getppid(), SIGCONT) == 0 || errno != EPERM)
		return 1;
	return kill(getpid(), 0) == 0 ? 0 : 2;
}

static int privileges(void)
{
	struct rlimit core;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 1;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (f == NULL || caps != 0)
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 2;
	if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0)
		return 3;
	if (chown(own, 1, 1) == 0)
		return 4;
	if (getuid() == 0 && setuid(1) == 0)
		return 5;
	return 0;
}

static long landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
}

static void it_has_no_privileges(void **state)
{
	(void)state;
	assert_int_equal(confined(privileges), 0);
}

static void it_writes_only_its_directory(void **state)
{
	(void)state;
	if (landlock() < 1)
		skip();
	assert_int_equal(confined(files), 0);
}

static void it_executes_nothing(void **state)
{
	(void)state;
	if (landlock() < 1)
		skip();
	assert_int_equal(confined(programs), 0);
}

static void it_connects_to_nothing(void **state)
{
	(void)state;
	if (landlock() < 4)
		skip();
	assert_int_equal(confined(connections), 0);
}

static void it_signals_no_other_process(void **state)
{
	(void)state;
	if (landlock() < 6)
		skip();
	assert_int_equal(confined(signals), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_no_privileges),
		cmocka_unit_test(it_writes_only_its_directory),
		cmocka_unit_test(it_executes_nothing),
		cmocka_unit_test(it_connects_to_nothing),
		cmocka_unit_test(it_signals_no_other_process),
	};

	return cmocka_run_group_tests(tests, make, clean);
}
