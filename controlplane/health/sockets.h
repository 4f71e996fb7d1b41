/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_SOCKETS_H
#define BP_CONTROLPLANE_HEALTH_SOCKETS_H

#include <stddef.h>

#include "biplane/health.h"
#include "controlplane/process/listen_fds.h"

/*
 * The sockets that devices send to, which outlive the process that reads them: `biplane run` has
 * them and hands them to each control plane that it starts. A service manager can do the same.
 */
struct bp_phd_sockets {
	int udp, tcp; /* -1: none */
};

#define BP_PHD_UDP_NAME "phd-udp"
#define BP_PHD_TCP_NAME "phd-tcp"

/*
 * Those of `fds` that section health_devices wants; the others are opened by
 * bp_phd_sockets_follow(), or by the service. Each must be of this network namespace, bound to [::]
 * and its port, take IPv4 too, and be a datagram socket or one that listens. Sets what a reader
 * needs of them. 0, or -1 with a sentence: then none is taken, and all stay open.
 */
int bp_phd_sockets_take(struct bp_phd_sockets *out, const struct bp_listen_fds *fds,
	const struct bp_config_phd *c, char *err, size_t err_size);

/* Makes them what section health_devices wants: closes those of other ports, opens those that are
 * missing. -1 with a sentence: not all could be opened. */
int bp_phd_sockets_follow(
	struct bp_phd_sockets *s, const struct bp_config_phd *c, char *err, size_t err_size);

/* Closes them; those that read them elsewhere go on. */
void bp_phd_sockets_close(struct bp_phd_sockets *s);

#endif
