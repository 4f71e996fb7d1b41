/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_DRIVERS_H
#define BP_DATAPLANE_PORTS_DRIVERS_H

#include <stdbool.h>

#include "dataplane/ports/queue_plan.h"

/* What biplane must know of a DPDK driver and rte_eth_dev_info does not say. */
struct bp_driver {
	const char *name;       /* as rte_eth_dev_info.driver_name has it */
	bool fanout;            /* its queues are a PACKET_FANOUT_HASH group */
	bool all_queues;        /* frames go to all queues that the device was made with */
	bool reports_partial;   /* RX_L4_CKSUM_NONE means: partial checksum */
	bool qinq_fix;          /* gives a service tag back as 0x8100 */
	bool set_port;          /* does not write mbuf.port */
	bool kernel_interface;  /* sits on an interface that the kernel has, too (iface=) */
	bool chains;            /* may give a frame in several buffers without being asked to */
	bool sends_chains;      /* sends such frames whole without saying that it can */
	bool no_rss;            /* says that it has RSS, but hashes by no key of ours */
	bool link_unreliable;   /* looks down when its interface is in another network namespace */
	bool one_buffer;        /* not all its devices scatter as it says: one buffer a frame */
	bool software_checksum; /* would verify checksums on the CPU: we do that, where needed */
};

/* Never NULL: a driver without peculiarities for names that are not known. */
const struct bp_driver *bp_driver_find(const char *name);

#endif
