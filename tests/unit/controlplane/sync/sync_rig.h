/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_SYNC_SYNC_RIG_H
#define BP_TESTS_UNIT_CONTROLPLANE_SYNC_SYNC_RIG_H

#include "tests/unit/controlplane/test.h"

#include <event2/event.h>

#include "controlplane/sync/kernel_dump.h"
#include "controlplane/sync/sync.h"
#include "tests/unit/controlplane/sync/sync_net.h"
#include "tests/unit/fib_fake/fib_fake.h"

/* The sync manager in the network of sync_net.h, with a writer that notes. */
struct sync_rig {
	struct event_base *base;
	struct bp_config config;
	struct bp_shm_control *control;
	struct bp_port_info ports[BP_MAX_PORTS];
	bool no_ports; /* the data plane says nothing of them */
	struct bp_fib fib;
	struct bp_fib_control fib_control;
	struct bp_shm_global *global;
	struct bp_fib_writer *writer;
	struct bp_sync *sync;
};

/* A fresh rig with the interfaces made; not started. Group setup and teardown of each test. */
int sync_rig_setup(void **state);
int sync_rig_teardown(void **state);

/* Starts the sync manager and runs until all is mirrored. */
void sync_rig_start(struct sync_rig *r);
void sync_rig_stop(struct sync_rig *r);
bool sync_rig_synced(const struct sync_rig *r);

/* The kernel's route of "prefix/length" as the tables have it, or NULL. */
const struct bp_route *rig_route(const struct sync_rig *r, const char *prefix);
/* Type, or -1 when there is none. */
int rig_type(const struct sync_rig *r, const char *prefix);
/* "lan:10.0.0.2:1 wan:..." of its hops in the order of the kernel; "" without. In static memory. */
const char *rig_hops(const struct sync_rig *r, const char *prefix);
const struct bp_neighbor_info *rig_neighbor(
	const struct sync_rig *r, unsigned interface, const char *address);

/* Whether the tables equal a new dump of the kernel; prints the first difference. */
bool rig_same_as_kernel(struct sync_rig *r);

#endif
