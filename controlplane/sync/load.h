/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_LOAD_H
#define BP_CONTROLPLANE_SYNC_LOAD_H

#include "controlplane/sync/mirror.h"
#include "controlplane/sync/netlink.h"

/* One dump under way, from the kernel into a mirror. */
struct bp_load {
	enum bp_netlink_dump what;
	bool done;
	bool interrupted; /* NLM_F_DUMP_INTR: changes came between; it must be repeated */
	bool busy;        /* one that was given up is not over: the kernel does one at a time */
};

/* Asks for it. Returns 0 or -errno. */
int bp_load_begin(struct bp_load *l, struct bp_netlink *n, enum bp_netlink_dump what);
/* Takes one datagram, if one is there. Returns 0 or -errno; l->done at the end. */
int bp_load_some(struct bp_load *l, struct bp_netlink *n, struct bp_mirror *m);

#endif
