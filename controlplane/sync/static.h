/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_STATIC_H
#define BP_CONTROLPLANE_SYNC_STATIC_H

#include "controlplane/sync/sync.h"
#include "config/fib_static.h"

/* Entries of the file, and the data plane's ports without a kernel interface
 * (host_interface.backend: off). */
struct bp_sync_static {
	bool applied;
	bool complete;                              /* the data plane has described all of them */
	struct bp_fib_link link[BP_MAX_INTERFACES]; /* as last applied */
};

/* Applies the entries the first time, with `again`, or when a port has changed. */
void bp_sync_static_follow(struct bp_sync_static *s, const struct bp_sync_to *to,
	const struct bp_config *c, bool again);

#endif
