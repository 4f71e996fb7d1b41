/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_FIB_STATIC_H
#define BP_CONFIG_FIB_STATIC_H

#include "config/config.h"
#include "shm/fib/fib_writer.h"

/*
 * What the configuration file alone says about forwarding: section `static`, and everything about
 * interfaces that have no kernel interface (kernel: off; in replay all of them), for which nobody
 * else makes connected and local routes.
 */

/* What is known of the device below an interface. */
struct bp_fib_link {
	bool known;
	bool up; /* has carrier */
	uint8_t mac[6];
	uint32_t mtu; /* bytes of an IP packet; 0: the file's, or 1500 */
};

/* The MAC that an interface without one in the file or below it gets: 02:00:00:00:00:NN for port
 * NN, 02:00:00:00:01:NN for the host interface of bridge NN. */
void bp_fib_static_mac(unsigned interface, uint8_t mac[6]);

/* fe80::/64 with the modified EUI-64 of the MAC (RFC 4291, appendix A). */
struct bp_address bp_fib_link_local(const uint8_t mac[6]);

/* Interface `i` as the file has it, without a kernel interface: its addresses, and a link-local one
 * of its MAC when the file gives none. It is up once what is below it is known. link: NULL as in
 * replay, where it is up and has carrier. */
void bp_fib_static_interface(const struct bp_config *c, unsigned i, const struct bp_fib_link *link,
	struct bp_interface_info *info);

/*
 * Says all of it to the writer, and takes away what an earlier call said and this one does not.
 * May be called again at any time. `kernel`: whether there are kernel interfaces; then only those
 * with kernel: off are described here, and `link` (BP_MAX_INTERFACES of them, or NULL) tells what
 * is below them. An interface that the file does not have is removed.
 * Returns 0, or -1 with a sentence about the first entry that was refused; all others are in force.
 * That there was no room is no error here: the writer counts it.
 */
int bp_fib_static_apply(struct bp_fib_writer *w, const struct bp_config *c, bool kernel,
	const struct bp_fib_link *link, char *err, size_t err_size);

/* Whether interface `i` is described by the file alone. */
bool bp_fib_static_only(const struct bp_config *c, unsigned i, bool kernel);

#endif
