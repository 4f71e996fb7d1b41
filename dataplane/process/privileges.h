/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_PRIVILEGES_H
#define BP_DATAPLANE_PROCESS_PRIVILEGES_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/privileges.h"

struct bp_config;

/* What a port's device needs of daemon/privileges.h; by its name and, on the PCI bus, by the
 * kernel's driver that it is bound to. */
enum bp_privilege bp_port_privilege(const char *device);

/*
 * Before EAL: whether this process may open the ports and kernel interfaces of the configuration;
 * memory: what DPDK will take of it. Returns 0, or -1 with a sentence that names the port, what it
 * lacks and the remedy. Rights that nothing here needs are given up.
 */
int bp_dataplane_privileges(const struct bp_config *c, uint64_t memory, char *err, size_t err_size);

#endif
