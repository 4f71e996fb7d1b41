/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_DRIVERS_H
#define BP_DATAPLANE_PORTS_DRIVERS_H

#include <stdbool.h>

#include "dataplane/ports/queue_plan.h"

/* Properties of a DPDK driver that rte_eth_dev_info does not report. */
struct bp_driver {
	const char *name;      /* as in rte_eth_dev_info.driver_name */
	bool fanout;           /* its queues are a PACKET_FANOUT_HASH group */
	bool all_queues;       /* frames go to all queues that the device was created with */
	bool reports_partial;  /* RX_L4_CKSUM_NONE means: partial checksum */
	bool qinq_fix;         /* restores a service tag as 0x8100 */
	bool set_port;         /* does not write mbuf.port */
	bool kernel_interface; /* uses an interface that the kernel also has (iface=) */
	/* may deliver a frame in several buffers although scatter is not enabled */
	bool chains;
	bool sends_chains; /* sends such frames correctly without reporting the capability */
	bool no_rss;       /* reports RSS, but does not use the configured key */
	/* the device, the kernel or the peer selects the queue of a frame by its flow, without RSS
	 * of biplane */
	bool spreads_flows;
	bool queue_pairs; /* it needs as many transmit queues as receive queues */
	/* reports link down when its interface is in another network namespace */
	bool link_unreliable;
	bool one_buffer; /* not all its devices scatter as reported: one buffer per frame */
	/* would verify checksums on the CPU: biplane does that where needed */
	bool software_checksum;
	bool packet_sockets; /* each queue is an AF_PACKET socket */
	bool xdp_sockets;    /* each queue has an AF_XDP socket, created with the queue */
	/* configured for receive interrupts, each queue has a descriptor that is readable while
	 * frames wait */
	bool readable_queues;
};

/* Never NULL: unknown names get a driver without special properties. */
const struct bp_driver *bp_driver_find(const char *name);

#endif
