/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_AGAIN_MS 20

int bp_runtime_dir_make(const char *dir, char *err, size_t err_size)
{
	char path[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path)) {
		snprintf(err, err_size, "runtime.directory is longer than a path can be");
		return -1;
	}
	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c != '/' && c != 0)
			continue;
		*p = 0;
		if (mkdir(path, 0755) && errno != EEXIST) {
			snprintf(err, err_size,
				"cannot create the runtime directory %s: %s; create it, or set "
				"runtime.directory to a directory that this user may write",
				path, strerror(errno));
			return -1;
		}
		*p = c;
		if (c == 0)
			break;
	}
	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		snprintf(err, err_size, "runtime.directory %s is not a directory", path);
		return -1;
	}
	return 0;
}

/* The process number in the file, or 0 if there is no valid one. */
static pid_t holder(int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;

	return pid > 0 && pid < INT_MAX ? (pid_t)pid : 0;
}

static bool is_running(pid_t pid)
{
	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* Whether the locked file still has this name: its holder removes it at exit. */
static bool still_there(int fd, const char *path)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
	       mine.st_dev == there.st_dev;
}

/* 0 locked, 1 held by another process, -1 error with a message. */
static int try_lock(struct bp_instance_lock *l, int inherit, pid_t *other, char *err, size_t size)
{
	for (;;) {
		int fd = open(l->path, O_RDWR | O_CREAT | (inherit ? 0 : O_CLOEXEC), 0644);

		if (fd < 0) {
			snprintf(
				err, size, "cannot open the file %s: %s", l->path, strerror(errno));
			return -1;
		}
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			bool held = errno == EWOULDBLOCK;

			*other = holder(fd);
			if (!held)
				snprintf(err, size, "cannot lock the file %s: %s", l->path,
					strerror(errno));
			close(fd);
			return held ? 1 : -1;
		}
		if (still_there(fd, l->path)) {
			l->fd = fd;
			return 0;
		}
		close(fd);
	}
}

static int write_pid(struct bp_instance_lock *l, char *err, size_t size)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (ftruncate(l->fd, 0) == 0 && pwrite(l->fd, text, (size_t)n, 0) == n)
		return 0;
	snprintf(err, size, "cannot write the file %s: %s", l->path, strerror(errno));
	close(l->fd);
	l->fd = -1;
	return -1;
}

int bp_instance_lock(struct bp_instance_lock *l, const char *dir, const char *name,
	const char *suffix, int inherit, unsigned patience_ms, char *err, size_t err_size)
{
	pid_t other = 0;
	int n = snprintf(
		l->path, sizeof(l->path), "%s/%s%s%s.pid", dir, name, *suffix ? "-" : "", suffix);

	l->fd = -1;
	if (n < 0 || (size_t)n >= sizeof(l->path)) {
		snprintf(err, err_size, "runtime.directory is longer than a path can be");
		return -1;
	}
	for (unsigned waited = 0;; waited += LOOK_AGAIN_MS) {
		int held = try_lock(l, inherit, &other, err, err_size);

		if (held < 0)
			return -1;
		if (held == 0)
			return write_pid(l, err, err_size);
		if (is_running(other) || waited >= patience_ms)
			break;
		usleep(LOOK_AGAIN_MS * 1000);
	}
	if (is_running(other))
		snprintf(err, err_size,
			"%s%s of instance '%s' is running already (pid %ld, %s); stop it first, or "
			"give this one another name",
			*suffix ? "the " : "a supervisor", suffix, name, (long)other, l->path);
	else
		snprintf(err, err_size,
			"the planes of instance '%s' have outlived the process that started them "
			"and "
			"still hold %s; find them with: fuser %s",
			name, l->path, l->path);
	return -1;
}

void bp_instance_unlock(struct bp_instance_lock *l)
{
	if (l->fd < 0)
		return;
	unlink(l->path);
	close(l->fd);
	l->fd = -1;
}

pid_t bp_instance_holder(int dir, const char *file, char text[BP_INSTANCE_PID_TEXT])
{
	const int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	bool locked = false;
	struct stat st;
	ssize_t n;
	long pid = 0;

	text[0] = '\0';
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		(n = pread(fd, text, BP_INSTANCE_PID_TEXT - 1, 0)) > 0) {
		text[n] = '\0';
		pid = strtol(text, NULL, 10);
		if (pid > 0 && pid <= INT_MAX && is_running((pid_t)pid))
			locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	}
	close(fd);
	return locked ? (pid_t)pid : 0;
}
