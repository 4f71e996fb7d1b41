/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PORTS_PORT_CLAIM_H
#define BP_DATAPLANE_PORTS_PORT_CLAIM_H

#include <stddef.h>

/*
 * One data plane an interface of the kernel: two that read it would each forward every frame. A
 * claim is a socket with a name in the network namespace of the interfaces, which the kernel takes
 * away with the process.
 */

/* Claims `interface` for port `port`. 0, or -1 with a sentence: a data plane that runs has it. */
int bp_port_claim(const char *port, const char *interface, char *err, size_t err_size);
/* Now and then: lets go of those who asked whose they are. */
void bp_port_claims_serve(void);
/* Gives up all. */
void bp_port_claims_release(void);

#endif
