/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_TRANSFORM_TRANSFORM_COMMAND_H
#define BP_CONTROLPLANE_TRANSFORM_TRANSFORM_COMMAND_H

#include <jansson.h>

#include "shm/layout.h"

/*
 * Returns the answer to the command matrix-set of the control socket, a new reference:
 * {"ok":true,"entries":N}, or {"ok":false,"errors":[...]} with the reason. `request`: as received
 * from the client.
 */
json_t *bp_transform_set_command(struct bp_shm *m, const json_t *request);

/*
 * First half of the command matrix-clear. Returns NULL when the source is marked, so that the next
 * publication restores it from the file; *entries is the number of entries. Otherwise returns the
 * error answer, a new reference.
 */
json_t *bp_transform_clear_command(struct bp_shm *m, const json_t *request, int *entries);

#endif
