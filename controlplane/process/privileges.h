/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_PRIVILEGES_H
#define BP_CONTROLPLANE_PROCESS_PRIVILEGES_H

#include <stddef.h>

#include "controlplane/service.h"

/*
 * Whether this process may do what the configuration asks of the control plane, its services among
 * it. Returns 0, or -1 with a sentence that ends in the remedy. Rights that
 * nothing here needs are given up; that to open low ports stays, for a reload.
 */
int bp_controlplane_privileges(const struct bp_plane_context *x, char *err, size_t err_size);

#endif
