/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PORT_CLAIM_H
#define BP_DATAPLANE_PORTS_PORT_CLAIM_H

#include <stddef.h>

/*
 * Only one data plane uses a kernel interface: two would each forward every frame. A claim is an
 * abstract socket in the network namespace of the interfaces, which the kernel removes with the
 * process.
 */

/* Claims `interface` for port `port`. 0, or -1 with a message: a running data plane has it. */
int bp_port_claim(const char *port, const char *interface, char *err, size_t err_size);
/* Called periodically: closes the connections of processes that queried a claim. */
void bp_port_claims_serve(void);
/* Releases all claims. */
void bp_port_claims_release(void);

#endif
