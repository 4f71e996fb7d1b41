/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/socket_drops.h"

#include <linux/sock_diag.h>
#include <sys/socket.h>

struct bp_socket_drops bp_socket_drops(int fd)
{
	struct bp_socket_drops d = {0};
	uint32_t memory[SK_MEMINFO_VARS];
	socklen_t len = sizeof(memory);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &len) == 0 &&
		len > SK_MEMINFO_DROPS * sizeof(memory[0]))
		d.drops = memory[SK_MEMINFO_DROPS];
	len = sizeof(d.cookie);
	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &d.cookie, &len) != 0)
		d.cookie = 0;
	return d;
}
