/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/fleet/redis_rig.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void make(struct test_redis *r, const char *dir, const char *name, const char *more)
{
	char path[300], text[2048];

	snprintf(r->dir, sizeof(r->dir), "%s/%s", dir, name);
	assert_int_equal(mkdir(r->dir, 0755), 0);
	r->port = test_free_port();
	snprintf(text, sizeof(text), "%s %u\nbind 127.0.0.1\ndir %s\nlogfile %s/log\n%s%s",
		strstr(more, "tls-port") != NULL ? "port 0\ntls-port" : "port", r->port, r->dir,
		r->dir, r->sentinel ? "" : "save \"\"\nrepl-diskless-sync-delay 0\n", more);
	snprintf(path, sizeof(path), "%s/conf", r->dir);
	test_write_file(path, text);
}

void test_redis_make(struct test_redis *r, const char *dir, const char *name, const char *more)
{
	memset(r, 0, sizeof(*r));
	make(r, dir, name, more);
}

void test_redis_make_sentinel(
	struct test_redis *r, const char *dir, const char *name, const char *more)
{
	memset(r, 0, sizeof(*r));
	r->sentinel = true;
	make(r, dir, name, more);
}

const char *test_redis_user(void)
{
	static char line[1024];
	FILE *page = fopen(HOWTO, "re");
	bool found = false;

	assert_non_null(page);
	while (!found && fgets(line, sizeof(line), page) != NULL)
		found = strncmp(line, "user biplane on >SECRET ", 24) == 0;
	fclose(page);
	if (!found)
		fail_msg("%s has no line of the user biplane with the password SECRET", HOWTO);
	return line;
}

const char *test_redis_login(const char *dir)
{
	static char text[256];
	char path[128];

	snprintf(path, sizeof(path), "%s/redis.password", dir);
	test_write_file(path, "SECRET\n");
	assert_int_equal(chmod(path, 0640), 0);
	snprintf(text, sizeof(text), ", username: biplane, password_file: %s", path);
	return text;
}

void test_redis_assert_access(const struct test_redis *r)
{
	if (r->pid != 0)
		assert_string_equal(test_redis_cli(r, "acl log"), "");
}

const char *test_redis_cli(const struct test_redis *r, const char *words)
{
	static char out[4096];
	char command[1024];
	size_t n;
	FILE *p;

	snprintf(command, sizeof(command), "timeout 10 redis-cli -p %u %s 2>&1", r->port, words);
	p = popen(command, "re");
	assert_non_null(p);
	n = fread(out, 1, sizeof(out) - 1, p);
	pclose(p);
	while (n > 0 && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
	return out;
}

void test_redis_start(struct test_redis *r)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/conf", r->dir);
	r->pid = fork();
	assert_true(r->pid >= 0);
	if (r->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* no server outlives a test that was killed */
		execlp("redis-server", "redis-server", path, r->sentinel ? "--sentinel" : NULL,
			(char *)NULL);
		_exit(127);
	}
	WAIT_UNTIL(test_takes_connections(r->port));
}

void test_redis_kill(struct test_redis *r)
{
	int status;

	if (r->pid == 0)
		return;
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	r->pid = 0;
}
