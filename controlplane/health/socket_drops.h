/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SOCKET_DROPS_H
#define BP_CONTROLPLANE_HEALTH_SOCKET_DROPS_H

#include <stdint.h>

/* What the kernel says of a socket: it may live longer than the process that asks. */
struct bp_socket_drops {
	uint64_t cookie; /* which socket it is (SO_COOKIE); 0: the kernel does not say */
	uint32_t drops;  /* what it had to drop, ever, modulo 2^32 (SO_MEMINFO): of a listening
			    socket connections, else datagrams */
};
struct bp_socket_drops bp_socket_drops(int fd);

#endif
