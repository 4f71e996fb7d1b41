/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_EXCEPTION_KERNEL_IFS_H
#define BP_DATAPLANE_EXCEPTION_KERNEL_IFS_H

#include <stdio.h>

#include "daemon/log.h"
#include "dataplane/exception/exception.h"
#include "dataplane/exception/kernel_if.h"
#include "dataplane/workers/pools.h"
#include "dataplane/ports/ports.h"

struct bp_config;
struct bp_exception_thread;

/* The kernel interfaces of a configuration, by number. */
struct bp_kernel_ifs {
	/* NULL: none is configured, or it was removed and cannot be opened yet */
	struct bp_kernel_if *of[BP_MAX_INTERFACES];
	unsigned n; /* configured */
	bool removed[BP_MAX_INTERFACES];
	uint64_t checked_ns; /* bp_kernel_ifs_restore() */
	struct bp_log_limit limit[BP_MAX_INTERFACES];
	struct bp_exception *exception;
	const struct bp_config *config;
	const struct bp_port *ports;
	const struct bp_pools *pools;
};

/*
 * Opens the configured kernel interfaces with the MAC and MTU of the ports, which are started. The
 * host interface of a bridge has the MAC of its first port and the minimum MTU. Sets `x->has` for
 * each open interface. If vhost-net fails for `host_interface.backend: auto`, a tap is used and a
 * warning is logged. Returns 0, or -1 with a message in `err`: then none is open. The caller keeps
 * ownership of all arguments, which must exist until bp_kernel_ifs_close().
 */
int bp_kernel_ifs_open(struct bp_kernel_ifs *k, struct bp_exception *x, const struct bp_config *c,
	const struct bp_port *ports, const struct bp_pools *pools, char *err, size_t err_size);
void bp_kernel_ifs_close(struct bp_kernel_ifs *k, struct bp_exception *x);

/*
 * Opens the interfaces again that were removed from outside (`ip link del`), with the present MAC
 * and MTU of the ports, and gives them to the thread. Called by the main thread, which opened them,
 * as often as it likes: it looks once a second, and tries again as often.
 */
void bp_kernel_ifs_restore(struct bp_kernel_ifs *k, struct bp_exception_thread *t, uint64_t now_ns);

/* Prints one line: " kernel interfaces: lan (tap), wan (tap)". Prints nothing if there are none. */
void bp_kernel_ifs_print(const struct bp_kernel_ifs *k, FILE *out);

#endif
