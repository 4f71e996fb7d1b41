/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SOCKETS_H
#define BP_CONTROLPLANE_HEALTH_SOCKETS_H

#include <stddef.h>

#include "biplane/health.h"
#include "controlplane/process/listen_fds.h"

/*
 * The sockets for health devices, which outlive the process that reads them: `biplane run` owns
 * them and passes them to each control plane that it starts. A service manager can do the same.
 */
struct bp_phd_sockets {
	int udp, tcp; /* -1: none */
};

#define BP_PHD_UDP_NAME "phd-udp"
#define BP_PHD_TCP_NAME "phd-tcp"

/*
 * Takes the sockets of `fds` that section health_devices needs; bp_phd_sockets_follow() or the
 * service opens the others. Each must be of this network namespace, bound to [::] and its port,
 * accept IPv4 too, and be a datagram socket or a listening one. Sets the options that a reader
 * needs. Returns 0, or -1 with a sentence in `err`: then none is taken, and all remain open.
 */
int bp_phd_sockets_take(struct bp_phd_sockets *out, const struct bp_listen_fds *fds,
	const struct bp_config_phd *c, char *err, size_t err_size);

/* Opens and closes sockets to match section health_devices. -1 with a sentence in `err`: not all
 * could be opened. */
int bp_phd_sockets_follow(
	struct bp_phd_sockets *s, const struct bp_config_phd *c, char *err, size_t err_size);

/* Closes them; other processes can continue to read them. */
void bp_phd_sockets_close(struct bp_phd_sockets *s);

#endif
