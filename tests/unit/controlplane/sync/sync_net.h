/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_SYNC_SYNC_NET_H
#define BP_TESTS_UNIT_CONTROLPLANE_SYNC_SYNC_NET_H

#include "tests/unit/controlplane/test.h"

#include <stdio.h>

#include "config/config.h"

/*
 * A kernel to mirror, in a network namespace of this process: ports lan (10.0.0.1/24, fd00::1/64)
 * and wan (10.1.0.1/24, fd01::1/64) over veth pairs lan--lanp and wan--wanp, and a foreign
 * interface other (10.9.0.1/24) over other--otherp.
 */
/* Before any thread: a namespace of its own. False: not permitted; then the tests are to be
 * skipped. */
bool sync_rig_namespace(void);

/* Makes the interfaces, and the configuration that goes with them. */
void sync_net_make(struct bp_config *c);
/* Takes everything away again. */
void sync_net_clear(void);

/* ip(8), which must succeed. */
void sync_rig_ip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Its exit status. */
int sync_rig_try(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* ip -batch: a stream of commands; pclose() must say 0. */
FILE *sync_rig_batch(void);

struct bp_address rig_address(const char *text);
#define RIG_LAN 0u
#define RIG_WAN 1u

#endif
