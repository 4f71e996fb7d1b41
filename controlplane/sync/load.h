/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_LOAD_H
#define BP_CONTROLPLANE_SYNC_LOAD_H

#include "controlplane/sync/nl_cache.h"
#include "controlplane/sync/netlink.h"

/* One running dump, from the kernel into a cache. */
struct bp_load {
	enum bp_netlink_dump what;
	bool done;
	bool interrupted; /* NLM_F_DUMP_INTR: changes interrupted it; it must be repeated */
	bool busy;        /* an aborted dump has not ended: the kernel runs one dump per socket */
};

/* Sends the dump request. Returns 0 or -errno. */
int bp_load_begin(struct bp_load *l, struct bp_netlink *n, enum bp_netlink_dump what);
/* Processes one datagram, if one is available. Returns 0 or -errno; l->done at the end. */
int bp_load_some(struct bp_load *l, struct bp_netlink *n, struct bp_nl_cache *cache);

#endif
