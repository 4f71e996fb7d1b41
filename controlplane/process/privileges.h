/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_PRIVILEGES_H
#define BP_CONTROLPLANE_PROCESS_PRIVILEGES_H

#include <stddef.h>

#include "controlplane/service.h"

/*
 * Whether this process has the privileges that the configuration needs in the control plane, its
 * services included. Returns 0, or -1 with a sentence that ends in the remedy. Other privileges are
 * dropped; that to open low ports is kept, for a reload.
 */
int bp_controlplane_privileges(const struct bp_plane_context *x, char *err, size_t err_size);

#endif
