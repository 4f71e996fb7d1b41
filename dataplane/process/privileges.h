/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_PRIVILEGES_H
#define BP_DATAPLANE_PROCESS_PRIVILEGES_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/privileges.h"

struct bp_config;

/*
 * The privileges (daemon/privileges.h) that the device of a port needs, by its name and, on the PCI
 * bus, by the kernel driver that it is bound to.
 */
enum bp_privilege bp_port_privilege(const char *device);

/*
 * Called before EAL starts: checks whether this process may open the ports and kernel interfaces of
 * the configuration. `memory`: bytes that DPDK will allocate. Returns 0, or -1 with a message in
 * `err` that names the port, the missing privilege and the remedy. Privileges that are not needed
 * are dropped.
 */
int bp_dataplane_privileges(const struct bp_config *c, uint64_t memory, char *err, size_t err_size);

#endif
