/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/cpu_latency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PM_QOS "/dev/cpu_dma_latency"

int bp_cpu_latency_limit(uint32_t us, char *err, size_t err_size)
{
	const int32_t limit = (int32_t)us; /* the binary form: 4 bytes in host byte order */
	const int fd = open(PM_QOS, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, &limit, sizeof(limit)) == (ssize_t)sizeof(limit))
		return fd;
	snprintf(err, err_size, "runtime.cpu_latency_limit has no effect: " PM_QOS ": %s; %s",
		strerror(errno),
		errno == EACCES || errno == EPERM
			? "give the group of the data plane write access to the device"
			: "this kernel has no PM QoS device; remove the setting");
	if (fd >= 0)
		close(fd);
	return -1;
}
