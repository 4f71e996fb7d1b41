/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_INTERFACES_H
#define BP_CONTROLPLANE_SYNC_INTERFACES_H

#include "daemon/log.h"
#include "controlplane/sync/nl_cache.h"
#include "controlplane/sync/netlink.h"

/*
 * The kernel interfaces of our ports and bridges: creates and holds taps, and configures a new
 * interface from the file. Settings of an operator are never removed.
 */
struct bp_interfaces {
	const struct bp_config *config;
	struct bp_netlink *requests;
	int tap[BP_MAX_INTERFACES];                      /* -1: not held */
	struct bp_log_limit log_hold[BP_MAX_INTERFACES]; /* it is retried every second */
	bool sysctls_done;                               /* the sysctls of the whole namespace */
	uint32_t prepared[BP_ALL_INTERFACES];            /* ifindex with the sysctls of a router */
	uint32_t settings[BP_ALL_INTERFACES];            /* BP_IF_*: its current settings */
	uint32_t prepared_vrf[BP_MAX_VRFS + 1];          /* ifindex of its device */
};

void bp_interfaces_init(
	struct bp_interfaces *s, const struct bp_config *c, struct bp_netlink *requests);
/* Closes the taps: an interface disappears unless the data plane has it open. */
void bp_interfaces_end(struct bp_interfaces *s);

/* Returns whether this process holds interface i (a tap), and not only the data plane. */
bool bp_interfaces_held(const struct bp_config *c, unsigned i);
/* Creates or joins the taps that are not held yet. */
void bp_interfaces_hold(struct bp_interfaces *s);

/* Puts a new kernel interface into the VRF of this name. Errors are logged. Before the addresses:
 * the kernel has their routes in the table of the VRF then. */
void bp_interfaces_join_vrf(
	struct bp_interfaces *s, uint32_t ifindex, const char *name, const char *vrf);
/* Configures a new kernel interface: MTU, addresses, forwarding, and up. Errors are logged with the
 * remedy. */
void bp_interfaces_set_up(
	struct bp_interfaces *s, unsigned i, const struct bp_interface_info *present);
/* Sets the sysctls of a router, once per kernel interface: an operator's later changes remain. */
void bp_interfaces_prepare(
	struct bp_interfaces *s, unsigned i, uint32_t ifindex, const char *kernel_name);
/* The same for the device of a VRF. */
void bp_interfaces_prepare_vrf(
	struct bp_interfaces *s, const struct bp_nl_cache *cache, unsigned vrf);
/*
 * Reads the operator's settings of an interface; returns whether they have changed. In a VRF, the
 * kernel applies the settings of its device, `vrf_name` ("": it is in none, or not known).
 */
bool bp_interfaces_settings(struct bp_interfaces *s, unsigned i, uint32_t ifindex,
	const char *kernel_name, const char *vrf_name);
/* Interfaces that an earlier control plane has configured keep later changes of an operator. */
void bp_interfaces_adopt(struct bp_interfaces *s, const struct bp_fib *f);
/* The kernel interface was removed: closes its tap. */
void bp_interfaces_removed(struct bp_interfaces *s, unsigned i);

#endif
