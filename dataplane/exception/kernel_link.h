/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_KERNEL_LINK_H
#define BP_DATAPLANE_EXCEPTION_KERNEL_LINK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Attributes of a network interface of the kernel, over rtnetlink, by ifindex: this works for any
 * backend (tap, vhost-net), and also after a rename. All functions return 0, or an errno. The
 * ifindex is of the network namespace of this process: for an interface that was moved to another
 * one they return ENODEV.
 */
int bp_kernel_link_set_mac(unsigned ifindex, const uint8_t mac[6]);
int bp_kernel_link_set_mtu(unsigned ifindex, uint32_t mtu);
int bp_kernel_link_set_carrier(unsigned ifindex, bool up);

struct bp_kernel_link {
	uint32_t flags; /* IFF_* */
	uint32_t mtu;
	uint8_t mac[6];
	bool carrier;
	bool tun;                         /* a tun or tap interface */
	uint32_t queues, disabled_queues; /* of a tap with IFF_MULTI_QUEUE, for all processes */
};
int bp_kernel_link_get(unsigned ifindex, struct bp_kernel_link *out);

#endif
