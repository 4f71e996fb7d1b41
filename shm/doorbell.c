/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/plane_dirs.h"

/* The data plane also opens it for reading: a write without a reader then has no effect, as no
 * SIGPIPE and no error. */
#define FLAGS (O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)

int bp_doorbell_path(const char *runtime_dir, const char *name, char *path, size_t size)
{
	char dir[PATH_MAX];
	int n;

	if (!bp_data_dir(runtime_dir, dir, sizeof(dir)))
		return -1;
	n = snprintf(path, size, "%s/%s.wakeup", dir, name);
	return n > 0 && (size_t)n < size ? 0 : -1;
}

/* Returns the descriptor of an existing pipe, or -1 with errno; EINVAL: another kind of file. */
static int open_pipe(const char *path, int mode)
{
	struct stat st;
	int fd = open(path, mode | FLAGS);

	if (fd < 0) {
		if (errno == ELOOP || errno == ENXIO)
			errno = EINVAL;
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

int bp_doorbell_create(const char *runtime_dir, const char *name, char *err, size_t err_size)
{
	char path[PATH_MAX];
	int fd, rc;

	if (bp_doorbell_path(runtime_dir, name, path, sizeof(path)) != 0) {
		snprintf(err, err_size, "runtime.directory is longer than a path can be");
		return -1;
	}
	fd = open_pipe(path, O_RDWR);
	if (fd < 0 && (errno == ENOENT || errno == EINVAL)) {
		if (errno == EINVAL)
			unlink(path);
		if (mkfifo(path, 0600) == 0)
			fd = open_pipe(path, O_RDWR);
	}
	if (fd < 0) {
		snprintf(err, err_size, "%s cannot be created: %s", path, strerror(errno));
		return -1;
	}
	rc = bp_control_share(fd, path, 0640);
	if (rc == 0)
		return fd;
	snprintf(err, err_size, "%s cannot be given to the group of the control plane: %s", path,
		strerror(rc));
	close(fd);
	return -1;
}

int bp_doorbell_open(const char *runtime_dir, const char *name)
{
	char path[PATH_MAX];

	if (bp_doorbell_path(runtime_dir, name, path, sizeof(path)) != 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open_pipe(path, O_RDONLY);
}

bool bp_doorbell_same(int fd, const char *runtime_dir, const char *name)
{
	char path[PATH_MAX];
	struct stat held, now;

	return bp_doorbell_path(runtime_dir, name, path, sizeof(path)) == 0 &&
	       fstat(fd, &held) == 0 && stat(path, &now) == 0 && held.st_ino == now.st_ino &&
	       held.st_dev == now.st_dev;
}

void bp_doorbell_watch(struct bp_doorbell *d, const struct bp_ring *ring)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->of[i].ring == ring)
			return;
	if (d->n == BP_DOORBELL_RINGS)
		return;
	d->of[d->n].ring = ring;
	d->of[d->n].head = ring->head;
	d->n++;
}

void bp_doorbell_ring(struct bp_doorbell *d)
{
	uint64_t sleeps;

	if (d->fd < 0)
		return;
	/* The order of both sides: the records, then this word here; the word, then the records in
	 * bp_doorbell_sleep(). So one of them sees the other. */
	atomic_thread_fence(memory_order_seq_cst);
	sleeps = atomic_load_explicit(d->sleeps, memory_order_relaxed);
	if ((sleeps & 1) == 0 || sleeps == d->rung)
		return;
	d->rung = sleeps;
	/* A full pipe is readable, so the control plane is woken by it too. */
	if (write(d->fd, "", 1) < 0)
		return;
}
