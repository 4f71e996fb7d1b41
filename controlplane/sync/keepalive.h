/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_KEEPALIVE_H
#define BP_CONTROLPLANE_SYNC_KEEPALIVE_H

#include "controlplane/sync/nl_cache.h"
#include "controlplane/sync/netlink.h"

/*
 * The kernel does not see forwarded packets, so its neighbors would become stale and be deleted,
 * and a changed MAC address would not be detected. Neighbors that workers used within `keep_s`
 * seconds and that are stale in the kernel are reported to it as used: it confirms them with a
 * probe. Call it once per second with the current second of CLOCK_MONOTONIC; each call requests at
 * most BP_KEEPALIVE_BATCH neighbors, and the next call continues from there. Returns the number of
 * requests.
 */
#define BP_KEEPALIVE_BATCH 1024u
unsigned bp_keepalive(
	struct bp_nl_cache *cache, struct bp_netlink *requests, uint32_t now_s, uint32_t keep_s);

#endif
