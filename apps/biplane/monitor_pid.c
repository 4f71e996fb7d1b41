/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor_pid.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX "monitor"
#define PATIENCE_MS 2000 /* the kernel releases the lock of a killed process with a short delay */

bool bp_monitor_dir(const char *runtime_dir, char *dir, size_t size)
{
	struct stat st;
	int n = snprintf(dir, size, "%s/" BP_MONITOR_SUBDIR, runtime_dir);

	if (n > 0 && (size_t)n < size && stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
		return true;
	n = snprintf(dir, size, "%s", runtime_dir);
	return n >= 0 && (size_t)n < size;
}

/* Who may enter the directory may read the file. */
static int describe(int fd, uint64_t started_ns, const char *address)
{
	char text[BP_INSTANCE_PID_TEXT];
	const int n = snprintf(text, sizeof(text), "%" PRIu64 "\n%s\n", started_ns, address);

	return fchmod(fd, 0644) == 0 && lseek(fd, 0, SEEK_END) >= 0 &&
			       write(fd, text, (size_t)n) == n
		       ? 0
		       : -1;
}

int bp_monitor_pid_take(struct bp_instance_lock *l, const char *runtime_dir, const char *name,
	uint64_t started_ns, const char *address, char *err, size_t err_size)
{
	char dir[PATH_MAX];
	struct bp_monitor_seen other;

	l->fd = -1;
	if (bp_runtime_dir_make(runtime_dir, err, err_size) != 0)
		return -1;
	if (!bp_monitor_dir(runtime_dir, dir, sizeof(dir))) {
		snprintf(err, err_size, "runtime.directory is longer than a path can be");
		return -1;
	}
	if (bp_instance_lock(l, dir, name, SUFFIX, 0, PATIENCE_MS, err, err_size) != 0) {
		bp_monitor_see(runtime_dir, name, &other);
		return other.running ? 1 : -1;
	}
	if (describe(l->fd, started_ns, address) == 0)
		return 0;
	snprintf(err, err_size, "cannot write the file %s: %s", l->path, strerror(errno));
	bp_monitor_pid_release(l);
	return -1;
}

void bp_monitor_pid_release(struct bp_instance_lock *l)
{
	if (l->fd < 0)
		return;
	(void)!ftruncate(
		l->fd, 0); /* a number in a file that is not locked is no monitor, either */
	bp_instance_unlock(l);
}

/* Copies a line; moves *text behind it. */
static void take_line(const char **text, char *out, size_t size)
{
	const size_t n = strcspn(*text, "\n");
	size_t k = 0;

	for (size_t i = 0; i < n && k + 1 < size; i++)
		out[k++] = (char)(isprint((unsigned char)(*text)[i]) ? (*text)[i] : '?');
	out[k] = '\0';
	*text += n + ((*text)[n] == '\n');
}

/* False: the path is too long. */
static bool path_of(const char *runtime_dir, const char *name, char path[PATH_MAX])
{
	char dir[PATH_MAX];

	return bp_monitor_dir(runtime_dir, dir, sizeof(dir)) &&
	       snprintf(path, PATH_MAX, "%s/%s-" SUFFIX ".pid", dir, name) < PATH_MAX;
}

void bp_monitor_see(const char *runtime_dir, const char *name, struct bp_monitor_seen *seen)
{
	char path[PATH_MAX], text[BP_INSTANCE_PID_TEXT], number[32];
	const char *at = text;

	memset(seen, 0, sizeof(*seen));
	if (!path_of(runtime_dir, name, path))
		return;
	seen->pid = bp_instance_holder(AT_FDCWD, path, text);
	seen->running = seen->pid != 0;
	if (!seen->running)
		return;
	take_line(&at, number, sizeof(number));
	take_line(&at, number, sizeof(number));
	seen->started_ns = strtoull(number, NULL, 10);
	take_line(&at, seen->address, sizeof(seen->address));
}

void bp_monitor_pid_remove(const char *runtime_dir, const char *name)
{
	struct bp_monitor_seen seen;
	char path[PATH_MAX];

	bp_monitor_see(runtime_dir, name, &seen);
	if (!seen.running && path_of(runtime_dir, name, path))
		unlink(path);
}
