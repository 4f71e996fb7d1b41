/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_KEEPALIVE_H
#define BP_CONTROLPLANE_SYNC_KEEPALIVE_H

#include "controlplane/sync/mirror.h"
#include "controlplane/sync/netlink.h"

/*
 * The kernel sees no packet of what the data plane forwards, so its neighbours would go stale, be
 * forgotten, and not be noticed when they move. Those that workers used within `keep_s` seconds and
 * that the kernel holds stale are given to it as used: it confirms them by a probe. Call it once a
 * second, with the present second of CLOCK_MONOTONIC; each call asks for at most
 * BP_KEEPALIVE_BATCH, the next goes on from there. Returns how many were asked for.
 */
#define BP_KEEPALIVE_BATCH 1024u
unsigned bp_keepalive(
	struct bp_mirror *m, struct bp_netlink *requests, uint32_t now_s, uint32_t keep_s);

#endif
