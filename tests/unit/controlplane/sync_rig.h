/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_SYNC_RIG_H
#define BP_TESTS_SYNC_RIG_H

#include "tests/unit/controlplane/test.h"

#include <event2/event.h>

#include "controlplane/sync/kernel_dump.h"
#include "controlplane/sync/sync.h"
#include "tests/unit/fib_fake/fib_fake.h"

/*
 * The sync manager in a network namespace of this process: ports lan (10.0.0.1/24, fd00::1/64) and
 * wan (10.1.0.1/24, fd01::1/64) over veth pairs lan--lanp and wan--wanp, a foreign interface other
 * (10.9.0.1/24) over other--otherp, and a writer that notes.
 */
struct sync_rig {
	struct event_base *base;
	struct bp_config config;
	struct bp_shm_global *global;
	struct bp_port_info ports[BP_MAX_PORTS];
	struct bp_fib fib;
	struct bp_fib_control control;
	struct bp_fib_writer *writer;
	struct bp_sync *sync;
};

/* Before any thread: a namespace of its own. False: not permitted; then the tests are to be
 * skipped. */
bool sync_rig_namespace(void);

/* A fresh rig with the interfaces made; not started. Group setup and teardown of each test. */
int sync_rig_setup(void **state);
int sync_rig_teardown(void **state);

/* Starts the sync manager and runs until all is mirrored. */
void sync_rig_start(struct sync_rig *r);
void sync_rig_stop(struct sync_rig *r);
bool sync_rig_synced(const struct sync_rig *r);

/* ip(8), which must succeed. */
void sync_rig_ip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Its exit status. */
int sync_rig_try(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* ip -batch: a stream of commands; pclose() must say 0. */
FILE *sync_rig_batch(void);

struct bp_address rig_address(const char *text);
/* The kernel's route of "prefix/length" as the tables have it, or NULL. */
const struct bp_route *rig_route(const struct sync_rig *r, const char *prefix);
/* Type, or -1 when there is none. */
int rig_type(const struct sync_rig *r, const char *prefix);
/* "lan:10.0.0.2:1 wan:..." of its hops in the order of the kernel; "" without. In static memory. */
const char *rig_hops(const struct sync_rig *r, const char *prefix);
const struct bp_neighbour_info *rig_neighbour(
	const struct sync_rig *r, unsigned interface, const char *address);

/* Whether the tables say what a fresh dump of the kernel says; prints the first difference. */
bool rig_same_as_kernel(struct sync_rig *r);

#define RIG_LAN 0u
#define RIG_WAN 1u

#endif
