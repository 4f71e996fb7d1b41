/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_SYSCTL_H
#define BP_CONTROLPLANE_SYNC_SYSCTL_H

#include <stdbool.h>
#include <stdint.h>

/* What the kernel must be told so that it can forward what the data plane hands it, of one
 * interface; `whole`: also what holds for the whole namespace. What can't be set is logged. */
void bp_sysctl_router(const char *interface, bool whole);

/* What is set now of what the data plane obeys: BP_IF_NO_FORWARD4 to BP_IF_REDIRECTS6. */
uint32_t bp_sysctl_flags(const char *interface);

#endif
