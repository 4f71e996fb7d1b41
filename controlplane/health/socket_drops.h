/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SOCKET_DROPS_H
#define BP_CONTROLPLANE_HEALTH_SOCKET_DROPS_H

#include <linux/sock_diag.h>
#include <stdint.h>
#include <sys/socket.h>

/* The kernel's drop counter of a socket, which may live longer than this process. */
struct bp_socket_drops {
	uint64_t cookie; /* identifies the socket (SO_COOKIE); 0: not provided by the kernel */
	uint32_t drops; /* total drops, modulo 2^32 (SO_MEMINFO): connections of a listening socket,
			   otherwise datagrams */
};
static inline struct bp_socket_drops bp_socket_drops(int fd)
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

#endif
