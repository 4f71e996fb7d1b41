/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int write_file(void *arg, const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int error;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, strlen(text));
	while (n < 0 && errno == EINTR);
	error = n < 0 ? -errno : 0;
	close(fd);
	return error;
}

static int modprobe(void *arg, const char *module, bool remove)
{
	/* not by PATH, which is the caller's and may lack /sbin */
	static const char *const places[] = {"/sbin/modprobe", "/usr/sbin/modprobe", "/bin/kmod"};
	char *argv[] = {"modprobe", "-q", remove ? "-r" : (char *)(uintptr_t)module,
		remove ? (char *)(uintptr_t)module : NULL, NULL};
	char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	int error = ENOENT, status;
	pid_t pid;

	for (unsigned i = 0; error != 0 && i < sizeof(places) / sizeof(places[0]); i++)
		error = posix_spawn(&pid, places[i], NULL, NULL, argv, env);
	if (error)
		return -error;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : remove ? -EBUSY : -ENOENT;
}

static int mount_hugetlbfs(void *arg, const char *dir, bool make)
{
	if (make && mkdir(dir, 0755) != 0 && errno != EEXIST)
		return -errno;
	return mount("hugetlbfs", dir, "hugetlbfs", 0, NULL) == 0 ? 0 : -errno;
}

static int unmount_hugetlbfs(void *arg, const char *dir, bool make)
{
	if (umount2(dir, UMOUNT_NOFOLLOW) != 0 && errno != EINVAL && errno != ENOENT)
		return -errno; /* EINVAL: nothing is mounted there */
	if (make && rmdir(dir) != 0 && errno != ENOENT && errno != ENOTEMPTY)
		return -errno;
	return 0;
}

static int set_up(void *arg, const char *interface)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {0};
	int error = 0;

	if (fd < 0)
		return -errno;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	if (ioctl(fd, SIOCGIFFLAGS, &r) != 0)
		error = -errno;
	r.ifr_flags |= IFF_UP;
	if (!error && ioctl(fd, SIOCSIFFLAGS, &r) != 0)
		error = -errno;
	close(fd);
	return error;
}

static int rename_interface(void *arg, const char *interface, const char *name)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {0};
	int error = 0;

	if (fd < 0)
		return -errno;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	snprintf(r.ifr_newname, sizeof(r.ifr_newname), "%s", name);
	if (ioctl(fd, SIOCSIFNAME, &r) != 0)
		error = -errno;
	close(fd);
	return error;
}

static void wait_ms(void *arg, unsigned ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		continue;
}

const struct bp_actions bp_actions_here = {NULL, write_file, modprobe, mount_hugetlbfs,
	unmount_hugetlbfs, set_up, rename_interface, wait_ms};
