/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_FIB_STATIC_H
#define BP_CONFIG_FIB_STATIC_H

#include "config/config.h"
#include "shm/fib/fib_writer.h"

/*
 * Forwarding entries from the configuration file alone: routing.static_*, and the interfaces
 * without a kernel interface (host_interface.backend: off; in replay all interfaces) with their
 * connected and local routes, which the kernel does not provide for them.
 */

/* State of the device below an interface. */
struct bp_fib_link {
	bool known;
	bool up; /* has carrier */
	uint8_t mac[6];
	uint32_t mtu; /* MTU of IP packets, bytes; 0: the file's value, or 1500 */
};

/* Returns the default MAC address of an interface when neither the file nor the device provides
 * one: 02:00:00:00:00:NN for port NN, 02:00:00:00:01:NN for the host interface of bridge NN. */
void bp_fib_static_mac(unsigned interface, uint8_t mac[6]);

/* Returns the address in fe80::/64 with the modified EUI-64 of the MAC (RFC 4291, appendix A). */
struct bp_address bp_fib_link_local(const uint8_t mac[6]);

/*
 * Describes interface `i` of the file without a kernel interface: its addresses, and a link-local
 * address from its MAC when the file has none. The interface is up when its device is known. link:
 * NULL in replay, where the interface is up and has carrier.
 */
void bp_fib_static_interface(const struct bp_config *c, unsigned i, const struct bp_fib_link *link,
	struct bp_interface_info *info);

/*
 * Writes all of these entries to the FIB, and removes entries of an earlier call that no longer
 * exist. Can be called again at any time. `kernel`: whether kernel interfaces exist; then only
 * interfaces with host_interface.backend: off are written, and `link` (BP_MAX_INTERFACES elements,
 * or NULL) has the state of their devices. An interface that the file does not have is removed.
 * Returns 0, or -1 with a sentence about the first rejected entry; all others are active. A full
 * table is not an error here: the writer counts it.
 */
int bp_fib_static_apply(struct bp_fib_writer *w, const struct bp_config *c, bool kernel,
	const struct bp_fib_link *link, char *err, size_t err_size);

/* Returns whether the file alone describes interface `i`. */
bool bp_fib_static_only(const struct bp_config *c, unsigned i, bool kernel);

#endif
