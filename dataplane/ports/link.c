/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/link.h"

#include <net/if.h>
#include <string.h>

#include <rte_ethdev.h>

#include "dataplane/exception/kernel_link.h"

_Atomic uint8_t bp_link[BP_MAX_PORTS];
_Atomic uint32_t bp_link_losses;
static bool was_up[BP_MAX_PORTS];
static unsigned watched[BP_MAX_PORTS];    /* ifindex in the kernel; 0: none */
static bool kernel_link_up[BP_MAX_PORTS]; /* at the last poll */

void bp_link_reset(void)
{
	for (unsigned i = 0; i < BP_MAX_PORTS; i++)
		atomic_store(&bp_link[i], BP_LINK_UP);
	memset(was_up, 0, sizeof(was_up));
	memset(watched, 0, sizeof(watched));
	memset(kernel_link_up, 0, sizeof(kernel_link_up));
}

void bp_link_watch(uint16_t port, unsigned ifindex)
{
	watched[port] = ifindex;
}

/* False: the kernel does not report the link. */
static bool ask(uint16_t port, bool *up)
{
	struct rte_eth_link link = {0};
	struct bp_kernel_link kernel;

	if (rte_eth_link_get_nowait(port, &link) != 0)
		return false;
	*up = link.link_status == RTE_ETH_LINK_UP;
	kernel_link_up[port] = watched[port] && bp_kernel_link_get(watched[port], &kernel) == 0;
	if (kernel_link_up[port])
		*up &= (kernel.flags & IFF_UP) && kernel.carrier;
	return true;
}

bool bp_link_is_certain(uint16_t port)
{
	return kernel_link_up[port];
}

bool bp_link_poll(uint16_t port, bool trust)
{
	enum bp_link now;
	bool up;

	if (!ask(port, &up))
		return false;
	if (up)
		was_up[port] = true;
	now = up || !was_up[port] ? BP_LINK_UP : trust ? BP_LINK_DOWN : BP_LINK_UNCERTAIN;
	if (now != BP_LINK_UP && bp_link_get(port) == BP_LINK_UP)
		atomic_fetch_add_explicit(&bp_link_losses, 1, memory_order_relaxed);
	atomic_store_explicit(&bp_link[port], now, memory_order_relaxed);
	return up;
}
