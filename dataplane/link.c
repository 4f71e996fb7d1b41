/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/link.h"

#include <string.h>

#include <rte_ethdev.h>

_Atomic uint8_t bp_link[BP_MAX_PORTS];
static bool seen_up[BP_MAX_PORTS];

void bp_link_reset(void)
{
	for (unsigned i = 0; i < BP_MAX_PORTS; i++)
		atomic_store(&bp_link[i], BP_LINK_UP);
	memset(seen_up, 0, sizeof(seen_up));
}

bool bp_link_poll(uint16_t port, bool trust)
{
	struct rte_eth_link link = {0};
	bool up;

	if (rte_eth_link_get_nowait(port, &link) != 0)
		return false;
	up = link.link_status == RTE_ETH_LINK_UP;
	if (up)
		seen_up[port] = true;
	atomic_store_explicit(&bp_link[port],
		up || !seen_up[port] ? BP_LINK_UP
		: trust              ? BP_LINK_DOWN
				     : BP_LINK_MAYBE_DOWN,
		memory_order_relaxed);
	return up;
}
