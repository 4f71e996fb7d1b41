/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_SYSCTL_H
#define BP_CONTROLPLANE_SYNC_SYSCTL_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the sysctls of an interface that the kernel needs to forward punted packets; `whole`: also
 * those of the whole namespace. Errors are logged. */
void bp_sysctl_router(const char *interface, bool whole);

/* Returns the current settings that the data plane obeys: BP_IF_NO_FORWARD4 to BP_IF_REDIRECTS6. */
uint32_t bp_sysctl_flags(const char *interface);

#endif
