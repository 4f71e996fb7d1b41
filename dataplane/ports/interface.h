/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_INTERFACE_H
#define BP_DATAPLANE_PORTS_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

/* Properties that the kernel reports of a network interface on which a port is opened. */
struct bp_device_facts {
	bool found, up;
	bool veth;
	bool gro; /* generic receive offload: received frames may be merged ones */
	/* the IPv4 or IPv6 stack of the kernel also processes the received packets */
	bool takes_ip4, takes_ip6;
	uint32_t mtu;
};

struct bp_device_facts bp_interface_query(const char *name);

/*
 * Returns the MTU of a device string: the configured one, or else that of the interface that the
 * string names, or 0.
 */
uint32_t bp_interface_mtu(const char *device, uint32_t configured);

#endif
