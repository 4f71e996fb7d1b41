/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/sync/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *hint(int error)
{
	switch (error) {
	case EPERM:
	case EACCES:
		return "; run as root or with CAP_NET_ADMIN";
	case EINVAL:
	case EBUSY:
		return "; an interface of that name exists and is not a multi-queue tap: "
		       "set another 'host_interface.name', or remove it";
	case ENOENT:
	case ENODEV:
		return "; load the kernel module tun, or set 'host_interface.backend: off'";
	default:
		return "";
	}
}

static int failed(int fd, int error, const char *name, char *err, size_t err_size)
{
	snprintf(err, err_size, "cannot hold kernel interface '%s': %s%s", name, strerror(error),
		hint(error));
	if (fd >= 0)
		close(fd);
	return -1;
}

int bp_tap_hold(const char *name, char *err, size_t err_size)
{
	/* Same flags as the queues of the data plane: the kernel rejects a queue with other
	 * flags. */
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE};
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return failed(fd, errno, name, err, err_size);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &request) != 0)
		return failed(fd, errno, name, err, err_size);
	/* From now on the kernel steers no frame to this queue; the queue still holds the
	 * interface. */
	request.ifr_flags = IFF_DETACH_QUEUE;
	if (ioctl(fd, TUNSETQUEUE, &request) != 0)
		return failed(fd, errno, name, err, err_size);
	return fd;
}
