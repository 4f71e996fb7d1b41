/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_INTERFACES_H
#define BP_CONTROLPLANE_SYNC_INTERFACES_H

#include "daemon/log.h"
#include "controlplane/sync/mirror.h"
#include "controlplane/sync/netlink.h"

/*
 * The kernel's side of our interfaces: that taps are there and stay, and that an interface that has
 * come gets what the file says. Nothing that an operator has set is taken away.
 */
struct bp_interfaces {
	const struct bp_config *config;
	struct bp_netlink *requests;
	int tap[BP_MAX_INTERFACES];                      /* -1: not held */
	struct bp_log_limit log_hold[BP_MAX_INTERFACES]; /* it is tried every second */
	bool sysctls_done;                               /* those of the whole namespace */
	uint32_t prepared[BP_MAX_INTERFACES]; /* ifindex that has what a router needs (sysctl) */
	uint32_t settings[BP_MAX_INTERFACES]; /* BP_IF_*: what is set there now */
};

void bp_interfaces_init(
	struct bp_interfaces *s, const struct bp_config *c, struct bp_netlink *requests);
/* Lets the taps go: they vanish unless the data plane has them. */
void bp_interfaces_end(struct bp_interfaces *s);

/* Whether interface i is kept by this process (a tap), not by the data plane alone. */
bool bp_interfaces_held(const struct bp_config *c, unsigned i);
/* Makes or joins the taps that are not held yet. */
void bp_interfaces_hold(struct bp_interfaces *s);

/* Its kernel interface is new: MTU, addresses, forwarding, and up. What fails is logged, with what
 * to do. */
void bp_interfaces_set_up(
	struct bp_interfaces *s, unsigned i, const struct bp_interface_info *present);
/* Reads what an operator has set there; whether it has changed. */
bool bp_interfaces_settings(struct bp_interfaces *s, unsigned i, uint32_t ifindex);
/* Interfaces that an earlier control plane has set up keep what an operator has set since. */
void bp_interfaces_adopt(struct bp_interfaces *s, const struct bp_fib *f);
/* Its kernel interface is gone, and what this process held of it. */
void bp_interfaces_removed(struct bp_interfaces *s, unsigned i);

#endif
