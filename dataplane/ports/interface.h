/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_INTERFACE_H
#define BP_DATAPLANE_PORTS_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

/* What the kernel says of a network interface on which a port sits. */
struct bp_device_facts {
	bool found, up;
	bool veth;
	bool gro; /* generic receive offload: frames that were never on the wire */
	/* the kernel's own IPv4 or IPv6 takes what comes in there, too */
	bool takes_ip4, takes_ip6;
	uint32_t mtu;
};

struct bp_device_facts bp_interface_query(const char *name);

#endif
